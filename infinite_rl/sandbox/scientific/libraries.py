"""Which programs need the Python with libraries: those that import one of them."""

from __future__ import annotations

import re

from ...types import Program

# What `import` calls them. The runtime has no others; `build_src/python/scientific` has this list.
_NAMES = (
    "PIL attr bs4 charset_normalizer cloudpickle cycler dateutil defusedxml fontTools formulaic "
    "html5lib jinja2 joblib kiwisolver lxml markupsafe matplotlib more_itertools mpl_toolkits "
    "mpmath narwhals networkx numpy openpyxl packaging pandas patsy pylab pyparsing pypdf regex "
    "reportlab scipy seaborn six sklearn soupsieve statsmodels sympy tabulate threadpoolctl "
    "tomli_w toolz tqdm typing_extensions wrapt xlrd xlsxwriter xmltodict yaml"
)
LIBRARIES = frozenset(_NAMES.split())
# Each `import` or `from` at the start of a statement, with what follows it on the line.
_IMPORT = re.compile(r"(?:^|[;:])[ \t]*(import|from)[ \t]+([^\n;#]+)", re.MULTILINE)

# What tests use so, they need, even if they forget to import it: see `libraries_of` in the guest.
_USED = re.compile(r"(?<![\w.'\"])(?:np|numpy|pd|pandas)\.[a-z]")
_BOUND = re.compile(r"\b(?:np|numpy|pd|pandas)\s*=(?!=)|\b(?:as|import)\s+(?:np|pd)\b")
_COMMENT = re.compile(r"#[^\n]*")


def imported_library(program: Program) -> str:
    """Return the first library that a program, its setup or its tests import or use, or "".

    Texts decide, not code: what stands so in a string counts, too.
    """
    for text in (program.code, program.setup, *program.tests):
        if "import" not in text:
            continue
        for word, names in _IMPORT.findall(text):
            parts = names.split(",") if word == "import" else [names]
            for part in parts:
                words = part.split()
                top = words[0].partition(".")[0] if words else ""
                if top in LIBRARIES:
                    return top
    tests = _COMMENT.sub("", "\n".join((program.setup, *program.tests)))
    used = _USED.search(tests)
    return "numpy" if used and not _BOUND.search(tests) else ""
