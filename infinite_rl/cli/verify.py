"""`infinite-rl verify`: prove a data set again, or rescore its journal."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from ..config import FilePath, Number, Strings
from ..errors import UsageError, check_range
from .terminal import DONE, NOT_DONE, Emit, counting, plain, show_logs
from .verb import Verb


class Verify(Verb):
    """Verify each row of OUT_DIR/dataset.csv offline and report those that fail: against its
    certificate, by the hash of its content, its reward, wrong answers that its verifier must
    reject, and the instructions that its program takes. A row that another version of the reward or
    of the sandbox judged fails, since it cannot be replayed bit for bit.

    With --rescore: judge every answer in the journal of OUT_DIR with the current rewards, at no
    cost, and write the rows that pass to a new folder, in which `generate` can continue. OUT_DIR is
    not changed.

    out_dir        the folder of a run, or its dataset.csv
    rewards        rewards of your own, by the `type` of their rows: NAME=FILE.py:CLASS or
                   NAME=package.module:CLASS, a subclass of RewardFunction
    timeout        seconds one run of a program may take (default: the run's own, else 5)
    first_failure  run no case of a program after one that failed
    time_factor    multiplies the time limits of rows (default: measured once a machine)
    sample         number of rows to replay; all rows are compared with their certificates
    seed           of the sample: another one draws other rows
    any_version    judge rows of other versions all the same, with a note
    rescore        rescore the journal into a new folder
    out            with --rescore: the new folder (default: OUT_DIR/rescored_1, rescored_2, ...)
    dry_run        with --rescore: count the rows that would be kept; write nothing
    min_agreement  with --rescore: fraction of the independent solutions that must agree

    Examples: infinite-rl verify data. infinite-rl verify data --sample 100. infinite-rl verify data
    --rescore --dry_run.

    Exit code: 0 all rows pass, 1 some do not or there are none, 2 wrong usage.
    """

    positional = ("out_dir",)

    out_dir: FilePath
    rewards: Strings = ()
    timeout: Number | None = None
    first_failure: bool = False
    time_factor: Number | None = None
    sample: int | None = None
    seed: int = 0
    any_version: bool = False
    rescore: bool = False
    out: FilePath | None = None
    dry_run: bool = False
    min_agreement: Number | None = None

    def run(self, emit: Emit) -> int:
        show_logs()
        if self.rescore:
            return self._rescore(emit)
        for key in ("out", "dry_run", "min_agreement"):
            if getattr(self, key) not in (None, False):
                raise UsageError(f"--{key} needs --rescore")
        return self._verify(emit)

    def _verify(self, emit: Emit) -> int:
        from ..certificates import CertificateIndex
        from ..dataset import dataset_file
        from ..files.logs import read_rows
        from ..generation.plan import recorded_custom_tasks
        from ..manifest import judging_timeout, read_manifest
        from ..reward_functions import get_reward_functions, own_rewards
        from ..store import DATASET_COLUMNS, DATASET_LATER
        from ..tasks import TASKS
        from ..verification.certificate import check_manifest, reprove

        path = dataset_file(self.out_dir)
        folder = path.parent
        timeout = judging_timeout(folder) if self.timeout is None else self.timeout
        manifest = read_manifest(folder)
        tasks = {**TASKS, **recorded_custom_tasks(manifest)}
        index: CertificateIndex | None = CertificateIndex(folder)
        if not index and not manifest.get("certificates", {}).get("count"):
            index = None  # rows of an earlier version
        whole = check_manifest(folder) if index is not None else None
        faults, changes, failed = list[dict[str, object]](), Counter[str](), 0
        number = replayed = 0

        def fault(text: str, row_id: str = "", number: int | None = None) -> None:
            faults.append({"row": number, "id": row_id, "fault": text})
            where = f"row {number} ({row_id}): " if number else ""
            if not emit.json:  # else it is in the list of them
                print(where + plain(text), flush=True)

        for text in whole.faults if whole else ():
            fault(text)
        with counting("rows verified") as count:
            rows = read_rows(path, DATASET_COLUMNS, DATASET_LATER)
            options = self.pick("first_failure", "time_factor")
            own = own_rewards(self.rewards, timeout)
            rewards = get_reward_functions(timeout, own, options=options)
            replay = self._chosen(path)
            judged = reprove(
                rows, rewards, tasks, index, replay=replay, any_version=self.any_version
            )
            for row in judged:
                number, replayed = row.number, replayed + row.replayed
                if row.fault:
                    failed += 1
                    fault(row.fault, row.sample.id, number)
                changes[row.changes] += bool(row.changes)
                count(number)
        if not number:
            print(f"error: there is no row in {path}", file=sys.stderr)
            return NOT_DONE
        for row_id in index.surplus if index is not None else ():
            fault(f"certificate ({row_id}): it belongs to no row", row_id)
        counts = {"rows": number, "proven": number - failed, "failed": failed}
        counts |= {"replayed": replayed, "certificates": len(index or ())}
        values = {**counts, "faults": faults, "made_under_another_judge": +changes, "file": path}
        notes = [
            f"note: made under another judge, rows: {count} ({plain(change)})"
            for change, count in (+changes).items()
        ]
        notes += [f"note: {whole.note}"] if whole and whole.note else []
        notes += ["note: the rows have no certificates"] if index is None else []
        summary = f"rows: {number}, proven: {number - failed}, failed: {failed}"
        emit(values, *notes, f"{summary}, replayed: {replayed}" if self.sample else summary)
        return NOT_DONE if faults else DONE

    def _chosen(self, path: Path) -> Callable[[int], bool]:
        """Which rows are replayed, by their numbers."""
        if self.sample is None:
            return lambda _: True
        from ..files.logs import read_rows

        check_range("sample", self.sample, 1)
        count = sum(1 for _ in read_rows(path))
        chosen = Random(self.seed).sample(range(1, count + 1), min(self.sample, count))
        return set(chosen).__contains__

    def _rescore(self, emit: Emit) -> int:
        from ..generation.rescore import rescore
        from ..manifest import judging_timeout
        from ..reward_functions import own_rewards
        from .display import rejections

        with counting("answers judged") as count:
            options = self.pick("dry_run", "timeout", "min_agreement")
            own = own_rewards(self.rewards, self.timeout or judging_timeout(self.out_dir))
            result = rescore(
                self.out_dir, to=self.out, extra_rewards=own, on_progress=count, **options
            )
        kept = f"rows kept: {result.kept}, gained: {result.gained}, dropped: {result.dropped}"
        lines = [f"{kept}, {rejections(result.rejected)}"]
        if result.unproven:
            unproven = f"rows that lack independent solutions: {result.unproven}"
            lines.append(f"{unproven}; the next run of generate asks for them")
        lines.append(f"in {result.out}" if result.out else "dry run: nothing is written")
        emit({**vars(result), "out_dir": self.out_dir, "dry_run": self.dry_run}, *lines)
        return DONE
