"""Imports the standard library into the snapshot: what is not here is missing when programs run."""

import contextlib
import importlib
import pkgutil
import sys

# Not for programs: these open windows, browsers or compilers, print, or test Python itself.
_SKIPPED = {
    "__main__", "_ios_support", "_android_support", "_apple_support", "antigravity", "ensurepip",
    "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo", "venv", "webbrowser",
    "compression", "dbm", "curses", "sqlite3", "pydoc_data", "_pyrepl", "xmlrpc", "wsgiref",
    "distutils", "msilib", "pip", "nturl2path", "_aix_support", "_osx_support",
}  # fmt: skip
# Packages whose parts programs name or load late. `encodings` is looked up by codec name.
_WHOLE = (
    "asyncio", "collections", "concurrent", "concurrent.futures", "email", "encodings", "html",
    "http", "importlib", "json", "logging", "os", "re", "string", "unittest", "urllib", "xml",
    "xml.dom", "xml.etree", "zoneinfo",
)  # fmt: skip
_UNWANTED_PARTS = ("__main__", "windows", "mbcs", "oem", "proactor")


def _submodules(package: str) -> list[str]:
    folders = getattr(sys.modules.get(package), "__path__", ())
    names = (f"{package}.{module.name}" for module in pkgutil.iter_modules(folders))
    return [name for name in names if not any(part in name for part in _UNWANTED_PARTS)]


def _load(name: str) -> None:
    # Half of these need what WebAssembly has not: processes, sockets, terminals, C libraries.
    with contextlib.suppress(ImportError, AttributeError, NotImplementedError, OSError, KeyError):
        importlib.import_module(name)


def load() -> None:
    """Import everything, in a fixed order."""
    for name in sorted(sys.stdlib_module_names - _SKIPPED):
        if not name.startswith("__phello") and not name.startswith("__hello"):
            _load(name)
    for package in _WHOLE:
        for name in _submodules(package):
            _load(name)
