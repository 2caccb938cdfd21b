"""The audit on a corpus of graders with planted defects, and of sound ones.

    python -m benchmarks.audit [CORPUS] [--part open|apart] [--only NAME] [--findings]

CORPUS is a folder with NAME.py, NAME.jsonl (its rows) and NAME.json for each grader: `target` (the
kind), `function`, `sound`, and for one that is not sound `defects`, each with its `severity`. By
default it is `benchmarks/audit_corpus.zip`. A defect counts as found if the audit reports a finding
of its severity: a gold that is refused is a false reject and a silent zero, since they look the
same from outside. A sound grader with a finding is accused. A third of the graders, chosen by the
hash of their names, is kept apart while probes are written: `--part apart`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from infinite_rl.audit import Limits, Report, Settings, audit, audit_rows, replay
from infinite_rl.audit.foreign_reward.conventions import KINDS
from infinite_rl.errors import InfiniteRLError

CORPUS = Path(__file__).with_name("audit_corpus.zip")
_ALSO = {"gold refused": {"false reject"}}


def graders(
    corpus: Path, only: str = "", part: str = ""
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The graders of a corpus, a folder or a zip file, with their descriptions."""
    with tempfile.TemporaryDirectory() as folder:
        if corpus.is_file():
            zipfile.ZipFile(corpus).extractall(folder)
            corpus = Path(folder)
        for path in sorted(corpus.rglob("*.json")):
            value = json.loads(path.read_text("utf-8"))
            is_apart = zlib.crc32(path.stem.encode()) % 3 == 0
            is_chosen = only in path.stem and part in ("", "apart" if is_apart else "open")
            if is_chosen and isinstance(value, Mapping) and "function" in value:
                yield path, value


def kind_of(about: Mapping[str, Any]) -> str:
    """The kind of a grader, "" if it is to be guessed."""
    return about["target"] if about["target"] in KINDS else ""


@contextmanager
def target_of(path: Path, about: Mapping[str, Any]) -> Iterator[str]:
    """What is audited: a function, or the URL of a server that is started for it."""
    if "serve" not in about:
        yield f"{path.with_suffix('.py')}:{about['function']}"
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(path.with_suffix(".py")), "--port", str(port)]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdout=nothing, stderr=nothing, start_new_session=True
    ) as server:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        try:
            yield f"http://127.0.0.1:{port}{about.get('path', '')}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # with programs that it runs without a limit


def audited(path: Path, about: Mapping[str, Any], limits: Limits) -> tuple[Report, int]:
    """The report on one grader, and how many of its witnesses replay."""
    rows = list(audit_rows(path.with_suffix(".jsonl")))
    with target_of(path, about) as target:
        report = audit(target, rows, Settings(kind_of(about)), limits)
    return report, count_replayed(report, path, about)


def count_replayed(report: Report, path: Path, about: Mapping[str, Any]) -> int:
    """How many of the witnesses show their findings again. Each is called on a fresh target."""
    shown = 0
    for finding in report.findings:
        with target_of(path, about) as target:
            settings = Settings(report.kind)
            shown += replay(target, finding.witness, settings, report.chat)[0]
    return shown


def main() -> None:
    """Audit the corpus and print a line a grader, then the totals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", default=CORPUS)
    parser.add_argument("--part", choices=("", "open", "apart"), default="")
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="of a grader")
    parser.add_argument("--only", default="", help="a part of the graders' names")
    parser.add_argument("--findings", action="store_true", help="print each finding")
    args = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}")
    limits, seconds, accused = Limits(args.seconds), [], []
    sound = planted = detected = witnesses = shown = 0
    for path, about in graders(args.corpus, args.only, args.part):
        started = time.monotonic()
        try:
            report, replayed = audited(path, about, limits)
        except InfiniteRLError as error:
            report, replayed = Report(str(path), about["target"], 0, note=str(error)), 0
        seconds.append(report.seconds or time.monotonic() - started)
        severities = {finding.about.severity for finding in report.findings}
        severities |= {each for f in report.findings for each in _ALSO.get(f.kind, ())}
        witnesses += len(report.findings)
        shown += replayed
        defects = about.get("defects", ())
        missed = [each for each in defects if each["severity"] not in severities]
        sound += bool(about["sound"])
        if about["sound"] and report.findings:
            accused.append(path.stem)
        planted, detected = planted + len(defects), detected + len(defects) - len(missed)
        state = "sound" if about["sound"] else f"{len(defects) - len(missed)}/{len(defects)}"
        print(
            f"{path.stem:32} {state:6} {seconds[-1]:6.1f} s  "
            f"{', '.join(sorted(finding.kind for finding in report.findings)) or '-'}"
            + "".join(f"  MISSED {each['severity']}: {each['id']}" for each in missed)
            + "".join(f"  ({each})" for each in (report.note, *report.cut) if each),
            flush=True,
        )
        for finding in report.findings if args.findings else ():
            text = finding.witness.pairs[0][1]
            print(f"    {finding.kind}: {text[-200:]!r} -> {finding.reply}", flush=True)
    print(f"graders: {len(seconds)}")
    print(f"defects found: {detected} of {planted}")
    print(f"sound graders accused: {len(accused)} of {sound} {' '.join(accused)}")
    print(f"witnesses that replay: {shown} of {witnesses}")
    if seconds:
        print(f"seconds a grader: median {statistics.median(seconds):.1f}, most {max(seconds):.1f}")


if __name__ == "__main__":
    main()
