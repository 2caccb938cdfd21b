"""On what a run is made: the commit, the packages, the hardware and its drivers."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from ...redact import redact

# What of the environment changes how a run computes; nothing else of it is ever written down.
_VARIABLES = (
    *("CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("PYTHONHASHSEED", "RANK", "LOCAL_RANK", "WORLD_SIZE", "NVIDIA_TF32_OVERRIDE"),
)


def commit(folder: Path) -> tuple[str, bool | None] | None:
    """The commit that is checked out at `folder`, and whether its files differ; None without one.

    Files that git does not know, such as those of other runs, make no difference. In the place of
    an answer that git takes too long for is None.
    """
    git = ("git", "-C", str(folder))
    sha = _said([*git, "rev-parse", "--verify", "HEAD"])
    if not sha:
        return None
    changes = _said([*git, "status", "--porcelain", "--untracked-files=no"])
    return sha, None if changes is None else bool(changes)


def requirements() -> str:
    """Every installed package, a line each, in the form that pip installs again."""
    return "".join(f"{line}\n" for line in sorted(map(redact, _packages()), key=str.lower))


@cache  # to read them all takes a tenth of a second
def _packages() -> frozenset[str]:
    lines = set()
    for package in distributions():
        metadata = package.metadata  # once: each time it is asked for, the file is parsed
        name, text = metadata["Name"], package.read_text("direct_url.json")
        if not name:
            continue  # the remains of an uninstalled one
        line = f"{name}=={metadata['Version']}"
        if text and (url := json.loads(text).get("url")):
            line = f"{name} @ {url}" if not url.startswith("file:") else f"{line}  # {url}"
        lines.add(line)
    return frozenset(lines)


def hardware() -> dict[str, object]:
    """The processor, memory, accelerators and drivers, and the variables that steer them."""
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
        "gpus": _gpus(),
        "torch": _torch(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()  # no Linux
    names = (line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line)
    return next(names, platform.processor())


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None  # not said on this system


def _gpus() -> list[dict[str, str]]:
    columns = ("name", "driver_version", "memory.total")
    query = f"--query-gpu={','.join(columns)}"
    said = _said(["nvidia-smi", query, "--format=csv,noheader"]) or ""
    rows = ([field.strip() for field in line.split(",")] for line in said.splitlines())
    return [dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns)]


def _torch() -> dict[str, object]:
    """What torch was built for; {} where it is not loaded, as nothing is computed with it then."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    return {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def _said(command: Sequence[str]) -> str | None:
    """What a command prints; None where it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()
