"""The journal beside the data set: every call with its answer, kept before anything is made of it.

One line a happening, in JSON, appended whole: a call is `asked` before it is sent, and afterwards
`answered`, `empty` (paid for, but without text) or `failed` (not answered: it may be asked again).
A call that goes up in a batch is `sent`, and a line of the kind `batch` names the batch itself.
So a run that was killed knows what it has bought. A call that was asked and has no such second line
was under way when the process died: it may have been paid for, so its slot is never used again.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from .errors import NoCompletion, ProviderError, ProviderUnavailable, StoreError
from .prices import Price, cost
from .progress import Spending
from .types import Completion, Slot, Usage

JOURNAL = "journal.jsonl"
_RESERVE = ".reserve"  # given up where the disk is full, for the answers that are under way
_RESERVED_BYTES = 16 * 2**20
_READ_AT_ONCE = 2**20  # bytes; with less, reading a long file back takes twice as long
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
# Lines begin alike, so that a long journal can be looked through without reading its texts.
_BEGINNING = re.compile(
    rb'\{"slot": ("(?:[^"\\]|\\.)+"), "kind": "(asked|answered|empty|failed|sent|batch)"'
    rb'(?:, "cost": ([0-9.e+-]+|null), "tokens": \[(\d+), (\d+), (\d+), (\d+)\])?'
)


@dataclass(frozen=True)
class Call:
    """One question to a provider and the place where its answer belongs."""

    slot: Slot
    task: str
    system: str
    prompt: str
    seed: int


class Pending(Exception):
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


class Journal:
    """The journal of one folder. `complete` may be called from any thread.

    `lost` holds the slots whose calls were under way when an earlier run died, `batches` what went
    up in batches, by label; `spending` counts
    every answer in the file, those of earlier runs included.

    Raises:
        StoreError: the file cannot be written, or is none of ours.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.lost: set[str] = set()
        self.batches: dict[str, Batch] = {}
        self.failures: Counter[str] = Counter()  # how often a slot's call was not answered
        self._sent: dict[str, str] = {}  # the label of the batch that a slot went up in
        self.spending = Spending()
        self._places: dict[str, int] = {}  # where the answer of a slot begins
        self._new: set[str] = set()  # slots answered in this run
        self._lock = threading.Lock()
        self._reserve: Path | None = None
        self._full = False
        try:
            self._file = self.path.open("ab+", buffering=0)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from None
        try:
            self._look_through()
        except BaseException:
            self._file.close()
            raise
        self._set_aside(folder / _RESERVE)

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
        name = str(slot)
        if name not in self._places:
            return None
        with self.path.open("rb") as file:
            file.seek(self._places[name])
            return _completion(json.loads(file.readline()))

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
        batch = self.batches.setdefault(label, Batch(role))
        for call in calls:
            name = str(call.slot)
            self._append(
                name, "sent", batch=label, role=role,
                task=call.task, seed=call.seed, prompt=call.prompt,
            )  # fmt: skip
            batch.slots.add(name)
            self._sent[name] = label
        self.sync()

    def name_batch(self, label: str, name: str) -> None:
        """Record the name that the service has given a batch."""
        self._append(label, "batch", name=name)
        self.batches[label].name = name
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
        self._come_down(name)

    def _come_down(self, name: str) -> None:
        if label := self._sent.pop(name, ""):
            self.batches[label].slots.discard(name)

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
        )
        return completion

    def sync(self) -> None:
        """Force what was appended to the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
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
        line = json.dumps({"slot": slot, "kind": kind, **more}).encode("ascii") + b"\n"
        with self._lock:
            if kind == "asked" and self._full:
                raise StoreError(f"cannot write {self.path}: {os.strerror(errno.ENOSPC)}")
            place = os.fstat(self._file.fileno()).st_size
            try:
                self._write(line, place)
            except OSError as error:
                if error.errno not in _NO_SPACE or kind == "asked":
                    raise self._unwritable(error) from None
                self._give_up_reserve()
                self._full = True  # no more is asked: what is left is for answers under way
                try:
                    self._write(line, place)
                except OSError as again:
                    raise self._unwritable(again) from None
        return place

    def _write(self, line: bytes, place: int) -> None:
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(place)  # no half line
            raise

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"cannot write {self.path}: {error.strerror}; what was kept is whole")

    def _set_aside(self, path: Path) -> None:
        try:
            with path.open("wb") as file:
                _allocate(file, _RESERVED_BYTES)
            self._reserve = path
        except OSError:
            path.unlink(
                missing_ok=True
            )  # a disk that is nearly full: there is nothing to set aside

    def _give_up_reserve(self) -> None:
        if self._reserve:
            self._reserve.unlink(missing_ok=True)
            self._reserve = None

    # -- reading it back --------------------------------------------------------------------------

    def _look_through(self) -> None:
        end, tokens = 0, [0, 0, 0, 0]
        for number, (place, line) in enumerate(_lines(self.path), 1):
            if not line.endswith(b"\n"):
                break  # torn: its call counts as under way
            end = place + len(line)
            found = _BEGINNING.match(line)
            if found is None:
                raise StoreError(
                    f"{self.path} is damaged at line {number}. "
                    "Move it away or choose another output folder; it was left as it is."
                )
            kind = found[2]
            if kind in (b"sent", b"batch"):
                self._note_batch(json.loads(line))
                continue
            quoted = found[1]
            name = str(json.loads(quoted)) if b"\\" in quoted else quoted[1:-1].decode("ascii")
            if kind == b"asked":
                self.lost.add(name)
                continue
            self.lost.discard(name)
            if self._sent:
                self._come_down(name)
            if kind == b"failed":
                self.failures[name] += 1
                continue
            self._places[name] = place
            for at in range(4):
                tokens[at] += int(found[4 + at])
            self.spending.count(None if found[3] == b"null" else float(found[3]))
        if end < self.path.stat().st_size:
            self._file.truncate(end)
        into, cached, thinking, out = tokens
        self.spending.usage = Usage(into, out, cached, thinking)

    def _note_batch(self, line: dict[str, Any]) -> None:
        if line["kind"] == "batch":
            self.batches[line["slot"]].name = line["name"]
            return
        self.batches.setdefault(line["batch"], Batch(line["role"])).slots.add(line["slot"])
        self._sent[line["slot"]] = line["batch"]


def _allocate(file: IO[bytes], size: int) -> None:
    """Take room on the disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # macOS
        file.write(bytes(size))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    place = 0
    with path.open("rb", _READ_AT_ONCE) as file:
        for line in file:
            yield place, line
            place += len(line)


def _completion(line: dict[str, Any]) -> Completion:
    into, cached, thinking, out = line["tokens"]
    usage = Usage(into, out, cached, thinking)
    if line["kind"] == "empty":
        raise NoCompletion(line["why"], usage=usage)
    return Completion(
        line["text"], line["model"], line["finish_reason"], usage, line["cost"], line["reasoning"]
    )


def calls(folder: Path) -> Iterator[Call]:
    """Every call that a folder's journal holds, in the order in which they were asked.

    Their system prompts are "", those of their tasks. Raises `StoreError` as `answers` does.
    """
    for line in _read(folder):
        if line["kind"] in ("asked", "sent"):
            slot = Slot.parse(line["slot"])
            yield Call(slot, line["task"], "", line["prompt"], line["seed"])


def batches(folder: Path) -> list[Batch]:
    """Every batch of a folder. Raises `StoreError` as `answers` does."""
    found: dict[str, Batch] = {}
    sent: dict[str, Batch] = {}
    for line in _read(folder):
        if line["kind"] == "sent":
            sent[line["slot"]] = found.setdefault(line["batch"], Batch(line["role"]))
            sent[line["slot"]].slots.add(line["slot"])
        elif line["kind"] == "batch":
            found[line["slot"]].name = line["name"]
        elif line["slot"] in sent:
            sent[line["slot"]].slots.discard(line["slot"])
    return list(found.values())


def answers(folder: Path) -> Iterator[tuple[Slot, Completion | NoCompletion]]:
    """Every answer of a folder's journal, in the order in which they came.

    Raises:
        StoreError: there is no journal, or it is damaged.
    """
    for line in _read(folder):
        if line["kind"] in ("answered", "empty"):
            try:
                yield Slot.parse(line["slot"]), _completion(line)
            except NoCompletion as nothing:
                yield Slot.parse(line["slot"]), nothing


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / JOURNAL
    if not path.is_file():
        raise StoreError(f"there is no {path}")
    for number, (_, line) in enumerate(_lines(path), 1):
        if not line.endswith(b"\n"):
            return
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError:
            raise StoreError(f"{path} is damaged at line {number}") from None
        yield found
