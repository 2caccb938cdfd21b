"""A completion's text to its sections, tags and code. `infinite_rl.parser` is its face.

sections.py  the parser: which part of a text is the prompt, the answer and the response
heads.py     what names a section, in lines of prose and in JSON, YAML, XML or tables
markup.py    Markdown fences, `<answer>` tags, thinking blocks
syntax.py    Python source as a syntax tree

number_words.py  numbers in words, "twenty-one" or "three quarters"
word_tables.py   the words and patterns in the text files beside modules of any room

Above each pattern stand texts that it reads and texts that it must not, with the method that uses
it: `# match: '> x'; not 'x > y'`. `tests/project/test_patterns.py` holds them against the pattern.
To change a pattern, add the new text there, and the whole sample as a row of
`tests/parsing/test_parser.txt`. Bound what repeats (`{0,9}`, not `*`) beside what may match the
same: model output is hostile, and `test_twice_the_text_is_twice_the_work` counts.
"""
