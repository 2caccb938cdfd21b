"""`infinite-rl verify`: prove every row of a data set again, offline."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from . import arguments
from .terminal import DONE, NOT_DONE, counting, plain, show_logs, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "verify",
        help="prove every row of a data set again, offline",
        description="Prove every row of OUT_DIR/dataset.csv again and name those that fail: by its "
        "content's hash, its reward, and wrong answers that its verifier must reject. A note says "
        "where another version of the reward or build of the sandbox judged when it was made.",
        epilog="Example: infinite-rl verify data. Exit code: 0 all rows hold, 1 some do not or "
        "there are none, 2 wrong usage.",
    )
    arguments.out_dir(parser, "the folder, or the file")
    arguments.timeout(parser, default=None)
    arguments.for_machines(parser, "one JSON object, with a list of `faults`,")
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset import dataset_file
    from ..files.csv_log import read_rows
    from ..manifest import judging_timeout
    from ..reward_functions import get_reward_functions
    from ..store import DATASET_COLUMNS, DATASET_LATER
    from ..verification.certificate import reprove

    show_logs()
    path = dataset_file(given.out_dir)
    timeout = judging_timeout(path.parent) if given.timeout is None else given.timeout
    number, faults = 0, list[dict[str, object]]()
    changes: Counter[str] = Counter()
    with counting("rows proven") as count:
        rows = read_rows(path, DATASET_COLUMNS, DATASET_LATER)
        for row in reprove(rows, get_reward_functions(timeout)):
            number = row.number
            if row.fault:
                fault = {"row": number, "id": row.sample.id, "fault": row.fault}
                faults.append(fault)
                if not given.json:  # else it is in the list of them
                    print(f"row {number} ({row.sample.id}): {plain(row.fault)}", flush=True)
            changes[row.changes] += bool(row.changes)
            count(number)
    if not number:
        print(f"error: there is no row in {path}", file=sys.stderr)
        return NOT_DONE
    notes = (
        f"note: made under another judge, rows: {rows_changed} ({plain(change)})"
        for change, rows_changed in (+changes).items()
    )
    failed = len(faults)
    counts = {"rows": number, "proven": number - failed, "failed": failed}
    tell(
        given,
        {**counts, "faults": faults, "made_under_another_judge": +changes, "file": path},
        *notes,
        f"rows: {number}, proven: {number - failed}, failed: {failed}",
    )
    return NOT_DONE if failed else DONE
