"""A target from its name, and what is said of it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from contextlib import suppress
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from .conventions import gets_prompt, kind_of
from .tasksets import Tasks

_SOURCE_CHARS = 200_000


def load(spec: str) -> Any:
    """A target by its URL, or by "file.py:name" or "package.module:name".

    Raises ImportError or ValueError; or what the module raises.
    """
    if spec.startswith(("http://", "https://")):
        return spec
    where, _, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    module = _module_of(where) if where.endswith(".py") else importlib.import_module(where)
    if not name:
        own = getattr(module, "__all__", None)  # a package of a taskset names it there
        own = own or [n for n, v in vars(module).items() if _is_own(n, v, module)]
        if len(own) != 1:
            raise ValueError(f"name one of {', '.join(own) or 'nothing'} as {where}:NAME")
        name = own[0]
    target: Any = module
    for part in name.split("."):
        if not hasattr(target, part):
            near = get_close_matches(part, dir(target), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"there is no {part} in {where}{hint}")
        target = getattr(target, part)
    if inspect.ismodule(target):
        raise ValueError(f"{name} is a module, no reward")
    if Tasks.fits(target):
        return Tasks(target)
    if inspect.isclass(target) or (callable(target) and name.startswith("load_environment")):
        target = target()
    return target


def _module_of(file: str) -> ModuleType:
    """A file as a module of its name, beside which its own imports are found."""
    sys.path.insert(0, os.path.dirname(file))
    stem = os.path.basename(file)[:-3]
    description = importlib.util.spec_from_file_location(stem, file)
    if description is None or description.loader is None or not os.path.exists(file):
        raise ImportError("there is no file " + file)
    module = sys.modules[stem] = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    return module


def _is_own(name: str, value: Any, module: ModuleType) -> bool:
    own = inspect.isfunction(value) and value.__module__ == module.__name__
    return own and not name.startswith("_")


def describe(target: Any) -> dict[str, Any]:
    """The kind, name, documentation and source of a target."""
    if isinstance(target, str):
        nothing = {"name": target, "doc": "", "source": ""}
        return {"kind": kind_of(target), **nothing, "prompted": gets_prompt(target)}
    function = target if inspect.isroutine(target) else type(target)
    if isinstance(target, Tasks):
        function = target.task
    module, source = inspect.getmodule(function), ""
    with suppress(OSError, TypeError):
        source = inspect.getsource(module) if module else ""
    docs = [inspect.getdoc(function), module and module.__doc__]
    if not inspect.isroutine(target) and callable(target):
        docs.insert(1, inspect.getdoc(type(target).__call__))
    return {
        "kind": kind_of(target),
        "name": getattr(target, "__name__", str(target)),
        "doc": "\n".join(doc or "" for doc in docs),
        "source": source[:_SOURCE_CHARS],
        "prompted": gets_prompt(target),
    }
