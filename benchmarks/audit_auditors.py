"""Other auditors of rewards on a corpus of graders with planted defects, and of sound ones.

    python -m benchmarks.audit_auditors [CORPUS] --python NAME=PATH [--only PART]

CORPUS is as for `benchmarks.audit`. Each auditor has an interpreter where it is installed
(`pip install NAME`), and is given each grader by a function of a completion and a row, with the
same rows: `audit_auditors_calls.py` has those few lines, and what each auditor's own words mean
here. A defect counts as found if a finding of its severity is reported for its grader (for an
auditor without severities: any finding); a sound grader with a finding is accused. A run that ends
badly, or takes more than `--timeout` seconds, reports nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.audit import CORPUS, graders, kind_of, target_of
from infinite_rl.audit.rows import audit_row
from infinite_rl.dataset.rows import read_some
from infinite_rl.errors import UsageError

_CALLS = Path(__file__).with_name("audit_auditors_calls.py")


def reported(
    python: str, auditor: str, grader: dict[str, Any], timeout: float
) -> tuple[list[str], str]:
    """The severities that an auditor reports for a grader, and why it took none."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "grader.json").write_text(json.dumps(grader), "utf-8")
        command = [python, str(_CALLS), auditor, "grader.json"]
        try:
            done = subprocess.run(
                command, cwd=folder, timeout=timeout, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return [], "timeout"
        last = (done.stdout.strip().splitlines() or [""])[-1]
        if not last.startswith("{"):
            return [], f"ended: {(done.stderr.strip().splitlines() or ['nothing'])[-1][:200]}"
        value = json.loads(last)
        return value.get("found", []), value.get("not taken", "")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows with their golds as texts: "" where no answer can be read."""
    for index, columns in enumerate(read_some(path)):
        try:
            row = audit_row(index, columns)
        except UsageError:
            yield {"prompt": "", "answer": None, "columns": columns, "gold": "", "kind": "other"}
        else:
            yield dict(row.sent(), gold=row.gold, kind=row.kind)


def main() -> None:
    """Run the auditors that are named, and print a line a grader and the totals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_auditors")
    parser.add_argument("corpus", type=Path, nargs="?", default=CORPUS)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--only", default="", help="a part of the graders' names")
    parser.add_argument("--timeout", type=float, default=120.0)
    args = parser.parse_args()
    for auditor, python in (each.split("=", 1) for each in args.python):
        count: Counter[str] = Counter()
        seconds, accused, why = [], [], Counter[str]()
        for path, about in graders(args.corpus, args.only):
            kind = kind_of(about) or "plain"
            with target_of(path, about) as target:
                sent = list(_rows(path.with_suffix(".jsonl")))
                grader = {"target": target, "kind": kind, "rows": sent}
                started = time.monotonic()
                severities, left = reported(python, auditor, grader, args.timeout)
            wanted = [each["severity"].replace("_", " ") for each in about.get("defects", ())]
            hits = sum(each in severities or "any" in severities for each in wanted)
            count["defects"] += len(wanted)
            count["found"] += hits
            count["sound"] += bool(about["sound"])
            if left:
                why[left.split(":")[0]] += 1
            else:
                seconds.append(time.monotonic() - started)
                count["taken"] += 1
                count["taken defects"] += len(wanted)
                count["taken sound"] += bool(about["sound"])
            if about["sound"] and severities:
                accused.append(path.stem)
            state = "sound" if about["sound"] else f"{hits}/{len(wanted)}"
            print(f"{auditor} {path.stem}: {state} {sorted(set(severities))} {left}", flush=True)
        print(
            f"TOTAL {auditor}: found {count['found']} of {count['defects']} "
            f"({count['taken defects']} in the {count['taken']} graders that it takes), "
            f"accused {len(accused)} of {count['sound']} ({count['taken sound']} taken), "
            f"median {statistics.median(seconds or [0]):.1f} s; not taken: {dict(why)}; "
            f"accused: {' '.join(accused)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
