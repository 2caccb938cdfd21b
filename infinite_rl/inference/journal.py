"""The journal beside the data set: every call with its answer, kept before anything is made of it.

One line a happening, in JSON, appended whole: a call is `asked` before it is sent, and afterwards
`answered`, `empty` (paid for, but without text) or `failed` (not answered: it may be asked again).
A call that goes up in a batch is `sent`, and a line of the kind `batch` names the batch itself.
So a run that was killed knows what it has bought. A call that was asked and has no such second line
was under way when the process died: it may have been paid for, so its slot is never used again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from ..errors import NoCompletion, ProviderError, ProviderUnavailable, UsageError
from ..files.append_only import AppendOnlyFile, DiskFull, damaged, whole_lines
from ..providers.prices import Price, cost
from ..store import JOURNAL
from ..types import Completion, Slot, Usage
from .budget import Spending

_RESERVE = ".reserve"  # given up where the disk is full, for the answers that are under way
_RESERVED_BYTES = 16 * 2**20
_ASKING = ("asked", "sent")  # the lines before which nothing is paid for
# What the lines of each kind hold, beside their slot.
_FIELDS = {
    "asked": ("task", "seed", "prompt"),
    "sent": ("task", "seed", "prompt", "batch", "role"),
    "batch": ("name",),
    "answered": ("model", "finish_reason", "text", "reasoning"),
    "empty": ("why",),
}
# Lines begin alike, so that a long journal can be looked through without reading its texts.
_BEGINNING = re.compile(
    rb'\{"slot": ("(?:[^"\\\x80-\xff]|\\.)+"), "kind": "(asked|answered|empty|failed|sent|batch)"'
    rb'(?:, "cost": ([0-9.e+-]+|null), "tokens": \[(\d+), (\d+), (\d+), (\d+)\]'
    rb'|(?<!"answered")(?<!"empty"))'
)


@dataclass(frozen=True)
class Call:
    """One question to a provider and the place where its answer belongs."""

    slot: Slot
    task: str
    system: str
    prompt: str
    seed: int


def slot_seed(run_seed: int, slot: Slot) -> int:
    """The seed of one call, from 0 to 2**31 - 1: it follows from the run's seed and the slot."""
    digest = hashlib.sha256(f"{run_seed}/{slot}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


class BatchNotReady(Exception):
    """The answer is not there yet."""


@dataclass(frozen=True)
class Source:
    """Who answers calls; `price` is None where it is not known.

    `name` is the kind of provider, `role` what it is asked for, `batch` whether in batches.
    """

    ask: Callable[[str, str, int], Completion]
    price: Price | None = None
    model: str = ""
    name: str = ""
    role: str = ""
    batch: bool = False

    def cost(self, usage: Usage) -> float | None:
        """The dollars of one call; in a batch it costs less."""
        return None if self.price is None else cost(usage, self.price, batch=self.batch)

    def cost_of(self, completion: Completion) -> float | None:
        """The dollars of an answer: as it says, else by its tokens; None where nobody counted."""
        usage, free = completion.usage, self.price == Price(0.0, 0.0)
        if completion.cost is None and (usage.output_tokens or usage.thinking_tokens or free):
            return self.cost(usage)
        return completion.cost


@dataclass
class Batch:
    """A batch of calls: whose they are, its name if it is known, and the slots still unanswered."""

    role: str
    name: str = ""
    slots: set[str] = field(default_factory=set)


class _Sent:
    """What went up in batches, and what of it is still to come down, line by line."""

    def __init__(self) -> None:
        self.batches: dict[str, Batch] = {}  # by label
        self._up: dict[str, Batch] = {}  # by the slots that are to come down

    def note(self, line: Mapping[str, Any]) -> None:
        """What one more line tells."""
        slot, kind = line["slot"], line["kind"]
        if kind == "sent":
            self._up[slot] = self.batches.setdefault(line["batch"], Batch(line["role"]))
            self._up[slot].slots.add(slot)
        elif kind == "batch":
            self.batches.setdefault(slot, Batch("")).name = line["name"]
        elif kind != "asked":
            self.come_down(slot)

    def come_down(self, slot: str) -> None:
        """The slot's call is answered, or has failed."""
        if batch := self._up.pop(slot, None):
            batch.slots.discard(slot)


class Journal(AppendOnlyFile):
    """The journal of one folder. `complete` may be called from any thread.

    `lost` holds the slots whose calls were under way when an earlier run died, `batches` what went
    up in batches, by label, and `failures` how often a slot's call was not answered. `spending`
    counts every answer in the file, those of earlier runs included.

    Raises:
        StoreError: the file cannot be written, or is none of ours.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / JOURNAL)
        self.lost: set[str] = set()
        self.failures: Counter[str] = Counter()
        self.spending = Spending()
        self._sent = _Sent()
        self.batches = self._sent.batches
        self._places: dict[str, int] = {}  # where the answer of a slot begins
        self._new: set[str] = set()  # slots answered in this run
        self._lock = threading.Lock()
        self._full = False
        self._reserve = folder / _RESERVE
        with ExitStack() as refused:
            refused.callback(self._file.close)
            self._look_through()
            refused.pop_all()
        self._set_aside()

    @property
    def under_way(self) -> bool:
        """Whether calls of a batch are still to come down."""
        return any(batch.slots for batch in self.batches.values())

    def answered_now(self, slot: Slot) -> bool:
        """Whether this run has paid for the slot's answer."""
        return str(slot) in self._new

    def __contains__(self, slot: str) -> bool:
        """Whether it holds the answer of this slot."""
        return slot in self._places

    @property
    def made(self) -> int:
        """How many calls were answered in this run."""
        return len(self._new)

    def answer(self, slot: Slot) -> Completion | None:
        """The answer that is kept for a slot, if any; raises NoCompletion where it had no text."""
        place = self._places.get(str(slot))
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place)
            line = file.readline()
        found = _answer(_parsed(self.path, place + len(line), line))
        if isinstance(found, NoCompletion):
            raise found
        return found

    def complete(self, call: Call, source: Source) -> Completion:
        """The answer that the journal holds for this slot, else the source's, once it is kept.

        Raises:
            ProviderError: as the source raised it; NoCompletion also where the journal holds that.
            StoreError: the journal cannot be written; nothing was asked, or its answer was kept.
        """
        if found := self.answer(call.slot):
            return found
        name = str(call.slot)
        self._append(name, "asked", task=call.task, seed=call.seed, prompt=call.prompt)
        try:
            completion = source.ask(call.system, call.prompt, call.seed)
        except NoCompletion as error:
            self._keep(name, "empty", error.usage, source.cost(error.usage), why=str(error))
            raise
        except ProviderError as error:
            self._append(name, "failed", why=str(error))
            raise
        return self.keep(call.slot, completion, source)

    def send_up(self, label: str, role: str, calls: Sequence[Call]) -> None:
        """Record calls that are about to go up in a batch."""
        for call in calls:
            self._append(
                str(call.slot), "sent", batch=label, role=role,
                task=call.task, seed=call.seed, prompt=call.prompt,
            )  # fmt: skip
        self.sync()

    def name_batch(self, label: str, name: str) -> None:
        """Record the name that the service has given a batch."""
        self._append(label, "batch", name=name)
        self.sync()

    def settle(self, name: str, answer: Completion | ProviderError, source: Source) -> None:
        """Record what has come down for a slot; only passing trouble lets it be asked again."""
        if isinstance(answer, Completion):
            self.keep(Slot.parse(name), answer, source)
        elif isinstance(answer, ProviderUnavailable):
            self._append(name, "failed", why=str(answer))
            self.failures[name] += 1
        else:
            usage = answer.usage if isinstance(answer, NoCompletion) else Usage()
            self._keep(name, "empty", usage, source.cost(usage), why=str(answer))

    def keep(self, slot: Slot, completion: Completion, source: Source) -> Completion:
        """Record an answer, with its cost."""
        completion = replace(completion, cost=source.cost_of(completion))
        self._keep(
            str(slot),
            "answered",
            completion.usage,
            completion.cost,
            model=completion.model,
            finish_reason=completion.finish_reason,
            text=completion.text,
            reasoning=completion.reasoning,
            **({"labels": dict(completion.labels)} if completion.labels else {}),
        )
        return completion

    def close(self) -> None:
        """Close the file, and give up the room on the disk that is set aside for it."""
        super().close()
        self._give_up_reserve()

    def _keep(
        self, name: str, kind: str, usage: Usage, dollars: float | None, **more: object
    ) -> None:
        tokens = [usage.input_tokens, usage.cached_tokens]
        tokens += [usage.thinking_tokens, usage.output_tokens]
        place = self._append(name, kind, cost=dollars, tokens=tokens, **more)
        with self._lock:
            self._places[name] = place
            self._new.add(name)
            self.spending.add(usage, dollars)

    def _append(self, slot: str, kind: str, **more: object) -> int:
        """Write one whole line; where it begins."""
        line = {"slot": slot, "kind": kind, **more}
        record = json.dumps(line).encode("ascii") + b"\n"
        with self._lock:
            if self._full and kind in _ASKING:
                raise DiskFull(f"cannot write {self.path}: {os.strerror(errno.ENOSPC)}")
            try:
                place = self._write(record)
            except DiskFull:
                if kind in _ASKING:
                    raise
                self._give_up_reserve()
                self._full = True  # no more is asked: what is left is for answers under way
                place = self._write(record)
            self._sent.note(line)
        return place

    def _set_aside(self) -> None:
        try:
            with self._reserve.open("wb") as file:
                _allocate(file, _RESERVED_BYTES)
        except OSError:  # a disk that is nearly full: there is nothing to set aside
            self._give_up_reserve()

    def _give_up_reserve(self) -> None:
        self._reserve.unlink(missing_ok=True)

    def _look_through(self) -> None:
        end = into = cached = thinking = out = 0
        for end, line, found in _lines(self.path):
            quoted, kind = found.group(1, 2)
            if kind in (b"sent", b"batch"):
                self._sent.note(_parsed(self.path, end, line))
                continue
            name = str(json.loads(quoted)) if b"\\" in quoted else quoted[1:-1].decode("ascii")
            if kind == b"asked":
                self.lost.add(name)
                continue
            self.lost.discard(name)
            self._sent.come_down(name)
            if kind == b"failed":
                self.failures[name] += 1
                continue
            self._places[name] = end - len(line)
            into += int(found[4])
            cached += int(found[5])
            thinking += int(found[6])
            out += int(found[7])
            self.spending.count(None if found[3] == b"null" else float(found[3]))
        if end < self.path.stat().st_size:
            self._file.truncate(end)
        self.spending.usage = Usage(into, out, cached, thinking)


def _allocate(file: IO[bytes], size: int) -> None:
    """Take room on the disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # macOS
        file.write(bytes(size))


def _lines(path: Path) -> Iterator[tuple[int, bytes, re.Match[bytes]]]:
    """Each whole line, with the offset of its end before it, and its beginning as matched after it.

    A torn last line is left out: its call counts as under way.
    """
    for end, line in whole_lines(path):
        found = _BEGINNING.match(line)
        if found is None:
            raise damaged(path, end, "it begins as no line of a journal")
        yield end, line, found


def _parsed(path: Path, end: int, line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise damaged(path, end, str(error)) from None
    lacking = [name for name in _FIELDS.get(str(found.get("kind")), ()) if name not in found]
    if lacking:
        raise damaged(path, end, f"a call without {', '.join(lacking)}")
    return found


def _answer(line: Mapping[str, Any]) -> Completion | NoCompletion:
    into, cached, thinking, out = line["tokens"]
    usage = Usage(into, out, cached, thinking)
    if line["kind"] == "empty":
        return NoCompletion(line["why"], usage=usage)
    return Completion(
        line["text"], line["model"], line["finish_reason"], usage, line["cost"],
        line["reasoning"], line.get("labels", {}),
    )  # fmt: skip


def calls(folder: Path) -> Iterator[Call]:
    """Every call that a folder's journal holds, in the order in which they were asked.

    Their system prompts are "", those of their tasks. Raises as `answers` does.
    """
    for line in _read(folder):
        if line["kind"] in _ASKING:
            slot = Slot.parse(line["slot"])
            yield Call(slot, line["task"], "", line["prompt"], line["seed"])


def batches(folder: Path) -> list[Batch]:
    """Every batch of a folder. Raises as `answers` does."""
    sent = _Sent()
    for line in _read(folder):
        sent.note(line)
    return list(sent.batches.values())


def answers(folder: Path) -> Iterator[tuple[Slot, Completion | NoCompletion]]:
    """Every answer of a folder's journal, in the order in which they came.

    Raises:
        UsageError: there is no journal.
        StoreError: it is damaged.
    """
    for line in _read(folder):
        if line["kind"] in ("answered", "empty"):
            yield Slot.parse(line["slot"]), _answer(line)


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / JOURNAL
    if not path.is_file():
        raise UsageError(f"there is no {path}")
    for end, line, _ in _lines(path):
        yield _parsed(path, end, line)
