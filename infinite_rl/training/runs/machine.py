"""The environment of a run: commit, packages, hardware and drivers."""

import json
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from ...redact import redact

# Environment variables that change how a run computes; no others are recorded.
_VARIABLES = (
    *("CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("PYTHONHASHSEED", "RANK", "LOCAL_RANK", "WORLD_SIZE", "NVIDIA_TF32_OVERRIDE"),
)


def commit(folder: Path) -> tuple[str, bool | None] | None:
    """The commit checked out at `folder` and whether tracked files differ; None without one.

    The difference is None if git does not answer in time.
    """
    sha = _output("git", "-C", str(folder), "rev-parse", "--verify", "HEAD")
    if not sha:
        return None
    status = ("status", "--porcelain", "--untracked-files=no")
    changes = _output("git", "-C", str(folder), *status)
    return sha, None if changes is None else bool(changes)


def requirements() -> str:
    """Every installed package as a line of a requirements file."""
    return "".join(f"{line}\n" for line in sorted(map(redact, _packages()), key=str.lower))


@cache  # reading them all takes a tenth of a second
def _packages() -> frozenset[str]:
    lines = set()
    for package in distributions():
        metadata = package.metadata  # once: each access parses the file
        name, direct = metadata["Name"], package.read_text("direct_url.json")
        if not name:
            continue  # the remains of an uninstalled package
        line = f"{name}=={metadata['Version']}"
        if direct and (url := json.loads(direct).get("url")):
            line = f"{name} @ {url}" if not url.startswith("file:") else f"{line}  # {url}"
        lines.add(line)
    return frozenset(lines)


def hardware() -> dict[str, object]:
    """The processor, memory, accelerators and drivers, and the variables that affect them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""  # not Linux
    models = [line.partition(":")[2] for line in text.splitlines() if "model name" in line]
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        memory = None
    columns = ("name", "driver_version", "memory.total")
    query = f"--query-gpu={','.join(columns)}"
    gpus = [
        [field.strip() for field in line.split(",")]
        for line in (_output("nvidia-smi", query, "--format=csv,noheader") or "").splitlines()
    ]
    return {
        "platform": platform.platform(),
        "processor": models[0].strip() if models else platform.processor(),
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "memory_limit_bytes": memory_limit(),
        "gpus": [dict(zip(columns, row, strict=True)) for row in gpus if len(row) == len(columns)],
        "torch": _torch_build(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def memory_limit() -> int | None:
    """The bytes that this process may use, by its control group and `ulimit -v`; None: no limit."""
    limits = []
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    with suppress(ImportError):
        import resource  # of Unix alone

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    limits = [limit for limit in limits if limit < 2**60]  # a control group's word for none
    return min(limits, default=None)


def _torch_build() -> dict[str, object]:
    """Torch's build; {} if it is not loaded, as the run does not compute with it then."""
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


def _output(*command: str) -> str | None:
    """What a command prints; None if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()
