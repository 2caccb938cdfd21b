"""One set of rows in four hubs: each hub's own check, and the verdicts on completions.

    python -m benchmarks.hubs [--rows 1000] [--data FOLDER] [--harbor 100] [--venv HUB=FOLDER ...]

Needs Python 3.12, Linux and root (a mount namespace takes the place of Docker), and installs each
hub into a separate environment, unless `--venv` names one that has it. `--data` is a folder with
the files of GSM8K, HumanEval, MBPP and IFEval; without it all rows are procedural. Exits with 1 if
a worked response, an empty answer or a verdict is not as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hubs_calls import Reward
from benchmarks.hubs_rows import make_completions, make_rows
from benchmarks.sandbox import processor
from infinite_rl.adapters.scorer import Scorer
from infinite_rl.dataset.rows import Row, sample_of
from infinite_rl.export import export

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from hub_environment import install, run  # noqa: E402 -- the path comes first

MORE = {"PYTHONPATH": str(ROOT), "OPENREWARD_API_KEY": "none"}
HEAD = (
    "| hub | check | rows | worked responses valid | empty answers 0.0 | verdicts equal |"
    " unscored | seconds |\n|---|---|---:|---:|---:|---:|---:|---:|"
)


@dataclass(frozen=True)
class Checked:
    """How many worked responses and empty answers are right, and the reward of each completion."""

    gold: int
    empty: int
    rewards: Sequence[Reward]


@dataclass(frozen=True)
class Hub:
    """A hub's package and how it checks rows: `check` takes its programs, a folder and the rows."""

    requirements: tuple[str, ...]
    about: str
    check: Callable[[Path, Path, list[Row], list[Row]], Checked]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check and print; 1 if anything is not as it should be."""
    args = _parser().parse_args(arguments)
    venvs = dict(each.split("=", 1) for each in args.venv)
    rows = make_rows(args.rows, args.data)
    completions = make_completions(rows)
    judge = Scorer()
    scores = judge.judge((sample_of(row), row["response"]) for row in completions)
    native = [judge.reward(score) for score in scores]
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(_counted("rows", Counter(row["kind"] for row in rows)))
    print(_counted("completions", Counter(row["completion"] for row in completions)))
    print(_counted("native verdicts", Counter(score.status for score in scores)), end="\n\n")
    print(HEAD, flush=True)
    faults: list[str] = []
    for name in args.hubs.split(","):
        numbers = list(range(len(rows)))
        if name == "harbor" and args.harbor < len(rows):
            numbers = sorted(random.Random(0).sample(numbers, args.harbor))
        tasks, answered = [rows[n] for n in numbers], [completions[n] for n in numbers]
        with tempfile.TemporaryDirectory() as temporary:
            folder, hub = Path(temporary).resolve(), HUBS[name]
            if name in venvs:
                programs = Path(venvs[name]).absolute() / "bin"
            else:
                programs = install(folder / "venv", *hub.requirements)
            start = time.monotonic()
            checked = hub.check(programs, folder, tasks, answered)
            seconds = time.monotonic() - start
        differences = [
            f"{name}: {row['id']}, {row['completion']}: natively {native[n]}, there {reward!r}"[
                :300
            ]
            for n, row, reward in zip(numbers, answered, checked.rewards, strict=True)
            if reward != native[n]
        ]
        count, unscored = len(tasks), checked.rewards.count(None)
        equal = count - len(differences)
        differences += [f"{name}: {count - checked.gold} worked responses"] * (checked.gold < count)
        differences += [f"{name}: {count - checked.empty} empty answers"] * (checked.empty < count)
        faults += differences
        cells = (hub.requirements[0], hub.about, count, checked.gold, checked.empty, equal)
        print(f"| {' | '.join(map(str, cells))} | {unscored} | {seconds:.0f} |", flush=True)
    print("\nNot as they should be:\n" if faults else "\nNo disagreement.")
    print("\n".join(f"- {fault}" for fault in faults))
    return int(bool(faults))


def _counted(what: str, counts: Mapping[str, int]) -> str:
    return f"- {what}: " + ", ".join(f"{count} {name}" for name, count in counts.items())


# --- one function a hub --------------------------------------------------------------------------


def check_verifiers(
    programs: Path, folder: Path, rows: list[Row], completions: list[Row]
) -> Checked:
    """`vf-validate` on the installed package; `Task.score` on the completions."""
    package, answered = folder / "hub_rows", folder / "answered"
    export(rows, "verifiers", package)
    export(completions, "verifiers", answered)
    pip = ("pip", "install", "-q", "--no-deps", "--no-build-isolation", "--force-reinstall")
    run(programs, *pip, package, cwd=folder, timeout=None, **MORE)
    words = ("vf-validate", "hub-rows", "--runtime.type", "subprocess", "--no-rich", "-c", "4")
    report = run(programs, *words, cwd=folder, timeout=None, **MORE)
    checks = json.loads(report[report.index("{\n") :])["checks"]
    path = answered / "answered" / "rows" / "train.jsonl"
    rewards = _called(programs, folder, "verifiers", str(path), _texts(completions))
    return Checked(checks["gold"]["valid"], checks["noop"]["valid"], rewards)


def check_ors(programs: Path, folder: Path, rows: list[Row], completions: list[Row]) -> Checked:
    """The client against `server.py`, for the rows and for the completions."""
    export(rows, "ors", folder / "rows" / "hub_rows")
    export(completions, "ors", folder / "completions" / "hub_rows")
    with _served(programs, folder / "rows" / "hub_rows") as address:
        gold = _called(programs, folder, "ors", address, _texts(rows))
        empty = _called(programs, folder, "ors", address, [""] * len(rows))
    with _served(programs, folder / "completions" / "hub_rows") as address:
        rewards = _called(programs, folder, "ors", address, _texts(completions))
    return Checked(gold.count(1.0), empty.count(0.0), rewards)


def check_nemo_gym(
    programs: Path, folder: Path, rows: list[Row], completions: list[Row]
) -> Checked:
    """`gym env validate`; POST /verify for the rows and for the completions."""
    export(rows, "nemo-gym", folder / "hub_rows")
    export(completions, "nemo-gym", folder / "answered")
    config = "resources_servers/hub_rows/configs/hub_rows.yaml"
    model = ["--model-type", "openai_model", "--model", "m", "--model-api-key", "none"]
    model += ["--model-url", "http://127.0.0.1:9/v1"]
    words = ["gym", "env", "validate", "--config", config, *model]
    report = run(programs, *words, cwd=folder / "hub_rows", timeout=None, **MORE)
    if "Config is valid" not in report:
        raise SystemExit(report)
    path = str(folder / "hub_rows" / "resources_servers" / "hub_rows" / "rows" / "train.jsonl")
    gold = _called(programs, folder, "nemo-gym", path, _texts(rows))
    empty = _called(programs, folder, "nemo-gym", path, [""] * len(rows))
    path = str(folder / "answered" / "resources_servers" / "answered" / "rows" / "train.jsonl")
    rewards = _called(programs, folder, "nemo-gym", path, _texts(completions))
    return Checked(gold.count(1.0), empty.count(0.0), rewards)


def check_harbor(programs: Path, folder: Path, rows: list[Row], completions: list[Row]) -> Checked:
    """The oracle and the nop agent; for the completions, an oracle that writes them."""
    export(rows, "harbor", folder / "rows")
    export(completions, "harbor", folder / "completions")
    gold = _trials(programs, folder, "rows", "oracle")
    empty = _trials(programs, folder, "rows", "nop")
    rewards = _trials(programs, folder, "completions", "oracle")
    return Checked(gold.count(1.0), empty.count(0.0), rewards)


HUBS: Mapping[str, Hub] = {
    "verifiers": Hub(
        ("verifiers==0.4.0", "hatchling", "uv"),
        "`vf-validate --runtime.type subprocess`, `Task.score`",
        check_verifiers,
    ),
    "ors": Hub(("openreward==0.1.167",), "its client against `server.py`", check_ors),
    "nemo-gym": Hub(
        ("nemo-gym==0.4.0",), "`gym env validate`, POST /verify in process", check_nemo_gym
    ),
    "harbor": Hub(("harbor==0.24.0",), "`harbor run` with the oracle and nop agents", check_harbor),
}


def _texts(rows: list[Row]) -> list[str]:
    return [row["response"] for row in rows]


def _called(
    programs: Path, folder: Path, hub: str, where: str, texts: Sequence[str]
) -> list[Reward]:
    path = folder / "texts.json"
    path.write_text(json.dumps(texts), encoding="utf-8")
    words = ("python", "-m", "benchmarks.hubs_calls", hub, where, str(path))
    rewards: list[Reward] = json.loads(
        run(programs, *words, cwd=folder, timeout=None, **MORE).splitlines()[-1]
    )
    return rewards


@contextmanager
def _served(programs: Path, folder: Path) -> Iterator[str]:
    """The address of the server of an exported folder."""
    log = folder.with_name("server.log")
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            [programs / "python", "server.py"],
            cwd=folder,
            env={**os.environ, **MORE, "PORT": "0"},
            stdout=output,
            stderr=output,
        ) as server,
    ):
        try:
            while not (match := re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8"))):
                if server.poll() is not None:
                    raise SystemExit(f"server.py ended: {log.read_text('utf-8')[-4000:]}")
                time.sleep(0.2)
            yield match[0]
        finally:
            server.kill()


def _trials(programs: Path, folder: Path, name: str, agent: str) -> list[Reward]:
    """The rewards of a folder of tasks, in the order of the rows."""
    job = f"{name}-{agent}"
    words = ["harbor", "run", "-p", str(folder / name / "train"), "-a", agent, "-n", "2", "-q"]
    words += ["-e", "benchmarks.hubs_harbor:LocalEnvironment", "-o", "jobs", "--job-name", job]
    run(programs, *words, cwd=folder, timeout=None, **MORE)
    rewards: dict[str, Reward] = {}
    for path in (folder / "jobs" / job).glob("*/result.json"):
        trial = json.loads(path.read_text(encoding="utf-8"))
        fault = trial["exception_info"] or {}
        if fault.get("exception_type") == "RewardFileNotFoundError":
            log = path.parent / "verifier" / "test-stdout.txt"
            output = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            reward = None if "not scored: " in output else f"no reward file: {output}"
        elif fault:
            reward = f"{fault['exception_type']}: {fault['exception_message']}"
        else:
            reward = trial["verifier_result"]["rewards"]["reward"]
        rewards[trial["task_name"]] = reward
    return [rewards[each] for each in sorted(rewards)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="files of public benchmarks")
    parser.add_argument(
        "--harbor", type=int, default=1000, help="rows for Harbor, of three trials each"
    )
    parser.add_argument("--hubs", default=",".join(HUBS), metavar="HUB,HUB")
    parser.add_argument(
        "--venv", action="append", default=[], metavar="HUB=FOLDER", help="a virtual environment"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
