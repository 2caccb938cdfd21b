"""The audit on a corpus of graders with planted defects, and of sound ones.

    python -m benchmarks.audit CORPUS [--only PART] [--findings]

CORPUS has for each grader NAME.py, NAME.jsonl with its rows, and NAME.json: `target` (the kind),
`function`, `sound`, and for one that is not sound `defects`, each with its `severity`. A defect
counts as found if the audit reports a finding of its severity; a sound grader with a finding is
accused.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from infinite_rl.audit import Report, Settings, audit, audit_rows, replay
from infinite_rl.errors import InfiniteRLError

_KINDS = ("plain", "trl", "verl", "verifiers", "nemo_gym", "openrlhf", "lm_eval", "lighteval")


def graders(folder: Path, only: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The graders of a corpus with their descriptions."""
    for path in sorted(folder.glob("*.json")):
        value = json.loads(path.read_text("utf-8"))
        if only in path.stem and isinstance(value, Mapping) and "function" in value:
            yield path, value


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
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}{about.get('path', '')}"
        server.kill()


def audited(path: Path, about: Mapping[str, Any]) -> tuple[Report, int]:
    """The report on one grader, and how many of its witnesses replay."""
    kind = about["target"] if about["target"] in _KINDS else ""
    rows = list(audit_rows(path.with_suffix(".jsonl")))
    with target_of(path, about) as target:
        report = audit(target, rows, Settings(kind))
        return report, count_replayed(report)


def count_replayed(report: Report) -> int:
    """How many of the witnesses show their findings again."""
    settings = Settings(report.kind)
    each = (replay(report.target, f.witness, settings, report.chat)[0] for f in report.findings)
    return sum(each)


def main() -> None:
    """Audit the corpus and print a line a grader, then the totals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", default="", help="a part of the graders' names")
    parser.add_argument("--findings", action="store_true", help="print each finding")
    args = parser.parse_args()
    seconds, accused, sound, planted, detected = [], [], 0, 0, 0
    witnesses = shown = 0
    for path, about in graders(args.corpus, args.only):
        started = time.monotonic()
        try:
            report, replayed = audited(path, about)
        except InfiniteRLError as error:
            print(f"{path.stem}: {error}", flush=True)
            report, replayed = Report(str(path), about["target"], 0, note=str(error)), 0
        seconds.append(report.seconds or time.monotonic() - started)
        severities = {finding.about.severity for finding in report.findings}
        witnesses += len(report.findings)
        shown += replayed
        wanted = [each["severity"].replace("_", " ") for each in about.get("defects", ())]
        missed = [
            each["class"]
            for each, severity in zip(about.get("defects", ()), wanted, strict=True)
            if severity not in severities
        ]
        sound += bool(about["sound"])
        if about["sound"] and report.findings:
            accused.append(path.stem)
        planted, detected = planted + len(wanted), detected + len(wanted) - len(missed)
        state = "sound" if about["sound"] else f"{len(wanted) - len(missed)}/{len(wanted)}"
        print(
            f"{path.stem:32} {state:6} {seconds[-1]:6.1f} s  "
            f"{', '.join(sorted(finding.kind for finding in report.findings)) or '-'}"
            + (f"  MISSED {', '.join(missed)}" if missed else "")
            + (f"  ({report.note})" if report.note else ""),
            flush=True,
        )
        for finding in report.findings if args.findings else ():
            text = finding.witness.pairs[0][1]
            print(f"    {finding.kind}: {text[-200:]!r} -> {finding.reply}", flush=True)
    print(f"defects found: {detected} of {planted}")
    print(f"sound graders accused: {len(accused)} of {sound} {' '.join(accused)}")
    print(f"witnesses that replay: {shown} of {witnesses}")
    if seconds:
        print(f"seconds a grader: median {statistics.median(seconds):.1f}, most {max(seconds):.1f}")


if __name__ == "__main__":
    main()
