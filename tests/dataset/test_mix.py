"""Mixtures: each row where the mode puts it, the same for the same seed, and nothing lost."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import Tables, assert_none, unlike

from infinite_rl import cli
from infinite_rl.dataset import rows
from infinite_rl.dataset.mix import Mixture, Ordered, Source, arrange, mix, read_order, write_order
from infinite_rl.errors import UsageError


def source(name: str, rows: int = 10, rates: Sequence[object] = (), **more: Any) -> Source:
    """Rows with the ids n0, n1, ... of a source, as many as there are pass rates."""
    items: list[dict[str, Any]] = [
        {"id": f"{name[0]}{n}", "type": "math", "n": n} for n in range(len(rates) or rows)
    ]
    for row, rate in zip(items, rates, strict=False):
        row["pass_rate"] = rate
    return Source(items, name=name, **more)


def own(mixture: Mixture) -> list[str]:
    return [row["id"] for row in mixture]


tables = Tables(__file__)
A, B = source("apple"), source("berry")


@tables
def test_the_arguments_decide_the_order_of_the_rows_on_every_machine(
    sources: tuple[dict[str, Any], ...], options: dict[str, Any], ids: str
) -> None:
    mixture = mix([source(**each) for each in sources], **options)
    assert own(mixture) == own(mixture) == ids.split()


def test_weights_are_shares_of_the_draws_and_count_for_those_that_are_left() -> None:
    heavy, light = source("apple", 3_000, weight=30), source("berry", 3_000, weight=10)
    found = own(mix([heavy, light], "weighted", seed=3))
    early = Counter(name[0] for name in found[:2_000])
    assert 1_400 < early["a"] < 1_600  # 1,500 expected, 19 their standard deviation
    assert found[-1][0] == "b" and len(set(found)) == 6_000


def test_rows_that_are_alike_and_sources_twice_have_ids_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "apple.jsonl"
    rows.write(mix([A], "sequential"), path)
    found = mix([Source(path), Source(path)], "sequential", count=None)
    assert len(set(found.ids)) == 20
    assert found.ids[0] == "apple/a0" and found.ids[10] == "apple#2/a0"
    assert [row["mix_id"] for row in found] == list(found.ids)
    row = {"type": "math", "prompt": "1?", "answer": "1", "response": "", "id": "x"}
    found = mix([Source([row, row, {"text": "no sample"}, {"text": "no sample"}], name="s")])
    assert len(set(found.ids)) == 4 and {"s/x", "s/x#2"} < set(found.ids)
    items = [{"id": name} for name in ("x", "x", "x#2", "x", "x#2")]
    found = mix([Source(items, name="s")], "sequential")
    assert len(set(found.ids)) == 5 and found.ids[:2] == ["s/x", "s/x#2"]
    assert own(mix([Source(items, name="s")], order=found.ids)) == own(found)


def test_an_order_gives_the_mixture_that_wrote_it_and_names_rows() -> None:
    counts: list[int] = []
    first = mix([A, A, B], "weighted", seed=9, count=17, on_row=counts.append)
    again = mix([A, A, B], order=first.ids)
    assert own(again) == own(first) and again.ids == first.ids
    assert counts == list(range(1, 31))
    found = mix([A, B], order=["b3", "apple/a1", "b3"])
    counted = [(part.name, part.sampled, part.distinct) for part in found.coverage]
    assert counted == [("apple", 1, 1), ("berry", 2, 1)]
    found = mix([A], order=["a1", "zz"], allow_unknown=True)
    assert found.ordered and (found.ordered.lines, found.ordered.unknown) == (2, 1)


def test_what_cannot_be_mixed_is_refused() -> None:
    numberless = (
        *("", "high", None, float("nan"), "inf", True, [0.5], "1_0", "٠٫٥", "١", "0x1", b"1"),
        10**400,
    )
    malformed = (
        *("a.csv:x", "a.csv:1:x", "a.csv:1:2.5", "a.csv:", "a.csv::", "a.csv:1_0"),
        *("a.csv:1:1_0", "a.csv:٣", "a.csv:1:٣", "a.csv:1:-", "a.csv:1e999"),
    )
    unknown = source("apple", order=["a1", "b1", "a2", "zz"])
    ordered = source("apple", order=["a1"])
    calls: tuple[tuple[str, Callable[[], object]], ...] = (
        ("mode must be one of", lambda: mix([A], "braided")),  # type: ignore[arg-type]
        ("count must be at least 1", lambda: mix([A], count=0)),
        ("needs the column", lambda: mix([A], band=(0.2, 0.8))),
        ("lower bound", lambda: mix([A], by="n", band=(0.8, 0.2))),
        ("lower bound", lambda: mix([A], by="n", band=(float("nan"), 1))),
        ("nothing to be weighted", lambda: mix([A], "weighted", by="n")),
        ("no --by", lambda: mix([A], by="n", order=["a1"])),
        ("nothing to be weighted", lambda: mix([A], "weighted", order=["a1"])),
        ("no sources", lambda: mix([])),
        ("hold no rows", lambda: mix([Source([])])),
        (
            "weighted, not shuffled: apple has the weight 2",
            lambda: mix([source("apple", weight=2)]),
        ),
        ("several sources have it", lambda: mix([A, A], order=["a1"])),
        ("1 of the order's 2 ids are in no source: 'zz'", lambda: mix([A], order=["a1", "zz"])),
        (
            "of the 4 ids in the order of apple 2 are known, 2 are in none of its rows: 'b1', 'zz'",
            lambda: mix([unknown, B]),
        ),
        ("a source's own", lambda: mix([ordered], order=["a1"])),
        ("a source's own", lambda: mix([ordered], by="n")),
        ("row 1 of apple has no column 'pass_rate'", lambda: mix([A], by="pass_rate")),
        ("at least 0", lambda: Source([], count=-1)),
        *(
            ("row 2 of r holds .*, no number, in 'pass_rate'", partial(mix, [one], by="pass_rate"))
            for one in (source("r", rates=[0.5, rate]) for rate in numberless)
        ),
        *(
            ("must be above 0", partial(Source, [], weight))
            for weight in (0.0, -1.0, float("nan"), float("inf"))
        ),
        *(("is no source", partial(Source.parse, text)) for text in malformed),
    )
    assert_none(unlike(calls))


def test_a_source_can_be_written_in_one_word(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x:2").touch()
    for text, parsed in (
        ("a.csv", Source("a.csv")),
        ("a.csv:3", Source("a.csv", 3)),
        ("a.csv:0.5:100", Source("a.csv", 0.5, 100)),
        ("a.csv::100", Source("a.csv", 1, 100)),
        ("dir:with/a.csv:2", Source("dir:with/a.csv", 2)),
        ("x:2", Source("x:2")),  # a file of this name is there
    ):
        assert Source.parse(text) == parsed


def test_the_verb_writes_rows_an_order_and_what_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinite_rl.cli.terminal.LINE_EVERY_S", 0)
    for name, each in (("apple", A), ("berry", B)):
        rows.write(each.rows, tmp_path / f"{name}.jsonl")  # type: ignore[arg-type]
    first, second = str(tmp_path / "apple.jsonl"), str(tmp_path / "berry.jsonl")
    out, order = tmp_path / "out.csv", tmp_path / "train.order"
    words = ["data", "mix", f"{first}:3", f"{second}::5", "--mode", "weighted", "-o", str(out)]
    assert cli.main([*words, "--order_out", str(order)]) == 0
    shown = capsys.readouterr()
    assert "apple: 10 of 10 rows (100.0%)" in shown.out
    assert "berry: 5 of 10 rows (50.0%)" in shown.out
    assert "rows read: 20" in shown.err and "rows written: 15" in shown.err
    assert [row["mix_id"] for row in rows.read(out)] == read_order(order)
    assert cli.main([*words]) == 2  # it is there already

    again = tmp_path / "again.csv"
    words = ["data", "mix", first, second, "--order", str(order), "-o", str(again)]
    assert cli.main(words) == 0
    assert "order file: 15 of 15 ids found, 0 repeated" in capsys.readouterr().out
    assert again.read_bytes() == out.read_bytes()

    words = ["data", "mix", first, "-o", str(tmp_path / "n.csv"), "--by", "n", "--overwrite"]
    assert cli.main([*words, "--band", "2,4"]) == 0
    for band, says in (
        ("200,300", "no rows: none has 'n' within 200,300"),
        ("2", "--band must be two numbers"),
    ):
        assert cli.main([*words, "--band", band]) == 2
        assert says in capsys.readouterr().err
    assert [row["n"] for row in rows.read(tmp_path / "n.csv")] == ["4", "3", "2"]


# Order files
def test_an_order_file_is_read_back_as_it_was_written_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "new" / "train.order"
    for ids in (["a"], ["x/1", "x/2#2", "#3", "a b", "é", "a\u2028b", "a\rb"]):
        write_order(ids, path)
        assert read_order(path) == ids
        assert path.read_bytes().decode().split("\n") == [*ids, ""]
    path.write_bytes(b"\xef\xbb\xbfa\r\n\r\n b \n\nc")
    assert read_order(path) == ["a", "b", "c"]
    for name, content in (("latin", b"\xff"), ("empty", b"\n\n")):
        (tmp_path / name).write_bytes(content)
    other = tmp_path / "other"
    assert_none(unlike([
        *(("UsageError: .*cannot hold the id", partial(write_order, ["a", name], other))
          for name in ("", " a", "a\n", "a\nb", "\ud83d")),
        ("UsageError: cannot read the order in .*: No such file or directory$",
         partial(read_order, other)),
        ("UsageError: cannot read the order", partial(read_order, tmp_path / "latin")),
        ("UsageError: there are no ids", partial(read_order, tmp_path / "empty")),
        ("StoreError: cannot write", partial(write_order, ["a"], path / "below")),
    ]))  # fmt: skip
    assert not other.exists()


def test_an_order_names_rows_and_no_id_is_lost_in_silence() -> None:
    known = {"a": 0, "b": 1, "c": 2, "twin": None}
    assert arrange(["c", "a", "c"], known) == Ordered([2, 0, 2], 3, 0, 1)
    wanted = ["c", "who", "a", "is", "this", "then"]
    with pytest.raises(UsageError, match=r"4 of the order's 6 ids .*: 'who', 'is', 'this', \.\.\."):
        arrange(wanted, known)
    assert arrange(wanted, known, allow_unknown=True) == Ordered([2, 0], 6, 4, 0)
    with pytest.raises(UsageError, match="'twin', and several sources have it"):
        arrange(["twin"], known, allow_unknown=True)
    with pytest.raises(UsageError) as refused:
        arrange(["x" * 5_000], {})
    assert len(str(refused.value)) < 200
