"""What of an installation is there, compiled and reachable, and what to do about the rest.

A `Finding` says one thing. What nothing works without is "broken" where it is missing; what only
some verbs ask for is "absent". No value of a key is in any of them.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from .errors import InfiniteRLError
from .files.cache import cache_folder
from .providers import KEY_VARIABLES
from .sandbox.runtimes import RUNTIMES, Runtime

State = Literal["ok", "absent", "broken"]
_ROOM_GB = 0.5  # what compiled runtimes take, and some more
_WAIT_S = 10.0
_REQUIREMENT = re.compile(  # of our own metadata, which uses no more than this
    r"(?P<name>[\w.-]+)(\[.*?\])?(?P<how>==|>=)(?P<least>[\d.]+)"
    r"(?:.*extra == ['\"](?P<extra>.+)['\"])?"
)
# Where requests go: the variable that says another place, and the place.
_SERVICES = {
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    "openai_compatible": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "hub": ("HF_ENDPOINT", "https://huggingface.co"),
}


@dataclass(frozen=True)
class Finding:
    """One thing about an installation: how it is, and what mends it, "" where nothing must."""

    part: str
    state: State
    said: str
    todo: str = ""


def findings(online: bool = False) -> Iterator[Finding]:
    """Everything about this installation, each as soon as it is known.

    The sandboxes are compiled if they are not, and run a program each. `online` has the services
    asked whether they answer, without a key and at no cost.
    """
    yield _python()
    yield from _packages()
    yield _cache()
    for runtime in RUNTIMES:
        yield _sandbox(runtime)
    yield _gpu()
    yield from _keys()
    if online:
        for name in _SERVICES:
            yield _service(name)


def _python() -> Finding:
    said = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding("Python", "ok", f"{said}, {os.cpu_count()} cores, {sys.executable}")


# --- packages ------------------------------------------------------------------------------------


def _packages() -> Iterator[Finding]:
    """What the package itself needs, and each of its extras."""
    try:
        told = requires("infinite-rl") or []
    except PackageNotFoundError:
        todo = "run `pip install -e .` in the project's folder"
        yield Finding("infinite-rl", "broken", "this checkout is not installed", todo)
        return
    wanted: dict[str, list[re.Match[str]]] = {"": []}
    for one in filter(None, map(_REQUIREMENT.match, told)):
        wanted.setdefault(one["extra"] or "", []).append(one)
    for extra, packages in wanted.items():
        part = f"extra {extra}" if extra else f"infinite-rl {version('infinite-rl')}"
        missing = [lack for one in packages if (lack := _lack(one))]
        if not missing:
            yield Finding(
                part, "ok", ", ".join(f"{one['name']} {version(one['name'])}" for one in packages)
            )
            continue
        what = f"infinite-rl[{extra}]" if extra else "infinite-rl"
        todo = f"pip install '{what}'"
        yield Finding(part, "absent" if extra else "broken", "; ".join(missing), todo)


def _lack(one: re.Match[str]) -> str:
    """What keeps a requirement from being met, "" for nothing."""
    try:
        found = version(one["name"])
    except PackageNotFoundError:
        return f"{one['name']} is not installed"
    met = found == one["least"] if one["how"] == "==" else _numbers(found) >= _numbers(one["least"])
    return "" if met else f"{one['name']} is {found}, and {one['how']}{one['least']} is needed"


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", re.split("[+a-z]", text)[0])]


# --- the sandboxes -------------------------------------------------------------------------------


def _cache() -> Finding:
    todo = "set INFINITE_RL_CACHE to a folder of yours with room"
    try:
        folder = cache_folder()
        free = shutil.disk_usage(folder).free / 1e9
        if not os.access(folder, os.W_OK):
            return Finding("cache", "broken", f"{folder} cannot be written to", todo)
    except (OSError, RuntimeError) as error:
        return Finding("cache", "broken", str(error), todo)
    state: State = "ok" if free > _ROOM_GB else "broken"
    return Finding("cache", state, f"{folder}, {free:.1f} GB free", "" if state == "ok" else todo)


def _sandbox(runtime: Runtime) -> Finding:
    part = f"sandbox {runtime.name}"
    began = time.monotonic()
    try:
        from .sandbox.engine import is_compiled
        from .sandbox.executor import RewardExecutor

        there = is_compiled(runtime)
        with RewardExecutor(timeout=30) as executor:
            ran = executor.execute(runtime.trial, runtime.name)
    except ImportError as error:  # wasmtime's own library may not be for this machine
        return Finding(part, "broken", str(error), "pip install 'infinite-rl'")
    except InfiniteRLError as error:
        return Finding(part, "broken", str(error))
    seconds = time.monotonic() - began
    if (ran.status, ran.stdout.strip()) != ("ok", "42"):
        return Finding(part, "broken", f"6 * 7 came to {ran.status}: {ran.stdout}{ran.stderr}")
    how = "was compiled" if there else "is compiled now" if is_compiled(runtime) else "is not kept"
    return Finding(part, "ok", f"{how}, ran a program ({seconds:.1f} s)")


# --- around it -----------------------------------------------------------------------------------


def _gpu() -> Finding:
    try:
        told = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_WAIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Finding("GPU", "absent", "no NVIDIA GPU is found; training and sampling use the CPU")
    names = [line.strip() for line in told.stdout.splitlines() if line.strip()]
    if told.returncode or not names:
        return Finding("GPU", "absent", "nvidia-smi finds none; training and sampling use the CPU")
    return Finding("GPU", "ok", "; ".join(names))


def _keys() -> Iterator[Finding]:
    for name in KEY_VARIABLES:
        if os.environ.get(name, "").strip():
            yield Finding(name, "ok", "is set")
        else:
            yield Finding(name, "absent", "is not set")


def _service(name: str) -> Finding:
    """Whether a service answers at all; that it asks for a key is an answer."""
    variable, usual = _SERVICES[name]
    url = urlsplit(os.environ.get(variable) or usual)
    host = url.netloc.rpartition("@")[2]  # without a name and a password
    part = f"reach {name}"
    began = time.monotonic()
    try:
        asked = Request(f"{url.scheme}://{host}{url.path}", method="HEAD")
        with urlopen(asked, timeout=_WAIT_S):
            pass
    except HTTPError:
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return Finding(
            part,
            "absent",
            f"{host} does not answer: {reason}",
            f"see the network, or set {variable}",
        )
    return Finding(part, "ok", f"{host} answers ({time.monotonic() - began:.1f} s)")
