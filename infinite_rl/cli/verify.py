"""`infinite-rl verify`: prove a data set again, or rescore its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from ..config import FilePath, Number, Strings
from ..errors import UsageError, check_range
from .terminal import DONE, NOT_DONE, Emit, counting, note, plain
from .verb import OWN_REWARDS, Verb

if TYPE_CHECKING:
    from ..certificates import CertificateIndex
    from ..verification.certificate import ReprovedRow


class Verify(Verb):
    """Verify each row of OUT_DIR/dataset.csv offline, and report the rows that fail. Each row is
    compared with its certificate: the hash of its content, the verdict of its reward, the wrong
    answers that its verifier rejects, and the instructions that its program takes. A row that
    another version of the reward or of the sandbox judged fails, because it cannot be replayed bit
    for bit.

    With --rescore: judge every answer in the journal of OUT_DIR with the current rewards, without
    any call, and write the rows that pass to a new folder, in which `generate` can continue.
    OUT_DIR stays unchanged.

    out_dir        the folder of a run, or its dataset.csv
    rewards        rewards of your own, by the `type` of their rows: NAME=FILE.py:CLASS or
                   NAME=package.module:CLASS, a subclass of RewardFunction
    timeout        seconds one run of a program may take (default: the run's own, else 5)
    first_failure  stop at the first failed case of a program
    time_factor    multiplies the time limits of rows (default: measured once per machine)
    sample         number of rows to replay; all rows are compared with their certificates
    seed           seed of the sample
    any_version    also judge rows of other versions, with a note
    rescore        rescore the journal into a new folder
    out            with --rescore: the new folder (default: OUT_DIR/rescored_1, rescored_2, ...)
    dry_run        with --rescore: count the rows that would be kept; write nothing
    min_agreement  with --rescore: fraction of the independent solutions that must agree

    Examples: infinite-rl verify data. infinite-rl verify data --sample 100. infinite-rl verify data
    --rescore --dry_run.

    Exit code: 0 all rows pass, 1 some rows fail or there are no rows, 2 wrong usage.
    """

    positional = ("out_dir",)
    metavars = {"rewards": OWN_REWARDS}

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
        if self.rescore:
            return self._rescore(emit)
        for key in ("out", "dry_run", "min_agreement"):
            if getattr(self, key) not in (None, False):
                raise UsageError(f"--{key} needs --rescore")
        return self._verify(emit)

    def _verify(self, emit: Emit) -> int:
        from ..certificates import CertificateIndex
        from ..dataset import dataset_file
        from ..files.atomic import refuse_while_written
        from ..manifest import read_manifest
        from ..verification.certificate import Faults, check_manifest

        path = dataset_file(self.out_dir)
        refuse_while_written(path.parent)
        manifest = read_manifest(path.parent)
        index: CertificateIndex | None = CertificateIndex(path.parent)
        if not index and not manifest.get("certificates", {}).get("count"):
            index = None  # rows of an earlier version
        whole = Faults(note="the rows have no certificates")
        if index is not None:
            whole = check_manifest(path.parent)
        faults, changes, counts = list[dict[str, object]](), Counter[str](), Counter[str]()

        def fault(text: str, row_id: str = "", number: int | None = None) -> None:
            faults.append({"row": number, "id": row_id, "fault": text})
            where = f"row {number} ({row_id}): " if number else ""
            if not emit.json:  # else it is in the list of them
                print(where + plain(text), flush=True)

        for text in whole.faults:
            fault(text)
        with counting("rows verified") as count:
            for row in self._reproved(path, manifest, index):
                counts.update(rows=1, failed=bool(row.fault), replayed=row.replayed)
                if row.fault:
                    fault(row.fault, row.sample.id, row.number)
                changes[row.changes] += bool(row.changes)
                count(row.number)
        if not counts["rows"]:
            note(f"error: there is no row in {path}")
            return NOT_DONE
        for row_id in index.surplus if index is not None else ():
            fault(f"certificate ({row_id}): it belongs to no row", row_id)
        passed = "passed" if index is None else "proven"  # by a certificate
        counts[passed] = counts["rows"] - counts["failed"]
        values = {name: counts[name] for name in ("rows", passed, "failed", "replayed")}
        notes = [
            f"note: made under another judge, rows: {count} ({plain(change)})"
            for change, count in (+changes).items()
        ]
        notes += [f"note: {whole.note}"] if whole.note else []
        shown = [f"{name}: {value}" for name, value in values.items()]
        emit(
            {
                **values,
                "certificates": len(index or ()),
                "faults": faults,
                "made_under_another_judge": +changes,
                "file": path,
            },
            *notes,
            ", ".join(shown if self.sample else shown[:-1]),
        )
        return NOT_DONE if faults else DONE

    def _reproved(
        self, path: Path, manifest: Mapping[str, Any], index: CertificateIndex | None
    ) -> Iterator[ReprovedRow]:
        """The rows of a file, each verified again."""
        from ..files.logs import read_rows
        from ..generation.plan import recorded_custom_tasks
        from ..manifest import judging_timeout
        from ..reward_functions import get_reward_functions, own_rewards
        from ..store import DATASET_COLUMNS, DATASET_LATER
        from ..tasks import TASKS
        from ..verification.certificate import reprove

        timeout = judging_timeout(path.parent) if self.timeout is None else self.timeout
        own = own_rewards(self.rewards, timeout)
        rewards = get_reward_functions(
            timeout, own, options=self.pick("first_failure", "time_factor")
        )
        return reprove(
            read_rows(path, DATASET_COLUMNS, DATASET_LATER),
            rewards,
            {**TASKS, **recorded_custom_tasks(manifest)},
            index,
            replay=self._chosen(path),
            any_version=self.any_version,
        )

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
