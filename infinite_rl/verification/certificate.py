"""The check of a data set's certificates, offline: each row is judged again as it was."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..certificates import (
    CERTIFICATES,
    HASHED,
    WITHOUT_COLUMN,
    CertificateIndex,
    changed_field,
    digest_of_all,
    text_hash,
    versions,
)
from ..manifest import MANIFEST, read_manifest
from ..reward_functions.reward_function import RewardFunction, judge_of
from ..store import sample_of
from ..tasks import TASKS
from ..types import RewardFunctionScore, Sample, TaskType
from ..workers.pool import default_count, in_threads
from . import derivation
from .self_test import empty_response, self_test

_BATCH = 256  # rows that are held and judged at a time
_VERSIONS = ("reward_version", "runtime_sha256", "wasmtime")
_SCORES = ("format_score", "correctness_score", "aux_score", "quality_score")


class ReprovedRow(NamedTuple):
    """One row: its number, from 1, its sample, and its fault ("" if it holds).

    `changes` lists versions that differ between now and when the row was made, for a row that is
    judged all the same. `replayed` says whether the row was judged again.
    """

    number: int
    sample: Sample
    fault: str
    changes: str = ""
    replayed: bool = True


class _Row(NamedTuple):
    number: int
    sample: Sample
    columns: Mapping[str, str]
    certificate: Mapping[str, Any] | None


def reprove(
    rows: Iterable[Mapping[str, str]],
    rewards: Mapping[str, RewardFunction],
    tasks: Mapping[str, TaskType] = TASKS,
    certificates: CertificateIndex | None = None,
    *,
    replay: Callable[[int], bool] = lambda _: True,
    any_version: bool = False,
) -> Iterator[ReprovedRow]:
    """Verify the rows of a data set again, and yield each in order.

    With `certificates`, each row must be that of its certificate, column by column, and the
    certificate as it was signed. Rows whose numbers are chosen by `replay` are judged again: such
    a row holds if its id is the hash of its content, its response passes with the recorded scores,
    an empty response does not pass, and its verifier still rejects wrong answers (without a
    certificate: if a verifier recall is recorded), as many as recorded in mathematics; a program
    must take the recorded fuel. A response that does not pass is judged a second time on its own,
    since the machine may have been busy.

    A row that another version of the reward, of the runtime or of its engine judged cannot be
    replayed: that is a fault. With `any_version`, and without certificates, it is judged all the
    same, and `changes` names the versions.

    `rewards` judge in batches, on as many processor cores as they use. At most 256 rows are held.

    Raises:
        RuntimeMissing, SandboxError: nothing can be judged.
        StoreError: the certificates are damaged.
    """
    kinds = {(task.reward, task.language): task for task in tasks.values()}
    for name in rewards:  # a type that no task has is a reward's name
        kinds.setdefault((name, ""), TaskType(name, name, name, "", ""))
    judges = {
        kind: {**judge_of(task, rewards[task.reward]), **(versions() if task.language else {})}
        for kind, task in kinds.items()
        if task.reward in rewards
    }
    remaining = enumerate(rows, start=1)
    while batch := list(islice(remaining, _BATCH)):
        read, faults, changed = list[_Row](), dict[int, str](), dict[int, str]()
        for number, columns in batch:
            record = certificates.take(columns["id"]) if certificates else None
            row = _Row(number, sample_of(columns), columns, record)
            changes = _changes(row, judges.get((row.sample.type, row.sample.language), {}))
            if certificates is not None and (forgery := _forgery(row)):
                faults[number] = forgery
            elif changes and certificates is not None and not any_version:
                faults[number] = f"it cannot be replayed here: its {changes}"
            else:
                changed[number] = changes
            read.append(row)
        chosen = [row for row in read if row.number not in faults and replay(row.number)]
        faults |= _faults(chosen, kinds, rewards)
        replayed = {row.number for row in chosen}
        for row in read:
            change, number = changed.get(row.number, ""), row.number
            yield ReprovedRow(
                number, row.sample, faults.get(number, ""), change, number in replayed
            )


def _forgery(row: _Row) -> str:
    """Say in which field a row and its certificate differ, or the certificate was changed."""
    record, columns = row.certificate, row.columns
    if record is None:
        changed = columns["id"] != row.sample.id
        return "its id is not the hash of its content" if changed else "it has no certificate"
    for name in HASHED:
        if text_hash(columns[name]) != record.get(f"{name}_sha256"):
            return f"its {name} is not that of its certificate ({name}_sha256)"
    for name in columns:
        if name not in HASHED and columns[name] != record.get(name, ""):
            return f"its {name} is {columns[name]!r}, and its certificate has {record.get(name)!r}"
    expected = {*columns, *WITHOUT_COLUMN, *versions(), *(f"{each}_sha256" for each in HASHED)}
    if strange := sorted(record.keys() - expected - {"checks", "digest"}):
        return f"its certificate has a field of its own, {strange[0]!r}"
    if lacking := sorted({*WITHOUT_COLUMN, *versions(), "checks", "digest"} - record.keys()):
        return f"its certificate lacks the field {lacking[0]!r}"
    field = changed_field(record)
    return f"its certificate was changed in the field {field!r}" if field else ""


class Faults(NamedTuple):
    """What is wrong with the certificates of a folder as a whole, and what is only said of them."""

    faults: tuple[str, ...] = ()
    note: str = ""


def check_manifest(folder: Path) -> Faults:
    """Compare the certificates of a folder with the digest in its manifest.

    Raises:
        StoreError: the manifest is malformed.
    """
    recorded = read_manifest(folder).get("certificates")
    if not isinstance(recorded, dict):
        return Faults(note=f"{MANIFEST} has no digest of the certificates")
    size = recorded.get("bytes")
    same = digest_of_all(folder, size if isinstance(size, int) else 0)
    if any(recorded.get(name) != value for name, value in same.items()):
        return Faults((f"{CERTIFICATES} is not the file whose digest is in {MANIFEST}",))
    more = digest_of_all(folder)["count"] - same["count"]
    if more and recorded.get("open"):
        return Faults(note=f"certificates of a run that did not end: {more}; {MANIFEST} has no "
                      "digest of these")  # fmt: skip
    if more:
        return Faults((f"{CERTIFICATES} has {more} more than {MANIFEST} says",))
    return Faults()


def _changes(row: _Row, judge: Mapping[str, Any]) -> str:
    recorded = row.columns if row.certificate is None else row.certificate
    pairs = [(name, recorded.get(name), judge.get(name)) for name in _VERSIONS]
    return "; ".join(
        f"{name} was {then}, is {now}" for name, then, now in pairs if then and now and then != now
    )


def _faults(
    rows: Sequence[_Row],
    kinds: Mapping[tuple[str, str], TaskType],
    rewards: Mapping[str, RewardFunction],
) -> dict[int, str]:
    """The fault of each row, by its number."""
    faults: dict[int, str] = {}
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        task = kinds.get((row.sample.type, row.sample.language))
        if row.columns.get("id") != row.sample.id:
            faults[row.number] = f"its id is not the hash of its content, {row.sample.id}"
        elif task is None or task.reward not in rewards:
            kind = " ".join(filter(None, (row.sample.type, row.sample.language)))
            own = f"--rewards {row.sample.type}=FILE.py:CLASS gives one of your own"
            faults[row.number] = f"no reward judges rows of the type {kind!r}: {own}"
        elif row.certificate is not None and (fault := _misjudged(row, task, rewards)):
            faults[row.number] = fault
        else:
            groups.setdefault(task.reward, []).append(row)
    for name, group in groups.items():
        pairs = [(row.sample, row.sample.response) for row in group]
        pairs += [(row.sample, empty_response(row.sample.language)) for row in group]
        scores, reward = rewards[name].score_many(pairs), rewards[name]
        judged = zip(group, scores, scores[len(group) :], strict=False)
        texts = in_threads(lambda each: _fault(*each, reward), judged, default_count())  # noqa: B023
        faults |= {row.number: text for row, text in zip(group, texts, strict=True)}
    return faults


def _misjudged(row: _Row, task: TaskType, rewards: Mapping[str, RewardFunction]) -> str:
    """Say which field of a certificate names another judge than a row's own."""
    assert row.certificate is not None
    own = {"status": "passed", **judge_of(task, rewards[task.reward])}
    for name in ("status", "reward", "runtime"):
        if own.get(name, "") != row.certificate.get(name, ""):
            return f"its {name} is {row.certificate.get(name)!r}, and {own.get(name)!r} judges it"
    return ""


def _fault(
    row: _Row, score: RewardFunctionScore, empty: RewardFunctionScore, reward: RewardFunction
) -> str:
    sample = row.sample
    if not score.passed:
        score = reward.score(sample, sample.response)
    if not score.passed:
        return f"its response does not pass: {score.error_msg}"
    if empty.passed:
        return "its reference accepts an empty solution"
    for name in _SCORES:
        expected = row.columns.get(name, "")
        if expected and not _is_close(expected, getattr(score, name)):
            return f"its {name} is {getattr(score, name)!r}, and {expected!r} is recorded"
    if row.certificate is None:
        return self_test(sample, reward).fault if row.columns.get("verifier_recall") else ""
    result = self_test(sample, reward)
    if result.fault:
        return result.fault
    # Whether a mutant of a program meets a time limit depends on the machine.
    exact = () if sample.language else (*result.columns(), "self_test")
    now: Mapping[str, Any] = {**result.columns(), "self_test": result.record()}
    for name in (*exact, "fuel"):
        if now[name] != (then := row.certificate.get(name, "")):
            return f"its {name} is {now[name]!r}, and {then!r} is recorded"
    derived = row.certificate.get("derived_by") or row.certificate.get("derivation")
    return derivation.replay(sample, row.certificate, reward) if derived else ""


def _is_close(expected: str, value: float) -> bool:
    """Whether a recorded score equals this one up to rounding, which differs between libraries."""
    try:
        return math.isclose(float(expected), value, abs_tol=1e-9)
    except ValueError:
        return False
