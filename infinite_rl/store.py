"""The output folder: append-only CSV files that are read back exactly and never overwritten.

`dataset.csv` has the rows, `certificates.jsonl` what is known of their truth,
`failed_dataset.csv` what was rejected. A row is appended whole and flushed at once, so a killed run
loses nothing but a row that was being written. Such a torn last row is moved aside when the folder
is opened, and is missing again; a certificate without its row is removed.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from .certificates import CERTIFICATES, CertificateLog, certificate
from .errors import NoColumn, StoreError, UsageError
from .files.atomic import locked
from .files.json_text import json_text, plain_text
from .files.logs import ENCODING, ERRORS, CsvLog, damaged, read_rows
from .types import REASONS, Attempt, Outcome, Reason, RewardFunctionScore, Sample, Slot

DATASET, FAILED = "dataset.csv", "failed_dataset.csv"
SHARDS = "shards"  # a folder of such folders, which a cluster fills
JOURNAL = "journal.jsonl"  # of calls and completions: see `inference.journal`
SOLUTIONS = "solutions.jsonl"  # of solvers: see `generation.solutions`
BATCH = "batch.json"  # the config of a run in batches, which --resume reads
CERTIFICATE_COLUMNS = (
    *("status", "reward", "reward_version", "limits", "runtime", "runtime_sha256"),
    *("verifier_recall", "mutants", "agreement", "solve_rate", "majority_answer"),
    *("verified_by", "repairs", "inputs_compared", "fuel", "derived_by"),
)
# What was asked for. `family` is that of a procedural task, or the name of a task type in YAML,
# `axes` the JSON of further axes, `idea` what the draft writes out, `parent` the ids of the tasks
# that it was made from.
LABEL_COLUMNS = ("family", "level", "concept", "form", "axes", "idea", "parent")
# Of the learner's attempts, and its judge's marks as JSON; "" if there are none.
MEASURED_COLUMNS = ("attempts", "solved", "pass_rate", "pass_rate_low", "pass_rate_high", "judge")
DATASET_COLUMNS = (
    *("type", "prompt", "answer", "response", "quality_score"),
    *("format_score", "correctness_score", "aux_score", "language", "id", "model", "seed", "slot"),
    *("cost", *CERTIFICATE_COLUMNS, *LABEL_COLUMNS, *MEASURED_COLUMNS),
)
FAILED_COLUMNS = (
    *("type", "prompt", "answer", "response", "format_score", "correctness_score"),
    *("error_msg", "raw_text", "rectified", "slot", "reason", "model", "cost"),
    *("level", "concept", "idea", "attempts", "solved", "id", "parent"),
)
# The columns that files of an earlier version may lack, and the name that one had there.
_PLANNED = ("slot", "level", "concept", "idea", "attempts", "solved", "parent")
DATASET_LATER = dict.fromkeys((*CERTIFICATE_COLUMNS[-5:], *LABEL_COLUMNS, *MEASURED_COLUMNS), "")
DATASET_LATER |= {"verifier_recall": "mutation_score"}
FAILED_LATER = dict.fromkeys(("reason", "model", "cost", *_PLANNED[1:], "id"), "")
# The CSV files of a run: their columns, and those that an earlier version's may lack.
RUN_FILES = ((DATASET_COLUMNS, DATASET_LATER), (FAILED_COLUMNS, FAILED_LATER))
_SAMPLE_COLUMNS = ("type", "prompt", "answer", "response", "language")
_REQUIRED = _SAMPLE_COLUMNS[:3]
# The columns that are read back of a row and of a rejection.
_ROW_COLUMNS = (*_SAMPLE_COLUMNS, "id", *_PLANNED)
_REJECTION_COLUMNS = ("format_score", "correctness_score", "error_msg", *_PLANNED)
_EXCERPT, _RECENT = 300, 3  # characters and number of the earlier prompts in a request


def answer_of(value: object) -> str | None:
    """Return an answer as text: other values as JSON (7, true, {"tests": []}); None for nothing.

    A date is ISO 8601, and a Decimal its digits.

    NaN, the missing value of tables, is nothing. Raises UsageError if JSON cannot hold the value.
    """
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return value
    try:
        return plain_text(value) or json_text(value)
    except TypeError as error:
        raise UsageError(f"an answer cannot be written as JSON: {error}") from None


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Return a row as a sample; its other columns are the metadata.

    An answer may be any JSON value (see `answer_of`).

    Raises:
        UsageError: a required column is missing, or is no text.
    """
    texts: dict[str, str] = {}
    for name in _SAMPLE_COLUMNS:
        text = answer_of(row.get(name)) if name == "answer" else row.get(name)
        if text is None and name in ("response", "language"):
            text = ""
        if not isinstance(text, str):
            if text is None:
                missing = [each for each in _REQUIRED if answer_of(row.get(each)) is None]
                raise NoColumn(missing, [each for each in row if row[each] is not None])
            hint = ""
            if isinstance(text, list) and text and isinstance(text[0], Mapping):
                hint = ": these are messages, as in an export; give the rows that were exported"
            raise UsageError(f"the column {name!r} holds {type(text).__name__}, not text{hint}")
        texts[name] = text
    more = {name: value for name, value in row.items() if name not in _SAMPLE_COLUMNS}
    return Sample(**texts, metadata=more)


def slot_of_row(row: Mapping[str, str]) -> tuple[str, int]:
    """Return the family and the index of a row's slot, in a quarter of the time of `Slot.parse`.

    Raises ValueError if the slot is malformed.
    """
    family, index, _, _ = row["slot"].rsplit("/", 3)
    return family, int(index)


def failures(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the rejected rows of a run's folder, and of its shards. Raises StoreError."""
    for path in (folder / FAILED, *sorted(folder.glob(f"{SHARDS}/*/{FAILED}"))):
        if path.is_file():
            yield from read_rows(path, FAILED_COLUMNS, FAILED_LATER)


def dataset_row(outcome: Outcome) -> dict[str, str]:
    """Return an accepted outcome as a row of `dataset.csv`."""
    completion, attempt = outcome.completion, outcome.attempt
    labels = completion.labels if completion else {}
    certificate = outcome.certificate
    scores = ("quality_score", "format_score", "correctness_score", "aux_score")
    return {
        **{name: getattr(outcome.sample, name) for name in (*_SAMPLE_COLUMNS, "id")},
        **{name: repr(getattr(outcome.score, name)) for name in scores},
        "model": completion.model if completion else "",
        "seed": str(attempt.seed),
        "slot": str(attempt.slot),
        "cost": _cost(outcome),
        **{name: certificate.get(name, "") for name in (*CERTIFICATE_COLUMNS, *MEASURED_COLUMNS)},
        **{column: labels.get(column, "") for column in LABEL_COLUMNS},
    }


def failed_row(outcome: Outcome) -> dict[str, str]:
    """Return a rejected outcome as a row of `failed_dataset.csv`."""
    sample, score, completion = outcome.sample, outcome.score, outcome.completion
    labels = completion.labels if completion else {}
    return {
        **{name: getattr(sample, name) for name in ("type", "prompt", "answer", "response")},
        "format_score": repr(score.format_score),
        "correctness_score": repr(score.correctness_score),
        "error_msg": ": ".join(filter(None, (outcome.reason, score.error_msg))),
        "raw_text": completion.text if completion else "",
        "rectified": str(outcome.attempt.slot.repair > 0),
        "slot": str(outcome.attempt.slot),
        "reason": outcome.reason,
        "model": completion.model if completion else "",
        "cost": _cost(outcome),
        **{name: labels.get(name, "") for name in ("level", "concept", "idea", "parent")},
        "id": sample.id if sample.prompt else "",
        **{name: outcome.certificate.get(name, "") for name in ("attempts", "solved")},
    }


def _cost(outcome: Outcome) -> str:
    cost = outcome.completion.cost if outcome.completion else None
    return "" if cost is None else repr(cost)


def _key(prompt: str) -> int:
    """Return a hash of a prompt, equal for prompts that differ only in case and white space."""
    return hash(" ".join(prompt.casefold().split()))


@dataclass(frozen=True)
class Rejection:
    """A rejected outcome without its texts: enough to plan the next attempt."""

    reason: Reason
    score: RewardFunctionScore
    measured: Mapping[str, str] = field(default_factory=dict)  # the attempts at it

    def outcome(self, attempt: Attempt) -> Outcome:
        """Return the outcome that was written, with an empty sample."""
        task = attempt.task
        return Outcome(
            attempt, Sample(task.reward, "", "", "", task.language), self.score,
            reason=self.reason, certificate=self.measured,
        )  # fmt: skip


class RepeatCheck(Protocol):
    """Decides whether a sample is new beside all rows; called from many threads."""

    def repeat_of(self, sample: Sample) -> str:
        """Say which row the sample repeats, and in what; "" if it is new."""

    def add(self, sample: Sample, row_id: str) -> None:
        """Remember a row."""


class _Table(CsvLog):
    """A CSV file; the journal has the completions of its rows."""

    recovery_hint = "nothing was lost"


class Store:
    """One output folder, opened by one run at a time; only one thread may write to it.

    `counts` has the rows per family and `filled` the indices of their slots, whatever the seed of
    the run; `rejected` has the rejections of other slots. `labels` has the `_PLANNED` columns of
    the rows and rejections that were in the folder, if they say anything. A `gate` keeps out
    samples that repeat a row; without one, only those with the same prompt are kept out.

    Raises:
        StoreError: the folder is not writable, in use, or has a foreign or damaged file.
    """

    def __init__(self, out_dir: Path, gate: RepeatCheck | None = None) -> None:
        self.out_dir, self._gate = out_dir, gate
        self.labels: list[dict[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.filled: defaultdict[str, set[int]] = defaultdict(set)
        self.rejected: dict[str, Rejection] = {}
        self._keys: set[int] = set()
        self._newest: defaultdict[tuple[str, str], deque[str]] = defaultdict(
            lambda: deque(maxlen=_RECENT)
        )
        with ExitStack() as opened:  # closed if a file is refused
            opened.enter_context(locked(out_dir))
            self._accepted = _Table(out_dir / DATASET, DATASET_COLUMNS, DATASET_LATER)
            opened.callback(self._accepted.close)
            last = ""
            for fields in self._accepted.recover(*_ROW_COLUMNS):
                self._remember(row := dict(zip(_ROW_COLUMNS, fields, strict=True)))
                self._remember_labels(row)
                last = row["id"]
            self._certificates = CertificateLog(out_dir / CERTIFICATES)
            opened.callback(self._certificates.close)
            self._certificates.drop_unused(last, self._ids)
            self._failed = _Table(out_dir / FAILED, FAILED_COLUMNS, FAILED_LATER)
            opened.callback(self._failed.close)
            for fields in self._failed.recover(*_REJECTION_COLUMNS):
                self._remember_rejected(row := dict(zip(_REJECTION_COLUMNS, fields, strict=True)))
                self._remember_labels(row)
            self._opened = opened.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with self._opened:
            self.sync()

    def repeats(self, sample: Sample) -> tuple[Reason, str]:
        """Return why a sample is not new: "duplicate" or "repeat", with details; "" if it is.

        May be called from any thread. A duplicate has a row's prompt, up to case and white space.
        """
        if _key(sample.prompt) in self._keys:
            return "duplicate", "a row has this prompt"
        if self._gate and (why := self._gate.repeat_of(sample)):
            return "repeat", why
        return "", ""

    def append(self, outcome: Outcome) -> Outcome:
        """Append an outcome to the data set or to the failures, and return it.

        An accepted one that repeats a row is rejected.
        """
        if outcome.accepted:
            reason, why = self.repeats(outcome.sample)
            outcome = outcome.rejected(reason, why) if reason else outcome
        if outcome.accepted:
            row = dataset_row(outcome)
            self._accept(row, certificate(row, outcome.certificate))
        else:
            self._failed.append(failed_row(outcome))
        return outcome

    def take(self, row: Mapping[str, str], record: Mapping[str, Any] | None = None) -> None:
        """Append a row of another store once, or a failure if a row here has its prompt.

        `record` is its certificate, if it has one.

        Raises StoreError if the file is not writable, or the row is damaged.
        """
        try:
            slot = Slot.parse(row["slot"])
        except ValueError:
            raise StoreError(f"a row of a shard has an invalid slot: {row['slot']!r}") from None
        if slot.index in self.filled[slot.family] or row["slot"] in self.rejected:
            return
        reason, why = self.repeats(sample_of(row))
        if not reason:
            self._accept(row, record)
            return
        failed = {
            **row,
            "error_msg": f"{reason}: in another shard, {why}",
            "raw_text": "",
            "rectified": str(slot.repair > 0),
            "reason": reason,
        }
        self._failed.append(failed)
        self._remember_rejected(failed)

    def sync(self) -> None:
        """Force the files to the disk."""
        self._certificates.sync()
        self._accepted.sync()
        self._failed.sync()

    def newest(self, family: str, language: str) -> Sequence[str]:
        """Return the beginnings of the newest prompts of a kind, oldest first."""
        return list(self._newest[family, language])

    def write_debug(self, name: str, text: str) -> None:
        """Write one file into `debug_prompts/`."""
        folder = self.out_dir / "debug_prompts"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(text, encoding=ENCODING, errors=ERRORS)

    def _accept(self, row: Mapping[str, str], record: Mapping[str, Any] | None) -> None:
        start = None if record is None else self._certificates.append(record)
        try:
            self._accepted.append(row)
        except StoreError:
            if start is not None:
                self._certificates.cut(start)
            raise
        self._remember(row)

    def _ids(self) -> Iterator[str]:
        rows = read_rows(self.out_dir / DATASET, DATASET_COLUMNS, DATASET_LATER)
        return (row["id"] for row in rows)

    def _remember(self, row: Mapping[str, str]) -> None:
        prompt = row["prompt"]
        try:
            family, index = slot_of_row(row)
        except ValueError:
            raise damaged(self.out_dir / DATASET, None, f"the slot {row['slot']!r}") from None
        self.counts[family] += 1
        self._keys.add(_key(prompt))
        self._newest[family, row["language"]].append(prompt[:_EXCERPT])
        self.filled[family].add(index)
        if self._gate:
            answer, response, language = row["answer"], row["response"], row["language"]
            self._gate.add(Sample(row["type"], prompt, answer, response, language), row["id"])

    def _remember_labels(self, row: Mapping[str, str]) -> None:
        if row["idea"] or row["attempts"]:
            self.labels.append({name: row[name] for name in _PLANNED})

    def _remember_rejected(self, row: Mapping[str, str]) -> None:
        text, message = row["slot"], row["error_msg"]
        try:
            slot = Slot.parse(text)
            scores = float(row["format_score"]), float(row["correctness_score"])
        except ValueError:
            raise damaged(self.out_dir / FAILED, None, f"the slot {text!r}") from None
        if slot.index in self.filled[slot.family]:
            return  # its sample is done
        reason, _, error = message.partition(": ")
        if reason in REASONS:
            score = RewardFunctionScore(*scores, error)
            measured = {name: row[name] for name in ("attempts", "solved")}
            self.rejected[text] = Rejection(cast(Reason, reason), score, measured)
