"""The text of a program before it is compiled.

`long`, `size_t` and pointers have 32 bits in WebAssembly, and all but pointers are written with 64:
`widened` keeps every line. An argument of `printf` has as many bytes as its format says, as in the
registers of a native machine. What that does not reach is told by `doubt`, and what does not
compile here by `absence`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..cpp.source import TYPE_WORDS, WHOLE, WIDE

Token = tuple[str, str]  # its kind and its text

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?|[uUL]?'(?:\\.|[^'\\\n])*'?)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<name>[^\W\d]\w*)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_FORMAT = re.compile(r"(%[-+ #0']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?)[lzt]([diouxXn])")
_SIZE, _DISTANCE = "unsigned long long", "long long"
_SIZES = {
    **dict.fromkeys(("size_t", "uintptr_t"), _SIZE),
    **dict.fromkeys(("ssize_t", "ptrdiff_t", "intptr_t"), _DISTANCE),
    **dict.fromkeys(("PTRDIFF_MAX", "INTPTR_MAX", "SSIZE_MAX"), "LLONG_MAX"),
    **{"UINTPTR_MAX": "ULLONG_MAX", "sizeof": f"({_SIZE})sizeof"},
}
_LONGS = {**WIDE, "ldiv": "lldiv", "ldiv_t": "lldiv_t", "lrintl": "llrintl", "strtoimax": "strtoll"}
_MEASURES = {"strlen", "strspn", "strcspn", "strnlen"}
_OPERATOR = re.compile(r"[-=(,+/%<>!&|?:;{}[]|return")  # before a call, and not a declaration
_PRINTERS = {"printf": 0, "fprintf": 1, "sprintf": 1, "snprintf": 2, "dprintf": 1}
# A flag, a width, a precision, a length, and what is printed; \x01 stands for a macro's text.
_CONVERSION = re.compile(
    r"%(?:%|[-+ #0']*(\*|\d+)?(?:\.(\*|-?\d*))?(hh|h|ll|l|[zjtLq])?([diouxXcsfFeEgGaApnm\x01]))"
)
_OPEN, _CLOSE = "([{", ")]}"


def widened(code: str, *, sizes: bool) -> str:
    """Return a program whose `long`, and with `sizes` whose `size_t`, has 64 bits."""
    tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(code)]
    out, group = [text for _, text in tokens], list[int]()
    has_formats = re.search(r"printf|scanf", code) is not None
    before = ""  # the last token that is not blank
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
            out[at] = _LONGS.get(text, text)
            if sizes and text in _SIZES:
                out[at] = _SIZES[text]
            elif (
                sizes and text in _MEASURES and re.fullmatch(r"[-=(,+/%<>!&|?:;{}[]|return", before)
            ):
                out[at] = f"({_SIZE}){text}"
        elif kind == "number" and (match := WHOLE.fullmatch(text)):
            unsigned, suffix = match[2] or match[5] or "", match[3] or match[4]
            out[at] = f"{match[1]}{unsigned}{suffix}{suffix}"
        elif kind == "text":
            out[at] = text.removeprefix("u8")
            if has_formats:
                out[at] = _FORMAT.sub(r"\1ll\2", out[at])
        before = text
    _cast_printed(tokens, out)
    return "".join(out)


# --- what is printed -----------------------------------------------------------------------------


def _cast_printed(tokens: Sequence[Token], out: list[str]) -> None:
    """Cast each number that is printed to the type that its format names.

    The stack has the open brackets: for a call of a function that prints, its name and the indices
    of the tokens of each argument, but for those in brackets of their own.
    """
    stack: list[tuple[str, list[list[int]]] | None] = []
    before = ""
    for index, (kind, text) in enumerate(tokens):
        if kind == "blank":
            continue
        is_mark = kind == "other"
        if is_mark and text in _CLOSE and stack and (call := stack.pop()):
            _cast_arguments(tokens, out, *call)
        if stack and (call := stack[-1]):
            if is_mark and text == ",":
                call[1].append([])
            else:
                call[1][-1].append(index)
        if is_mark and text in _OPEN:
            stack.append((before, [[]]) if text == "(" and before in _PRINTERS else None)
        before = text if kind == "name" else ""


def _cast_arguments(
    tokens: Sequence[Token], out: list[str], function: str, arguments: list[list[int]]
) -> None:
    first = _PRINTERS[function]
    if first >= len(arguments):
        return
    types = _types(tokens, arguments[first])
    for inside, cast in zip(arguments[first + 1 :], types, strict=False):
        if any(tokens[each][1] == "__VA_ARGS__" for each in inside):
            return
        if cast and inside:
            out[inside[0]] = f"({cast})({out[inside[0]]}"
            out[inside[-1]] += ")"


def _types(tokens: Sequence[Token], indices: Sequence[int]) -> list[str]:
    """The type of each argument after a format; "" for one that stays as it is.

    A name within the format is a macro for a conversion, as PRId64 is, or its end.
    """
    text = ""
    for index in indices:
        kind, each = tokens[index]
        if kind == "text":
            text += each.strip('"')
        elif kind == "name":
            text += "\x01"
        else:
            return []
    types, end = list[str](), 0
    for match in _CONVERSION.finditer(text):
        if "\x01" in text[end : match.start()]:
            return types
        end = match.end()
        width, precision, length, kind = match.groups()
        if kind is None or kind == "m":
            continue
        types += ["int" for star in (width, precision) if star == "*"]
        if kind in "diouxX":
            types.append("long long" if length and length[0] in "lzjtLq" else "int")
        else:
            types.append("int" if kind == "c" and not length else "")
    return types


# --- what cannot be judged here ------------------------------------------------------------------

_DOUBTS = {
    r"\blong\s+double\b|%[-+ #0\d.*]*L": "long double has fewer digits here than natively",
    r"\bva_arg\s*\([^()]*(?:long|size_t|int64)": "arguments have other sizes here than natively",
    r"printf\s*\([^;]{0,200}\bsizeof\b(?!\s*\(\s*(?:(?:un)?signed\s+|long\s+)*(?:char|short|int|float"
    r"|double|long|u?int\d+_t|size_t|bool|_Bool)\s*\))|\boffsetof\b|%[-#\d]*p":
        "pointers have 32 bits here and 64 natively",
    r"_(?:FAST|fast)(?:16|32)": "the fast types of integers have 32 bits here and 64 natively",
    r"\b(?:setlocale|wchar_t|wprintf|wcs\w+|mbs\w+|mbto\w+|strerror|perror)\b":
        "the C library of the sandbox has other texts and characters",
    r"\b(?:pthread|thrd|sem)_\w+\s*\(": "the sandbox has no threads",
    r"\b(?:rename|remove|fopen|freopen|tmpfile|getenv|opendir|open)\s*\(":
        "the sandbox has no files and no environment",
}  # fmt: skip
# What TinyCC does not read, and headers that are not there.
_ABSENT = re.compile(
    r"\b(?:__u?int128(?:_t)?|_Complex|_Imaginary|_Decimal\d+|__?[Ff]loat\d+x?|asm|__asm(?:__)?"
    r"|__auto_type|vector_size|constexpr|nullptr|typeof_unqual|_BitInt|ext_vector_type"
    r"|__builtin_(?:choose_expr|types_compatible_p|offsetof|complex|shuffle\w*|apply\w*))\b"
    r"|<(?:pthread|threads|complex|signal|semaphore|spawn|omp|wait|dlfcn|error|execinfo|termios"
    r"|[a-z0-9]*intrin|ucontext|conio|windows|pwd|grp|(?:sys|net|netinet|arpa|linux|asm|bits)/\w+)"
    r"\.h>|#\s*(?:embed|elifdef|elifndef|import)\b|\[\[\w"
)
# Functions of the native library that the sandbox's lacks.
_LIBRARY = re.compile(
    r"__\w+|(?:pthread|thrd|mtx|cnd|tss|sem|posix|sched|mq|aio|timer|argz|gnu|obstack)_\w+"
    r"|(?:sig|shm|exec|wait|mkd?s?temp|send|recv|backtrace|mall|tc[gs]et|strfrom|roundeven)\w*"
    r"|[a-z]+_r|[sg]et(?:rusage|rlimit|itimer|priority|context|xattr|pass|login|group|host|addr"
    r"|auxval|[a-z]*(?:id|ent|nam))\w*|(?:make|swap)context|dl(?:open|sym|close|error|addr)"
    r"|v?fork|kill(?:pg)?|pipe2?|popen|pclose|system|dup[23]?|mmap(?:64)?|munmap|mprotect|brk|sync"
    r"|raise|clone|ptrace|prctl|syscall|u?alarm|pause|nice|umask|l?f?chown|f?chmod|mkfifo|ttyname"
    r"|tmpfile|tmpnam|tempnam|mktemp|strfry|memfrob|rawmemchr|valloc|memalign|mtrace|on_exit|cfree"
    r"|socket|bind|listen|accept|connect|v?errx?|v?warnx?|error|error_at_line|wordexp|gammaf?"
    r"|nextupf?|nextdownf?|c(?:abs|arg|real|imag|exp|log|pow|sqrt|sin|cos|conj)[fl]?"
)


def doubt(code: str) -> str:
    """Return why a program that gives a wrong result here may be right natively, or ""."""
    return next((reason for each, reason in _DOUBTS.items() if re.search(each, code)), "")


def absence(code: str, undefined: str = "") -> str:
    """Return what a program that does not compile here uses and may have natively, or "".

    `undefined` is a function that it calls and that is nowhere.
    """
    match = _LIBRARY.fullmatch(undefined) if undefined else _ABSENT.search(code)
    return f"C in the sandbox has no {match[0]}" if match else ""
