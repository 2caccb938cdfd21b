"""A completion's text to its sections, tags and code. `infinite_rl.parser` is its face.

sections.py  the parser: which part of a text is the prompt, the answer and the response
heads.py     what names a section, in lines of prose and in JSON, YAML, XML or tables
markup.py    Markdown fences, `<answer>` tags, thinking blocks
syntax.py    Python source as a syntax tree

number_words.py  numbers in words, "twenty-one" or "three quarters"
word_tables.py   the words and patterns in the text files beside modules of any room
"""
