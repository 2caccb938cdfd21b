"""The three-head text format: headers and tags, for the prompts and the parser."""

PROMPT, ANSWER, RESPONSE = "prompt", "answer", "response"
SECTIONS = (PROMPT, ANSWER, RESPONSE)
ANSWER_TAG = "answer"
MAX_COMPLETION = 1_000_000  # characters; a longer completion is not read and fails


def header(section: str) -> str:
    """The canonical header line of a section: `[PROMPT]`."""
    return f"[{section.upper()}]"


def tagged(content: str, tag: str = ANSWER_TAG) -> str:
    """Content in its tag: `<answer>42</answer>`."""
    return f"<{tag}>{content}</{tag}>"


def without_tag(tag: str = ANSWER_TAG) -> str:
    """The error message of a completion that lacks the tag."""
    return f"no <{tag}> tag in the output"


def fenced(code: str, language: str) -> str:
    """Code in a Markdown fence, which is longer than any run of backticks inside."""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code.strip(chr(10))}\n{fence}"


def render(prompt: str, answer: str, response: str) -> str:
    """One sample as three-head text, which `ExampleParser.parse_text` reads."""
    parts = zip(SECTIONS, (prompt, answer, response), strict=True)
    return "\n\n".join(f"{header(name)}\n{text}" for name, text in parts) + "\n"
