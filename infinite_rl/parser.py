"""Reading a completion: `ExampleParser`. The work is done in `parsing/`."""

from .parsing.sections import CodeBlock, ExampleParser, Parsed, TagMatch, code_blocks, tag_matches

__all__ = ["CodeBlock", "ExampleParser", "Parsed", "TagMatch", "code_blocks", "tag_matches"]
