"""`infinite-rl audit`: find the false accepts and rejects of a reward, and audit rows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..config import FilePath, Number, Strings, ranged
from ..errors import UsageError, check_range, look_up
from .terminal import DONE, NOT_DONE, Emit, note, plain
from .verb import NamedColumns, Verb, refuse_existing

if TYPE_CHECKING:
    from ..audit import Report, Settings


class Audit(Verb):
    """Audit rewards on rows: which wrong completions do they pay, which right ones do they refuse?
    Each finding has a severity, a minimal example (its witness) that can be replayed, its cost and
    a remedy. A target is FILE.py:NAME, package.module:NAME or the URL of a reward server; its kind
    follows from its parameters. It runs in a separate process, without your environment variables,
    but natively: audit code that you would also train with.

    targets    rewards to audit; several are compared on the same rows
    rows       rows with prompts and golds: .csv, .jsonl, .jsonl.gz, .json, .parquet or a folder
               (default: the first target's own, if it is a taskset of verifiers)
    answer     column of the golds (default: the usual names)
    wrap       form of an answer, with {answer} in it (default: a form that the reward pays)
    kind       plain, trl, verl, verifiers, nemo_gym, openrlhf, lm_eval, lighteval,
               infinite_rl (default: guessed)
    python     interpreter of the targets, such as that of a trainer's environment
    out        files to write: .json (with witnesses), .sarif, .html
    overwrite  replace these files if they exist
    sample     number of rows that are probed in full
    seconds    seconds of the whole run, which the targets share; the page lists the probes that
               were skipped (default: 60 for each target)
    timeout    seconds that one call may take
    memory     megabytes of memory of the target's process; 0: no limit
    keep       names of environment variables that the targets may read
    fix        also audit this package's reward on the same rows, and show how to call it

    Example: infinite-rl audit reward.py:my_reward --rows rows.jsonl -o audit.json.

    Exit code: 0 no findings, 1 not done or not complete in time, 2 wrong usage; else that of the
    worst finding: 10 unstable, 11 silent zero, 12 hang, 13 false reject, 14 exploitable.
    """

    positional: ClassVar[Sequence[str]] = ("targets",)
    repeated: ClassVar[Sequence[str]] = ("out", "keep")

    targets: Strings
    rows: FilePath | None = None
    answer: str = ""
    wrap: str = ""
    kind: str = ""
    python: str = ""
    out: Strings = ()
    overwrite: bool = False
    sample: int = ranged(8, 1)
    seconds: Number | None = None
    timeout: Number = 10.0
    memory: int = ranged(8192, 0)
    keep: Strings = ()
    fix: bool = False

    def run(self, emit: Emit) -> int:
        from ..audit import Limits, Settings, audit, audit_rows, own_rows

        started = time.monotonic()
        files = [Path(each) for each in self.out]
        self._check(files)
        settings = Settings(self.kind, self.python, self.timeout, self.memory, self.keep)
        jobs = [(target, settings, self.wrap) for target in self.targets]
        jobs += [(OURS, Settings(keep=_CACHES), "")] * self.fix
        seconds = Limits().seconds * len(jobs) if self.seconds is None else self.seconds
        check_range("seconds", seconds, 1)
        end = started + seconds
        if self.rows:
            rows = list(audit_rows(self.rows, self.answer))
        else:
            rows = own_rows(self.targets[0], settings, self.answer, end - time.monotonic())
        if not any(row.prompt for row in rows):
            note(
                "no row has a prompt in a usual column, so the targets get an empty one: rename "
                "its column to prompt"
            )
        audits = []
        for at, (target, each, wrap) in enumerate(jobs):
            limits = Limits((end - time.monotonic()) / (len(jobs) - at), self.sample)
            began = time.monotonic()

            def on_stage(
                stage: str, name: str = target, began: float = began, most: float = limits.seconds
            ) -> None:
                passed = time.monotonic() - began
                note(f"auditing {name}: {passed:.0f} of {most:.0f} s: {stage}")

            audits.append(audit(target, rows, each, limits, wrap, on_stage))
        self._report(audits, settings, files, emit)
        reports = audits[: len(self.targets)]
        return max(report.exit_code or (DONE if report.surface else NOT_DONE) for report in reports)

    def _check(self, files: Sequence[Path]) -> None:
        """Raise UsageError for a file or a flag that would fail later."""
        from ..audit.foreign_reward.conventions import KINDS

        for file in files:
            if file.suffix not in (".json", ".sarif", ".html"):
                raise UsageError(f"{file} must end in .json, .sarif or .html")
        refuse_existing(files, overwrite=self.overwrite)
        if self.wrap and "{answer}" not in self.wrap:
            raise UsageError("--wrap needs {answer} in place of the answer")
        if self.kind:
            look_up("kind of target", self.kind, KINDS)

    def _report(
        self, reports: Sequence[Report], settings: Settings, files: Sequence[Path], emit: Emit
    ) -> None:
        """Emit the reports, of which only the targets' are printed in full, and write the files."""
        from ..audit.pages import table, text, values

        lines = [line for report in reports[: len(self.targets)] for line in (*text(report), "")]
        if len(reports) > 1:
            lines += [*table(reports), ""]
        if self.fix:
            lines += _DROP_IN.splitlines()
        result = {"reports": [values(each, settings) for each in reports]}
        for file in files:
            self._write(file, reports, result)
            lines.append(f"in {file}")
        emit(result, *lines)

    def _write(self, file: Path, reports: Sequence[Report], result: object) -> None:
        from ..audit.pages import sarif, web_page
        from ..files.atomic import write_text

        if file.suffix == ".json":
            write_text(file, json.dumps(result, indent=1))
        else:
            write_text(file, sarif(reports) if file.suffix == ".sarif" else web_page(reports))


class Replay(Verb):
    """Call the target again with the example (witness) of each finding, and print its result.

    witness  a report of `infinite-rl audit -o REPORT.json`, or one witness from it
    number   number of the finding in the report (default: all)

    Example: infinite-rl audit replay audit.json --number 1.

    Exit code: 0 no finding appears any more, 1 at least one does, 2 wrong usage.
    """

    positional: ClassVar[Sequence[str]] = ("witness",)

    witness: FilePath
    number: int = ranged(0, 0)

    def run(self, emit: Emit) -> int:
        from ..audit import replay
        from ..audit.pages import quoted, witness_of, witnesses

        every = list(enumerate(witnesses(self.witness), 1))
        if not every:
            emit({"witnesses": []}, f"{self.witness} has no finding, so there is nothing to call")
            return DONE
        if self.number > len(every):
            raise UsageError(
                f"{self.witness} has {len(every)} witnesses, none of number {self.number}"
            )
        results, lines = [], []
        for number, value in every:
            if self.number in (0, number):
                spec, witness, settings, chat = witness_of(value)
                is_shown, replies = replay(spec, witness, settings, chat)
                reward = replies[0].reward if replies[0].reward is not None else replies[0].fault
                results.append({"number": number, "shows": is_shown, "reply": replies[0]._asdict()})
                state = "shows" if is_shown else "is mended"
                lines.append(f"{number}. {witness.kind} {state}: {reward}")
                lines.append(f"   {quoted(witness.pairs[0][1])}")
        emit({"witnesses": results}, *lines)
        return NOT_DONE if any(each["shows"] for each in results) else DONE


class Rows(NamedColumns):
    """Audit the rows that rewards judge: weak tests (a wrong program passes), golds that contradict
    their response or their prompt, prompts that state the answer, duplicates, equal prompts with
    different golds, text of benchmarks, and flat difficulty (a column pass_rate). Programs of the
    rows run only in the sandbox.

    answer     column of the golds (default: the usual names)
    language   language of the programs in all rows (default: each row's `language`)
    against    benchmarks to compare with: files of rows
    tested     coding rows whose tests are searched for surviving mutants
    out        file of the findings, one row per finding: .csv, .jsonl or .json
    overwrite  replace this file if it exists
    listed     number of rows printed per check

    Example: infinite-rl audit rows rows.jsonl --against gsm8k_test.jsonl.

    Exit code: 0 no findings, 1 findings, or coding rows without a language, 2 wrong usage.
    """

    repeated: ClassVar[Sequence[str]] = ("against",)
    aliases: ClassVar[Mapping[str, str]] = {"out": "-o"}

    language: str = ""
    against: Strings = ()
    tested: int = ranged(20, 0)
    out: FilePath | None = None
    overwrite: bool = False
    listed: int = ranged(5, 1)

    def run(self, emit: Emit) -> int:
        from ..audit.data import audit_data, page
        from ..dataset.rows import kind_of, read_some, with_names, write
        from ..reward_functions import REWARDS
        from ..sandbox.runtimes import runtime_named

        if self.out:
            kind_of(self.out)
        refuse_existing([self.out], [self.source], overwrite=self.overwrite)
        named = {Path(each).stem: each for each in self.against}
        names = {"prompt": self.prompt, "response": self.completion}
        rows = with_names(read_some(self.source), names, self.type)
        if self.language:
            runtime_named(self.language)
        if self.type:
            look_up("reward", self.type, REWARDS)
        report = audit_data(rows, self.answer, named, self.tested, language=self.language)
        if self.out:
            write([each._asdict() for each in report.findings], self.out)
        lines = [plain(line) for line in page(report, self.listed)]
        lines += [f"in {self.out}"] * bool(self.out)
        findings = [each._asdict() for each in report.findings]
        values = {
            "rows": report.rows,
            "checked": report.checked,
            "untested": report.untested,
            "unnamed": report.unnamed,
            "foreign": report.foreign,
            "findings": findings,
        }
        emit(values, *lines)
        return NOT_DONE if findings or report.unnamed else DONE


_CACHES = ("HOME", "XDG_CACHE_HOME")  # they lead to the compiled sandboxes
OURS = "infinite_rl.audit.ours:compute_reward"
_DROP_IN = """\
This package's reward on the same rows is the last line of the table. As a drop-in:

    from infinite_rl.audit.ours import compute_reward  # (completion, answer) -> float

For trainers: infinite_rl.adapters.for_trl, infinite_rl.adapters.verl (docs/adapters.md)."""
