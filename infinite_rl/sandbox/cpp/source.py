"""The text of a program before it is compiled.

`long` and `size_t` have 32 bits in WebAssembly, and 64 where programs are usually judged. So `long`
becomes `long long`, with its suffixes, formats and functions: `widened` keeps every line. What that
does not reach is told by `doubt`. `refusal` keeps from the compiler whatever reads a file by its
path. It looks for directives in the whole text, also inside comments and literals, since a reader
of comments and literals could be led astray; only lines that begin with // are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..printed import LENGTH, cast_printed

# A line that ends in a backslash goes on in the next one, whatever the blanks after it.
_SPLICE = re.compile(r"\\[ \t\v\f]*(?:\r\n|\n|\r)")
# The rest of the line is looked at and not taken: another directive may follow a comment there.
_READS = re.compile(
    r"(?:\#|%:)\s*(?:(include_next|include|import|embed|line|pragma)\b\s*|(/\*))(?=([^\n]{0,300}))"
)
# A line that is a comment, or inside a literal or comment that it does not end: no directive.
_COMMENT_LINE = re.compile(r"(?:(?<=[\n\r])|^)[ \t\v\f]*//(?:(?!\*/)[^\n\r\\])*(?=[\n\r]|\Z)")
_PLACE = re.compile(r'<(?!/)[\w+./-]+>|"(?![/.])[\w+.-]+"')
_PRAGMA = re.compile(r"(?:once|GCC|omp|unroll|pack|warning|comment\s*\(\s*linker|STDC|region)\b")
_WORDS = re.compile(
    r"\b(asm|__asm|__asm__|_Pragma|__has_include|__has_include_next|__has_embed|import_module"
    r"|import_name|export_name|__declspec)\b"
)
_PASTE = re.compile(r"(?:##|%:%:)(?!\s*__VA_ARGS__)")
_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1f]")


def refusal(code: str, *, is_caged: bool) -> str:
    """Return why a program is not shown to the compiler, or "".

    Without a cage of its own it may not paste tokens either, which could make such words.
    """
    directives, code = _SPLICE.sub("", _COMMENT_LINE.sub("", code)), _SPLICE.sub("", code)
    if _CONTROLS.search(code):
        return "the program has control characters"
    for directive, comment, rest in _READS.findall(directives):
        if comment:
            return "the program may not have a comment inside of a directive"
        if directive == "pragma":
            if not _PRAGMA.match(rest) or re.match(r"GCC\s+(?:dependency|system_header)", rest):
                return f"the program may not use #pragma {rest.strip()[:40]}"
        elif directive != "include" or not (path := _PLACE.match(rest)) or ".." in path[0]:
            return f"the program may not use #{directive} {rest.strip()[:60]}"
    if word := _WORDS.search(code):
        return f"the program may not use {word[0]}"
    if not is_caged and _PASTE.search(code):
        return "the program may not paste tokens (##) where the compiler has no namespace"
    return ""


# --- 64 bits -------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
        |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?|(?:u8|[uUL])?'(?:\\.|[^'\\\n])*'?)
    |(?P<number>\.?\d(?:[eEpP][+-]|'[\w]|[\w.])*)
    |(?P<name>[^\W\d]\w*)
    |(?P<other>::|.)""",
    re.DOTALL | re.VERBOSE,
)
_MOST_RAW = 200  # raw strings; one that does not end is read to the end of the text
TYPE_WORDS = {"unsigned", "signed", "long", "int", "double", "const", "volatile", "short"}
WHOLE = re.compile(r"((?:0[xX][\da-fA-F']+|[\d'bB]+))(?:([uU]?)([lL])|([lL])([uU]))")
WIDE = {
    **{f"LONG_{end}": f"LLONG_{end}" for end in ("MAX", "MIN")},
    **{"ULONG_MAX": "ULLONG_MAX", "SIZE_MAX": "ULLONG_MAX", "LONG_WIDTH": "LLONG_WIDTH"},
    **{"stol": "stoll", "stoul": "stoull", "strtol": "strtoll", "strtoul": "strtoull"},
    **{"atol": "atoll", "labs": "llabs", "lround": "llround", "lrint": "llrint"},
    **{f"__builtin_{name}l": f"__builtin_{name}ll" for name in ("popcount", "ctz", "clz", "ffs")},
}


def widened(code: str, *, sizes: bool) -> str:
    """Return a program whose `long`, and with `sizes` whose `size_t`, has 64 bits."""
    if code.count('R"') > _MOST_RAW or not re.search(
        r"long|size_t|printf|\d[uU]?[lL]|stou?l|LONG|%[lzt]|__builtin_|atol|strtou?l", code
    ):
        return code
    tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(code)]
    tokens = [("text" if kind == "mark" else kind, text) for kind, text in tokens]

    def rename(out: list[str], at: int, _before: str) -> None:
        text = out[at]
        out[at] = WIDE.get(text, text)
        if sizes and text == "size_t":
            _widen_size(out, at)

    return widen(tokens, rename)


def widen(
    tokens: list[tuple[str, str]], rename: Callable[[list[str], int, str], None], prefix: str = ""
) -> str:
    """Return the text of tokens, kinds with their texts, with `long` as `long long`.

    `rename` changes a name among the texts, by its index and the token before it that is not blank.
    `prefix` is removed from literals.
    """
    out, group = [text for _, text in tokens], list[int]()
    has_formats = any("printf" in text or "scanf" in text for text in out)
    before = ""
    for at, (kind, text) in enumerate([*tokens, ("other", ";")]):
        if kind == "blank":
            continue
        if kind == "name" and text in TYPE_WORDS:
            group.append(at)
            before = text
            continue
        words = [tokens[each][1] for each in group]
        if words.count("long") == 1 and "double" not in words:
            out[group[words.index("long")]] = "long long"
        group = []
        if at == len(tokens):
            break
        if kind == "name":
            rename(out, at, before)
        elif kind == "number" and (match := WHOLE.fullmatch(text)):
            unsigned, suffix = match[2] or match[5] or "", match[3] or match[4]
            out[at] = f"{match[1]}{unsigned}{suffix}{suffix}"
        elif kind == "text":
            out[at] = text.removeprefix(prefix)
            if has_formats:
                out[at] = LENGTH.sub(r"\1ll\2", out[at])
        before = text
    cast_printed(tokens, out)
    return "".join(out)


def _widen_size(out: list[str], at: int) -> None:
    """Write a type of 64 bits for `size_t`, also with `std::` before it."""
    out[at] = "unsigned long long"
    if at >= 1 and out[at - 1] == "::":
        out[at - 1] = ""
        if at >= 2 and out[at - 2] == "std":
            out[at - 2] = ""


# --- what cannot be judged here ------------------------------------------------------------------

_SIZES = re.compile(
    r"\b(?:size_t|ptrdiff_t|u?intptr_t|size_type|ssize_t)\b"
    r"|\.(?:size|length)\s*\(\s*\)\s*[-*]|[-*]\s*[\w.\]\[]+\.(?:size|length)\s*\("
)
_POINTER_SIZES = re.compile(r"\bsizeof\s*\(?\s*(?:std::|string|vector|map|void|\w+\s*\*)")
_ABSENT = re.compile(
    r"<(?:thread|mutex|shared_mutex|future|condition_variable|semaphore|barrier|latch|stop_token"
    r"|filesystem|execution|pthread\.h|[a-z]*intrin\.h|windows\.h|(?:ext|sys|experimental|tr1|tr2"
    r"|boost)/[\w./+]+|bits/(?!stdc)[\w.+]+)>|\bpthread_\w+|\b(?:std::)?(?:thread|async)\s*[({]"
)
_RESERVED = re.compile(
    r"\b(?!__(?:FILE|LINE|func|VA_ARGS|cplusplus|int128|FUNCTION|PRETTY)|__builtin_)(?:__\w+|_[A-Z]\w*)"
)


def doubt(code: str) -> str:
    """Return why a program that gives a wrong result here may be right natively, or ""."""
    if match := _SIZES.search(code):
        return f"sizes have 32 bits here and 64 natively: {match[0]}"
    if match := _POINTER_SIZES.search(code):
        return f"sizes have 32 bits here and 64 natively: {match[0]}"
    if "boolalpha" in code and "setw" in code:
        return "a width is not kept for boolalpha here"
    if re.search(r"\blong\s+double\b", code):
        return "long double is another type here than natively"
    return ""


def absence(code: str) -> str:
    """Return what a program that does not compile here uses and may have natively, or ""."""
    match = _ABSENT.search(code) or _RESERVED.search(code)
    return f"C++ in the sandbox has no {match[0]}" if match else ""
