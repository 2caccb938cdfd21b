"""Where the library is: in one archive, which no program can change.

`app` calls `load`, as it does with the module of this name in the other runtime.
"""
# ruff: noqa: ANN401, ARG004 - the signatures are those of the import system

import contextlib
import importlib
import importlib.machinery
import sys
from collections.abc import Sequence
from typing import Any

ARCHIVE = "/usr/local/lib/python315.zip"
# Packages of the archive that programs use; what is imported while the image is made costs no run.
_PACKAGES_WORDS = (
    "PIL attr bs4 charset_normalizer cloudpickle cycler dateutil defusedxml fontTools "
    "formulaic html5lib jinja2 joblib kiwisolver lxml markupsafe matplotlib more_itertools "
    "mpl_toolkits mpmath narwhals networkx numpy openpyxl packaging pandas patsy pylab "
    "pyparsing pypdf regex reportlab scipy seaborn six sklearn soupsieve statsmodels sympy "
    "tabulate threadpoolctl tomli_w toolz tqdm typing_extensions wrapt xlrd xlsxwriter "
    "xmltodict yaml"
)
PACKAGES = _PACKAGES_WORDS.split()
_STANDARD_WORDS = (
    "abc argparse array ast asyncio atexit base64 binascii bisect bz2 calendar cmath codecs "
    "collections.abc concurrent.futures configparser contextlib copy csv ctypes dataclasses "
    "datetime decimal difflib doctest email.mime.text enum fnmatch fractions functools gc "
    "getpass glob graphlib gzip hashlib heapq hmac html.parser http.client http.server "
    "inspect io ipaddress itertools json linecache locale logging.handlers lzma math "
    "multiprocessing.pool numbers operator optparse os pathlib pickle pkgutil platform pprint "
    "queue random re reprlib sched secrets select shelve shlex shutil signal socket sqlite3 "
    "ssl stat statistics string struct subprocess symtable sys tarfile tempfile textwrap "
    "threading time timeit tokenize traceback types typing unicodedata unittest.mock "
    "urllib.parse urllib.request uuid warnings weakref xml.etree.ElementTree xml.dom.minidom "
    "zipfile zlib zoneinfo"
)
_STANDARD = _STANDARD_WORDS.split()


class Archive:
    """Finds modules in the archive and nowhere else."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        places = [ARCHIVE] if path is None else list(path)
        if not all(place.startswith(ARCHIVE) for place in places):
            return None
        return importlib.machinery.PathFinder.find_spec(name, places)


def load() -> None:
    """Import what programs use often of the standard library."""
    for name in _STANDARD:
        with contextlib.suppress(ImportError, OSError, AttributeError):
            importlib.import_module(name)


def install() -> None:
    """Find modules in the archive, whatever becomes of `sys.path`."""
    finders = sys.meta_path
    finders.insert(finders.index(importlib.machinery.PathFinder), Archive())  # type: ignore[arg-type]


def name_packages() -> None:
    """Take the packages for parts of the standard library, whose names both sides know."""
    sys.stdlib_module_names |= frozenset(PACKAGES)  # type: ignore[misc]
