"""A completion's text to its sections, tags and code. `infinite_rl.parser` is its face.

sections.py  the parser: which part of a text is the prompt, the answer and the response
heads.py     lines that begin a section, and `section_names.txt`, the names that they use
tags.py      `<answer>` tags and thinking blocks
fences.py    Markdown code blocks
fields.py    texts that are JSON, YAML or XML records
"""
