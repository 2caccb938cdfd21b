"""A million rows through each verb: `python -m benchmarks.million --help`.

Rows are GSM8K's over and over, each time with other numbers, in one file of JSON lines (`load`
reads Parquet). Each verb runs as a command of its own. Seconds of the processor include its
workers', memory does not. A verb that would take longer than `--seconds` of the processor for
`--rows`, by its time for a hundredth of them, runs on as many rows as fit; the memory for both
sizes tells how it grows.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.dataset import DATA, SEED, _other_number
from benchmarks.sandbox import machine
from infinite_rl.dataset.rows import read, write

VERB = (sys.executable, "-m", "infinite_rl")
# What is loaded, indexed or copied by a function and no verb.
LOAD = (
    "import sys; from infinite_rl.dataset import load_dataset; "
    "print(len(load_dataset(sys.argv[1])))"
)
COPY = (
    "import sys, pathlib; from infinite_rl.dataset.parquet import keep_copy; "
    "print(keep_copy(pathlib.Path(sys.argv[1])))"
)
INDEX = """
import sys, time, pathlib
from infinite_rl.view import Viewer
from infinite_rl.view.query import Query
with Viewer(pathlib.Path(sys.argv[1])) as viewer:
    while viewer.task:
        time.sleep(0.1)
    queries = (Query("apples"), Query("the"), Query("", {}, "level", True), Query("level>0.99"))
    for query in queries:
        start = time.perf_counter()
        page = viewer.page(query, 0)
        took = time.perf_counter() - start
        print(f"{query.text or query.sort}: {page['total']} rows, {took:.2f} s", file=sys.stderr)
"""


_LOOK_S = 0.02


class Used(NamedTuple):
    """Seconds, seconds of the processor, and the MB of the largest process."""

    seconds: float
    cpu: float
    memory: float


def rows_file(path: Path, count: int) -> Path:
    """A file of rows, made once."""
    if path.is_file():
        return path
    chance = random.Random(SEED)
    sources = list(read(DATA / "gsm8k" / "train.jsonl"))

    def rows() -> object:
        for number in range(count):
            row = sources[number % len(sources)]
            prompt = _other_number(row["question"], chance) or row["question"]
            answer = row["answer"].rpartition("#### ")[2]
            yield {
                "id": f"r{number}", "type": "math", "prompt": prompt, "answer": answer,
                "response": f"{row['answer']}\n<answer>{answer}</answer>", "language": "",
                "level": round(chance.random(), 4),
            }  # fmt: skip

    write(rows(), path)  # type: ignore[arg-type]
    return path


def run_folder(folder: Path, rows: Path) -> Path:
    """The folder of a run with these rows in its log."""
    from infinite_rl.files.logs import csv_line
    from infinite_rl.store import DATASET, DATASET_COLUMNS

    if folder.is_dir():
        return folder
    folder.mkdir()
    more = {"quality_score": "1.0", "format_score": "1.0", "correctness_score": "1.0"}
    more |= {"aux_score": "0.0", "model": "m", "status": "passed", "seed": "7", "cost": "0.0125"}
    with (folder / DATASET).open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(DATASET_COLUMNS))
        for number, row in enumerate(read(rows)):
            fields = {**more, **row, "slot": f"math/{number}/0/0", "level": ""}
            file.write(csv_line([fields.get(name, "") for name in DATASET_COLUMNS]))
    return folder


def commands(rows: Path, folder: Path) -> Mapping[str, Callable[[], Sequence[str]]]:
    """The command of each verb for a file of rows; its input is made when it is asked for."""
    against = [str(path) for path in (DATA / "gsm8k/test.jsonl", DATA / "math500/test.jsonl")]

    def verb(*words: str, out: str) -> Sequence[str]:
        return [*VERB, *words, str(rows), "-o", str(folder / out)]

    def parquet() -> str:
        path = folder / "rows.parquet"
        if not path.is_file():
            write(read(rows), path)
        return str(path)

    run = folder / "run"
    return {
        "load a Parquet file": lambda: [sys.executable, "-c", LOAD, parquet()],
        "typed copy of a run": lambda: [sys.executable, "-c", COPY, str(run_folder(run, rows))],
        "view: index": lambda: [sys.executable, "-c", INDEX, str(rows)],
        "data mix": lambda: verb("data", "mix", out="mixed.jsonl"),
        "export --to trl": lambda: verb("export", "--to", "trl", out="exported"),
        "score": lambda: verb("score", out="scored.jsonl"),
        "data split": lambda: verb("data", "split", out="split.jsonl"),
        "data dedup": lambda: verb("data", "dedup", out="unique.jsonl"),
        "data decontaminate": lambda: [
            *verb("data", "decontaminate", out="clean.jsonl"), "--against", *against,
        ],
    }  # fmt: skip


def used(command: Sequence[str]) -> Used:
    """What a command takes. Raises CalledProcessError if it fails."""
    start, memory = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        status = Path(f"/proc/{process.pid}/status")
        while True:  # the system's own count begins with the memory of this process
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
            memory = max(memory, int(peak[1]) / 1024 if peak else 0.0)
            time.sleep(_LOOK_S)
        process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Used(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, memory)


def measured(name: str, count: int, folder: Path) -> Used:
    """What a verb takes on a number of rows; its output is removed."""
    here = folder / str(count)
    here.mkdir(exist_ok=True)
    rows = rows_file(here / "rows.jsonl", count)
    kept = {"rows.jsonl", "rows.parquet", "run"}
    try:
        return used(commands(rows, here)[name]())
    finally:
        for path in here.iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def fitting(rows: int, small: int, cpu: float, seconds: float) -> int:
    """The rows that fit into a time, by what a small number takes: a round number."""
    most = int(seconds / max(cpu, 1e-9) * small)
    return next((n for n in (rows, rows // 2, rows // 5, rows // 10) if n <= most), small)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", help=", ".join(commands(Path(), Path())))
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--seconds", type=float, default=180, help="of the processor, for a verb")
    parser.add_argument("--folder", type=Path, help="where the rows are made, and stay")
    args = parser.parse_args()
    print(machine(), flush=True)
    with TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        print(f"{'':<22}{'rows':>9}{'seconds':>9}{'CPU s':>8}{'rows/CPU s':>12}{'MB':>7}")
        small = args.rows // 100
        for name in args.verbs or commands(folder, folder):
            few = measured(name, small, folder)
            count = fitting(args.rows, small, few.cpu, args.seconds)
            for number, spent in ((small, few), (count, measured(name, count, folder))):
                speed = number / spent.cpu
                line = f"{number:>9}{spent.seconds:>9.1f}{spent.cpu:>8.1f}{speed:>12.0f}"
                print(f"{name:<22}{line}{spent.memory:>7.0f}", flush=True)


if __name__ == "__main__":
    main()
