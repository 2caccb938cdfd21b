"""The journal beside the data set: every call and its completion, stored before any judgement.

Each event is a line of JSON, appended whole. A call is `asked` before the request, and afterwards
`answered`, `empty` (billed, but without text) or `failed` (it may be repeated). A call of a batch
is `sent`, and a line of the kind `batch` names the batch. So a killed run knows what it has paid
for. An `asked` call without a second line was in flight when the process died: it may have been
billed, so its slot is never used again.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from ..errors import DiskFull, NoCompletion, ProviderError, ProviderUnavailable, UsageError
from ..files.logs import AppendOnlyFile, damaged, whole_lines
from ..providers.models import Price, cost
from ..store import JOURNAL
from ..types import Completion, Slot, Usage
from .budget import Spending

FREE = Price(0.0, 0.0)
_RESERVE = ".reserve"  # deleted if the disk is full, to store the completions in flight
_RESERVED_BYTES = 16 * 2**20
_ASKING = ("asked", "sent")  # written before the request
# The fields of each kind of line, besides its slot.
_FIELDS = {
    "asked": ("task", "seed", "prompt"),
    "sent": ("task", "seed", "prompt", "batch", "role"),
    "batch": ("name",),
    "answered": ("model", "finish_reason", "text", "reasoning"),
    "empty": ("why",),
}
# The fixed prefix of a line, so that a long journal is scanned without parsing its texts.
_PREFIX = re.compile(
    rb'\{"slot": ("(?:[^"\\\x80-\xff]|\\.)+"), "kind": "(asked|answered|empty|failed|sent|batch)"'
    rb'(?:, "cost": ([0-9.e+-]+|null), "tokens": \[(\d+), (\d+), (\d+), (\d+)\]'
    rb'|(?<!"answered")(?<!"empty"))'
)


@dataclass(frozen=True)
class Call:
    """One request to a provider, and the slot of its completion.

    `labels` say what was asked for, and are stored with the completion.
    """

    slot: Slot
    task: str
    system: str
    prompt: str
    seed: int
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


def slot_seed(run_seed: int, slot: Slot) -> int:
    """Derive the seed of one call, in [0, 2**31), from the seed of the run and the slot."""
    digest = hashlib.sha256(f"{run_seed}/{slot}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def free_slots(slot: Slot, lost: Collection[str], by: str = "number") -> Iterator[Slot]:
    """Yield a slot and those after it, by one of its numbers; lost calls may have been billed."""
    slots = (replace(slot, **{by: number}) for number in itertools.count(getattr(slot, by)))
    return (each for each in slots if str(each) not in lost)


class BatchNotReady(Exception):
    """The completion belongs to a batch that has not ended."""


@dataclass(frozen=True)
class Source:
    """A provider for calls; `price` is None if it is unknown.

    `name` is the class of the provider, `role` "writer" or "solver". With `defer` no call is made
    now, as for a batch: what it returns is raised instead.
    """

    ask: Callable[[str, str, int], Completion]
    price: Price | None = None
    model: str = ""
    name: str = ""
    role: str = ""
    defer: Callable[[Call], Exception] | None = None

    def cost(self, usage: Usage) -> float | None:
        """Return the dollars of one call, at the batch price if it is in a batch."""
        return None if self.price is None else cost(usage, self.price, batch=bool(self.defer))

    def cost_of(self, completion: Completion) -> float | None:
        """Return the reported dollars, else those of the tokens; None without token counts."""
        usage = completion.usage
        if completion.cost is not None:
            return completion.cost
        if self.price == FREE:
            return 0.0
        return self.cost(usage) if usage.output_tokens or usage.thinking_tokens else None


@dataclass
class Batch:
    """A batch of calls: their role, its name if known, and the slots without a completion."""

    role: str
    name: str = ""
    slots: set[str] = field(default_factory=set)


class _BatchIndex:
    """The batches of a journal, updated line by line."""

    def __init__(self) -> None:
        self.batches: dict[str, Batch] = {}  # by label
        self._open: dict[str, Batch] = {}  # by slot without a completion
        self.labels: dict[str, Mapping[str, str]] = {}  # of the calls of these slots

    def add(self, line: Mapping[str, Any]) -> None:
        """Update with one more line."""
        slot, kind = line["slot"], line["kind"]
        if kind == "sent":
            self._open[slot] = self.batches.setdefault(line["batch"], Batch(line["role"]))
            self._open[slot].slots.add(slot)
            if labels := line.get("labels"):
                self.labels[slot] = labels
        elif kind == "batch":
            self.batches.setdefault(slot, Batch("")).name = line["name"]
        elif kind != "asked":
            self.settle(slot)

    def settle(self, slot: str) -> None:
        """Mark a slot as answered or failed."""
        self.labels.pop(slot, None)
        if batch := self._open.pop(slot, None):
            batch.slots.discard(slot)


class Journal(AppendOnlyFile):
    """The journal of one folder. `complete` may be called from any thread.

    `lost` holds the slots whose calls were in flight when an earlier run died, `batches` the
    batches by label, and `failures` the number of failed calls by slot. `spending` counts every
    completion in the file, including those of earlier runs.

    Raises:
        StoreError: the file is not writable, or not a journal.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / JOURNAL)
        self.lost: set[str] = set()
        self.failures: Counter[str] = Counter()
        self.spending = Spending()
        self._index = _BatchIndex()
        self.batches = self._index.batches
        self._offsets: dict[str, int] = {}  # of the lines with completions, by slot
        self._new: set[str] = set()  # slots answered by this run
        self._lock = threading.Lock()
        self._full = False
        self._reserve = folder / _RESERVE
        with ExitStack() as refused:
            refused.callback(self._file.close)
            self._scan()
            refused.pop_all()
        try:
            with self._reserve.open("wb") as file:
                _allocate(file, _RESERVED_BYTES)
        except OSError:  # the disk is nearly full: there is nothing to reserve
            self._free_reserve()

    @property
    def under_way(self) -> bool:
        """Whether a batch has slots without a completion."""
        return any(batch.slots for batch in self.batches.values())

    def answered_now(self, slot: Slot) -> bool:
        """Whether this run has paid for the completion of the slot."""
        return str(slot) in self._new

    def __contains__(self, slot: str) -> bool:
        """Whether the slot has a completion."""
        return slot in self._offsets

    def position(self, slot: str) -> int:
        """Where the completion of a slot is: later ones are further on; -1 if there is none."""
        return self._offsets.get(slot, -1)

    @property
    def answered(self) -> int:
        """The number of calls answered in this run."""
        return len(self._new)

    def answer(self, slot: Slot) -> Completion | None:
        """Return the completion of a slot, if any; raises NoCompletion if it had no text."""
        offset = self._offsets.get(str(slot))
        if offset is None:
            return None
        with self.path.open("rb") as file:
            file.seek(offset)
            line = file.readline()
        result = _result(_parsed(self.path, offset + len(line), line))
        if isinstance(result, NoCompletion):
            raise result
        return result

    def labels(self, slot: Slot) -> Mapping[str, str]:
        """Return the labels that are stored with the completion of a slot; {} if it has none."""
        try:
            completion = self.answer(slot)
        except NoCompletion:
            return {}
        return completion.labels if completion else {}

    def complete(self, call: Call, source: Source) -> Completion:
        """Return the completion in the journal, else request and store it.

        Raises:
            ProviderError: the request failed; NoCompletion also if the journal says so.
            StoreError: the journal is not writable; nothing was requested, or its result is stored.
            BatchNotReady, or what else `source` defers by: there is no completion yet.
        """
        if completion := self.answer(call.slot):
            return completion
        if source.defer:
            raise source.defer(call)
        name = str(call.slot)
        self._append(name, "asked", task=call.task, seed=call.seed, prompt=call.prompt)
        try:
            completion = source.ask(call.system, call.prompt, call.seed)
        except NoCompletion as error:
            self._store(name, "empty", error.usage, source.cost(error.usage), why=str(error))
            raise
        except ProviderError as error:
            self._append(name, "failed", why=str(error))
            raise
        return self.keep(call.slot, completion, source, call.labels)

    def send_up(self, label: str, role: str, calls: Sequence[Call]) -> None:
        """Record calls before the upload of their batch."""
        for call in calls:
            labels = {"labels": dict(call.labels)} if call.labels else {}
            self._append(
                str(call.slot), "sent", batch=label, role=role,
                task=call.task, seed=call.seed, prompt=call.prompt, **labels,
            )  # fmt: skip
        self.sync()

    def name_batch(self, label: str, name: str) -> None:
        """Record the service's name for a batch."""
        self._append(label, "batch", name=name)
        self.sync()

    def settle(self, name: str, result: Completion | ProviderError, source: Source) -> None:
        """Record the result of a slot; only a temporary failure allows another call."""
        if isinstance(result, Completion):
            self.keep(Slot.parse(name), result, source, self._index.labels.get(name, {}))
        elif isinstance(result, ProviderUnavailable):
            self._append(name, "failed", why=str(result))
            self.failures[name] += 1
        else:
            usage = result.usage if isinstance(result, NoCompletion) else Usage()
            self._store(name, "empty", usage, source.cost(usage), why=str(result))

    def keep(
        self, slot: Slot, completion: Completion, source: Source, labels: Mapping[str, str]
    ) -> Completion:
        """Store a completion with its cost, and with the labels of its call."""
        labels = {**labels, **completion.labels}
        completion = replace(completion, cost=source.cost_of(completion), labels=labels)
        self._store(
            str(slot),
            "answered",
            completion.usage,
            completion.cost,
            model=completion.model,
            finish_reason=completion.finish_reason,
            text=completion.text,
            reasoning=completion.reasoning,
            **({"labels": labels} if labels else {}),
        )
        return completion

    def close(self) -> None:
        """Close the file and free its reserved disk space."""
        super().close()
        self._free_reserve()

    def _store(
        self, name: str, kind: str, usage: Usage, dollars: float | None, **more: object
    ) -> None:
        tokens = [usage.input_tokens, usage.cached_tokens]
        tokens += [usage.thinking_tokens, usage.output_tokens]
        offset = self._append(name, kind, cost=dollars, tokens=tokens, **more)
        with self._lock:
            self._offsets[name] = offset
            self._new.add(name)
            self.spending.add(usage, dollars)

    def _append(self, slot: str, kind: str, **more: object) -> int:
        """Append one whole line and return its offset."""
        line = {"slot": slot, "kind": kind, **more}
        record = json.dumps(line).encode("ascii") + b"\n"
        with self._lock:
            if self._full and kind in _ASKING:
                raise DiskFull(f"cannot write {self.path}: {os.strerror(errno.ENOSPC)}")
            try:
                offset = self._write(record)
            except DiskFull:
                if kind in _ASKING:
                    raise
                self._free_reserve()
                self._full = True  # no more requests: the space is for completions in flight
                offset = self._write(record)
            self._index.add(line)
        return offset

    def _free_reserve(self) -> None:
        self._reserve.unlink(missing_ok=True)

    def _scan(self) -> None:
        end = prompt = cached = thinking = output = 0
        for end, line, prefix in _lines(self.path):
            quoted, kind = prefix.group(1, 2)
            if kind in (b"sent", b"batch"):
                self._index.add(_parsed(self.path, end, line))
                continue
            name = str(json.loads(quoted)) if b"\\" in quoted else quoted[1:-1].decode("ascii")
            if kind == b"asked":
                self.lost.add(name)
                continue
            self.lost.discard(name)
            self._index.settle(name)
            if kind == b"failed":
                self.failures[name] += 1
                continue
            self._offsets[name] = end - len(line)
            prompt += int(prefix[4])
            cached += int(prefix[5])
            thinking += int(prefix[6])
            output += int(prefix[7])
            self.spending.count(None if prefix[3] == b"null" else float(prefix[3]))
        if end < self.path.stat().st_size:
            self._file.truncate(end)
        self.spending.usage = Usage(prompt, output, cached, thinking)


def _allocate(file: IO[bytes], size: int) -> None:
    """Reserve disk space."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # macOS
        file.write(bytes(size))


def _lines(path: Path) -> Iterator[tuple[int, bytes, re.Match[bytes]]]:
    """Yield the end offset, the bytes and the matched prefix of each whole line.

    A torn last line is left out: its call counts as in flight.
    """
    for end, line in whole_lines(path):
        prefix = _PREFIX.match(line)
        if prefix is None:
            raise damaged(path, end, "the line has no prefix of a journal")
        yield end, line, prefix


def _parsed(path: Path, end: int, line: bytes) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise damaged(path, end, str(error)) from None
    missing = [name for name in _FIELDS.get(str(record.get("kind")), ()) if name not in record]
    if missing:
        raise damaged(path, end, f"a call without {', '.join(missing)}")
    return record


def _usage(tokens: Sequence[int]) -> Usage:
    prompt, cached, thinking, output = tokens
    return Usage(prompt, output, cached, thinking)


def _result(line: Mapping[str, Any]) -> Completion | NoCompletion:
    usage = _usage(line["tokens"])
    if line["kind"] == "empty":
        return NoCompletion(line["why"], usage=usage)
    return Completion(
        line["text"], line["model"], line["finish_reason"], usage, line["cost"],
        line["reasoning"], line.get("labels", {}),
    )  # fmt: skip


def calls(folder: Path) -> Iterator[Call]:
    """Yield every call of a folder's journal, in order, with "" as system prompt.

    Raises as `answers`.
    """
    for line in _read(folder):
        if line["kind"] in _ASKING:
            slot = Slot.parse(line["slot"])
            yield Call(slot, line["task"], "", line["prompt"], line["seed"])


def batches(folder: Path) -> list[Batch]:
    """Return every batch of a folder. Raises as `answers`."""
    index = _BatchIndex()
    for line in _read(folder):
        index.add(line)
    return list(index.batches.values())


def answers(folder: Path) -> Iterator[tuple[Slot, Completion | NoCompletion]]:
    """Yield every result of a folder's journal, in order of arrival.

    Raises:
        UsageError: the folder has no journal.
        StoreError: the journal is damaged.
    """
    for line in _read(folder):
        if line["kind"] in ("answered", "empty"):
            yield Slot.parse(line["slot"]), _result(line)


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / JOURNAL
    if not path.is_file():
        raise UsageError(f"there is no {path}")
    for end, line, _ in _lines(path):
        yield _parsed(path, end, line)
