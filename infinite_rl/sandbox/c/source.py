"""The text of a program before it is compiled.

`long`, `size_t` and pointers have 32 bits in WebAssembly, and all but pointers are written with 64:
`widened` keeps every line. An argument of `printf` has as many bytes as its format says, as in the
registers of a native machine. What that does not reach is told by `doubt`, and what does not
compile here by `absence`.
"""

from __future__ import annotations

import re

from ..cpp.source import WIDE, widen

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?|[uUL]?'(?:\\.|[^'\\\n])*'?)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<name>[^\W\d]\w*)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_SIZE, _DISTANCE = "unsigned long long", "long long"
_SIZES = {
    **dict.fromkeys(("size_t", "uintptr_t"), _SIZE),
    **dict.fromkeys(("ssize_t", "ptrdiff_t", "intptr_t"), _DISTANCE),
    **dict.fromkeys(("PTRDIFF_MAX", "INTPTR_MAX", "SSIZE_MAX"), "(long long)(~0ULL >> 1)"),
    **{"SIZE_MAX": "(~0ULL)", "UINTPTR_MAX": "(~0ULL)", "sizeof": f"({_SIZE})sizeof"},
}
_LONGS = {**WIDE, "ldiv": "lldiv", "ldiv_t": "lldiv_t", "lrintl": "llrintl", "strtoimax": "strtoll"}
_MEASURES = {"strlen", "strspn", "strcspn", "strnlen"}
_OPERATOR = re.compile(r"[-=(,+/%<>!&|?:;{}[]|return")  # before a call, and not a declaration


def widened(code: str, *, sizes: bool) -> str:
    """Return a program whose `long`, and with `sizes` whose `size_t`, has 64 bits."""
    tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(code)]

    def rename(out: list[str], at: int, before: str) -> None:
        text = out[at]
        out[at] = _LONGS.get(text, text)
        if sizes and text in _SIZES:
            out[at] = _SIZES[text]
        elif sizes and text in _MEASURES and _OPERATOR.fullmatch(before):
            out[at] = f"({_SIZE}){text}"

    return widen(tokens, rename, prefix="u8")


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
