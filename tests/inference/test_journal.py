"""The journal: what was paid for is kept before anything is made of it, and asked for once."""

from __future__ import annotations

import errno
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infinite_rl.errors import NoCompletion, ProviderUnavailable, StoreError, UsageError
from infinite_rl.inference.journal import Batch, Call, Journal, Source, answers, batches
from infinite_rl.providers.models import Price
from infinite_rl.store import JOURNAL
from infinite_rl.types import Completion, Slot, Usage

UGLY = ["", "a\nb\r\n", "\u2028", "\ud800", "\0", '"kind": "asked"', "日本語 🙂", "x" * 300_000]


def call(index: int = 0, family: str = "math") -> Call:
    return Call(Slot(family, index), "math", "be exact", f"task {index}", index)


def answered(text: str = "hello") -> Completion:
    return Completion(text, "a-model", usage=Usage(1, 2, 3, 4), cost=0.5, reasoning="hm")


def never(system: str, prompt: str, seed: int) -> Completion:
    raise AssertionError(f"asked again: {prompt}")


@pytest.mark.parametrize("lacking", ["batch", "role", "text", "why"])
def test_a_line_that_lacks_something_is_named(tmp_path: Path, lacking: str) -> None:
    kind = {"text": "answered", "why": "empty"}.get(lacking, "sent")
    line: dict[str, object] = {"slot": "math/0/0/0", "kind": kind}
    if kind != "sent":
        line |= {"cost": None, "tokens": [1, 0, 0, 1]}
    line |= {"task": "math", "seed": 1, "prompt": "p", "batch": "b", "role": "writer", "why": "w"}
    line |= {"model": "m", "finish_reason": "stop", "text": "t", "reasoning": ""}
    del line[lacking]
    (tmp_path / JOURNAL).write_text(json.dumps(line) + "\n")
    with pytest.raises(StoreError, match=f"damaged at line 1 .a call without {lacking}"):
        list(answers(tmp_path))
    with pytest.raises(StoreError, match=f"a call without {lacking}"):
        journal = Journal(tmp_path)
        try:
            journal.answer(Slot.parse("math/0/0/0"))
        finally:
            journal.close()


@pytest.mark.parametrize("text", UGLY, ids=lambda text: ascii(text)[:20])
def test_an_answer_is_kept_exactly_and_never_asked_for_again(tmp_path: Path, text: str) -> None:
    given = answered(text)
    first = Journal(tmp_path)
    assert first.complete(call(), Source(lambda *_: given)) == given
    assert first.complete(call(), Source(never)) == given
    first.close()
    second = Journal(tmp_path)
    assert second.complete(call(), Source(never)) == given
    assert second.answer(Slot("math", 0)) == given
    assert second.answer(Slot("math", 1)) is None
    second.close()
    assert list(answers(tmp_path)) == [(Slot("math", 0), given)]


def test_an_answer_is_in_the_file_before_it_is_returned(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.complete(call(), Source(lambda *_: answered("so it is")))
    lines = [json.loads(line) for line in (tmp_path / JOURNAL).read_text("utf-8").splitlines()]
    journal.close()
    assert [line["kind"] for line in lines] == ["asked", "answered"]
    assert lines[0]["prompt"] == "task 0"
    assert lines[1]["text"] == "so it is"


def test_an_answer_without_text_is_an_answer_and_has_its_price(tmp_path: Path) -> None:
    def blocked(system: str, prompt: str, seed: int) -> Completion:
        raise NoCompletion("blocked", usage=Usage(7))

    for ask in (blocked, never):
        journal = Journal(tmp_path)
        with pytest.raises(NoCompletion, match="blocked"):
            journal.complete(call(), Source(ask, Price(100_000, 0)))
        assert (journal.spending.calls, journal.spending.cost) == (1, 0.7)
        journal.close()


def test_a_call_that_failed_may_be_made_again(tmp_path: Path) -> None:
    def down(system: str, prompt: str, seed: int) -> Completion:
        raise ProviderUnavailable("503")

    journal = Journal(tmp_path)
    with pytest.raises(ProviderUnavailable):
        journal.complete(call(), Source(down))
    journal.close()
    journal = Journal(tmp_path)
    assert not journal.lost
    assert journal.complete(call(), Source(lambda *_: answered())).text == "hello"
    journal.close()


@pytest.mark.slow
def test_every_cut_leaves_whole_answers_and_names_what_was_under_way(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for index in range(2):
        journal.complete(call(index), Source(lambda *_: answered()))
    journal.close()
    data = (tmp_path / JOURNAL).read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(len(data) + 1):
        (tmp_path / JOURNAL).write_bytes(data[:cut])
        journal = Journal(tmp_path)
        whole = sum(end <= cut for end in ends)
        assert journal.spending.calls == whole // 2
        assert journal.lost == ({f"math/{whole // 2}/0/0"} if whole % 2 else set())
        journal.complete(call(9), Source(lambda *_: answered()))
        journal.close()
        assert len(list(answers(tmp_path))) == whole // 2 + 1


def test_spending_counts_the_runs_before(tmp_path: Path) -> None:
    for index in range(3):
        journal = Journal(tmp_path)
        journal.complete(call(index), Source(lambda *_: answered()))
        assert journal.answered == 1
        assert journal.answered_now(Slot("math", index))
        assert not journal.answered_now(Slot("math", index - 1))
        assert journal.spending.usage == Usage(*(n * (index + 1) for n in (1, 2, 3, 4)))
        assert journal.spending.cost == 0.5 * (index + 1)
        journal.close()


def test_a_family_may_have_any_name(tmp_path: Path) -> None:
    for family in ("words", "数学", "a\\b", 'quo"ted', "a/1"):
        journal = Journal(tmp_path)
        journal.complete(call(3, family), Source(lambda *_: answered()))
        journal.close()
        journal = Journal(tmp_path)
        assert journal.answer(Slot(family, 3)) == answered()
        journal.close()


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        list(
            pool.map(
                lambda n: journal.complete(call(n), Source(lambda *_: answered("x" * n))),
                range(500),
            )
        )
    assert journal.answered == 500
    journal.close()
    texts = {slot.index: found.text for slot, found in answers(tmp_path)}  # type: ignore[union-attr]
    assert texts == {n: "x" * n for n in range(500)}


FOREIGN = [
    *("not a journal\n", "{}\n", '{"slot": "x"}\n', '{"slot": "é", "kind": "asked"}\n'),
    *('{"slot": "m/0/0/0", "kind": "answered"}\n', '{"slot": "m/0/0/0", "kind": "sent", \n'),
]


def test_a_foreign_journal_is_refused_and_left_alone_and_a_missing_one_is_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="no .*journal"):
        list(answers(tmp_path))
    for text in FOREIGN:
        (tmp_path / JOURNAL).write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match="line 1"):
            Journal(tmp_path)
        with pytest.raises(StoreError, match="line 1"):
            list(answers(tmp_path))
        assert (tmp_path / JOURNAL).read_text(encoding="utf-8") == text


def test_an_answer_whose_end_is_damaged_is_named_when_it_is_wanted(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for index in range(2):
        journal.complete(call(index), Source(lambda *_: answered("so be it")))
    journal.close()
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'so be it"', b"so be it "))
    journal = Journal(tmp_path)
    with pytest.raises(StoreError, match="damaged at line 4"):
        journal.answer(Slot("math", 1))
    journal.close()
    with pytest.raises(StoreError, match="damaged at line 2"):
        list(answers(tmp_path))


def test_a_batch_is_the_same_to_who_writes_it_and_to_who_reads_it(tmp_path: Path) -> None:
    journal, source = Journal(tmp_path), Source(never)
    journal.send_up("b", "writer", [call(index) for index in range(4)])
    journal.name_batch("b", "batches/7")
    journal.settle("math/0/0/0", answered(), source)
    journal.settle("math/1/0/0", NoCompletion("blocked"), source)
    journal.settle("math/2/0/0", ProviderUnavailable("503"), source)
    expected = {"b": Batch("writer", "batches/7", {"math/3/0/0"})}
    assert journal.batches == expected
    assert journal.failures == {"math/2/0/0": 1}
    journal.close()
    assert batches(tmp_path) == list(expected.values())
    journal = Journal(tmp_path)
    assert journal.batches == expected
    assert journal.failures == {"math/2/0/0": 1}
    journal.close()


class _Full:
    """A file on a disk that has room again once `room` is set."""

    def __init__(self, file: object) -> None:
        self.file, self.room = file, threading.Event()

    def write(self, data: bytes) -> int:
        if not self.room.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self.file.write(data))  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


def test_a_full_disk_still_takes_the_answers_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    reserve = tmp_path / ".reserve"
    assert reserve.stat().st_size >= 2**20
    full = _Full(journal._file)
    monkeypatch.setattr(journal, "_free_reserve", lambda: (reserve.unlink(), full.room.set()))

    def fill_up(system: str, prompt: str, seed: int) -> Completion:
        monkeypatch.setattr(journal, "_file", full)
        return answered()

    assert journal.complete(call(), Source(fill_up)) == answered()
    with pytest.raises(StoreError, match="No space left"):
        journal.complete(call(1), Source(never))
    monkeypatch.undo()
    journal.close()
    assert [slot.index for slot, _ in answers(tmp_path)] == [0]


def test_a_full_disk_takes_no_calls_that_would_go_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    monkeypatch.setattr(journal, "_file", _Full(journal._file))
    with pytest.raises(StoreError, match="No space left"):
        journal.send_up("b", "writer", [call()])
    assert not journal.under_way
    assert (tmp_path / ".reserve").exists(), "it is for answers"
    monkeypatch.undo()
    journal.close()


def test_the_reserve_takes_room_without_an_allocating_system_and_is_gone_after_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.posix_fallocate", raising=False)  # macOS has none
    journal = Journal(tmp_path)
    assert (tmp_path / ".reserve").stat().st_size >= 2**20
    journal.close()
    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]
