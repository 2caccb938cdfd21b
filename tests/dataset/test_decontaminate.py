"""Rows that give a benchmark away are found, and those that only sound alike are kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import assert_none, unlike

from infinite_rl.dataset.decontaminate import Benchmarks, Leak, decontaminate
from infinite_rl.dataset.rows import read

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = {
    "gsm8k": DATA / "gsm8k" / "test.jsonl",
    "math500": DATA / "math500" / "test.jsonl",
    "humaneval": DATA / "humaneval" / "HumanEval.jsonl.gz",
    "mbpp": DATA / "mbpp" / "sanitized-mbpp.json",
    "ifeval": DATA / "ifeval" / "input_data.jsonl",
}
LONG = (
    "A farmer walks along the river with a heavy basket of apples, sells a dozen of them to every "
    "passing stranger, and comes home when the evening bells ring. How many strangers did he meet?"
)
SAID = LONG.replace(",", "").split()
SHORT = "Write a function that turns every second letter of a given text upside down."
TINY = "What is 2 + 3?"
CODE = "def turned(text):\n    out = list(text)\n    for at in range(1, len(out), 2):\n        "
CODE += "out[at] = flip(out[at], table=UPSIDE)\n    return ''.join(out)"


def benchmarks(*rows: dict[str, Any], **options: Any) -> Benchmarks:
    return Benchmarks({"bench": rows or ({"id": "b1", "question": LONG},)}, **options)


def leaks(prompt: str, *known: str, column: str = "prompt") -> bool:
    found = benchmarks(*({column: text, "answer": "5"} for text in known)).hits({"prompt": prompt})
    return bool(found)


def test_a_hit_names_the_benchmark_and_shows_what_is_shared() -> None:
    (hit,) = benchmarks().hits({"prompt": f"Dear model! {LONG.upper()} Think."})
    where = (hit.column, hit.benchmark, hit.benchmark_row, hit.benchmark_id, hit.benchmark_column)
    assert where == ("prompt", "bench", 1, "b1", "question")
    assert hit.text.startswith("a farmer walks") and hit.text.endswith("did he meet")
    assert hit.words == len(LONG.split()) and hit.share == 1.0
    (hit,) = benchmarks().hits({"prompt": " ".join(SAID[4:18])})
    assert hit.words == 14 and 0 < hit.share < 0.2
    (hit,) = benchmarks().hits({"prompt": f"{LONG} " * 2_000})  # read in one pass
    assert hit.share == 1.0 and len(hit.text) <= 400


@pytest.mark.parametrize("known, leak, no_leak", [
    (LONG, "Once " + " ".join(SAID[4:17]) + " again", "Once " + " ".join(SAID[4:16]) + " again"),
    (SHORT, f"Please {SHORT[:48]} around", f"Please {SHORT[:41]} word around"),
    (TINY, "what is 2+3", "Tell me: what is 2 + 3?"),
    (TINY, "what IS 2 + 3", "What is 2 - 3?"),
], ids=["13 words", "8 words", "whole", "sign"])  # fmt: skip
def test_so_many_words_in_a_row_are_a_leak_and_fewer_are_none(
    known: str, leak: str, no_leak: str
) -> None:
    assert leaks(leak, known) and not leaks(no_leak, known)


def test_solutions_are_compared_too_but_short_ones_give_nothing_away() -> None:
    against = benchmarks({"prompt": SHORT, "code": CODE})
    (hit,) = against.hits({"prompt": "x", "response": f"<answer>```\n{CODE}\n```</answer>"})
    assert (hit.column, hit.benchmark_column) == ("response", "code")
    assert not against.hits({"prompt": "x", "response": CODE.splitlines()[2]})
    assert not benchmarks({"prompt": LONG, "answer": "18"}).hits({"prompt": "x", "answer": "18"})


def test_markup_letters_and_odd_characters_hide_nothing() -> None:
    text = LONG + " He has 12 apples left."
    for written in (
        text.replace(" ", "&nbsp;"),
        text.replace("e", "e\u0301").replace("o", "\u00f6"),
        text.replace("a", "a&shy;").replace("i", "i\u034f"),
        "<p>" + text.replace(" ", "</b> <b>") + "</p>",
        "\u200b".join(text.upper()).replace("-", "\u2014"),
        text.translate(str.maketrans("aeoc", "аеос")),
    ):
        assert leaks(written, text)
    assert leaks("What is \uff11\uff12 + 30?", "What is 12 + 30?")
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": LONG}]
    assert benchmarks().hits({"messages": chat}), "all messages of a chat are compared"


def test_words_that_are_put_in_or_changed_all_over_hide_nothing() -> None:
    said = LONG.split()
    added = " ".join(f"{word} really" if at % 5 == 4 else word for at, word in enumerate(said))
    changed = " ".join("thing" if at % 6 == 5 else word for at, word in enumerate(said))
    for written in (added, changed):
        (hit,) = benchmarks().hits({"prompt": f"Dear model! {written} Think."})
        assert hit.text.startswith("a farmer walks along") and 0.3 <= hit.share < 0.7
        assert not benchmarks(share=1.0).hits({"prompt": written})
    assert not leaks(" ".join(word if at % 4 else "thing" for at, word in enumerate(said)), LONG)


def test_pieces_that_are_scattered_or_repeated_are_no_evidence() -> None:
    said = SAID
    pieces = [" ".join(said[at : at + 4]) for at in range(0, len(said) - 4, 4)]
    assert not leaks(f" {'other words here ' * 40}".join(pieces), LONG)
    assert not leaks(f"{pieces[0]} and " * 50, LONG)


def test_numbers_matter_and_runs_of_them_are_no_evidence() -> None:
    changed = (
        LONG.replace("a heavy", "7")
        .replace("a dozen", "14")
        .replace("stranger", "3rd")
        .replace("evening", "9")
    )
    assert not benchmarks(share=1.0).hits({"prompt": changed})
    assert not leaks("1, 2, 3, 4, 5, 6, 7 and 8", "Find the sum of 1, 2, 3, 4, 5, 6, 7 and 8 and 9")


def test_what_many_texts_of_the_benchmarks_share_is_idiom() -> None:
    idiom = "Write a Python function to find the sum of all the"
    texts = [f"{idiom} {kind} that there are in it." for kind in ("plums", "nuts", "figs", "pears")]
    prompt = f"{idiom} digits."
    assert leaks(prompt, *texts[:3]) and not leaks(prompt, *texts)
    assert leaks(texts[0], *texts)  # as a whole it is no idiom
    rows = [{"prompt": text} for text in texts]
    assert benchmarks(*rows, common=4).hits({"prompt": prompt})


def test_rows_that_share_nothing_come_out_as_they_are_and_the_others_are_told() -> None:
    rows = [{"prompt": "a", "id": "x"}, {"prompt": LONG, "id": 7}, {"prompt": ""}]
    told: list[Leak] = []
    assert list(decontaminate(rows, benchmarks(), on_leak=told.append)) == [rows[0], rows[2]]
    (leak,) = told
    assert (leak.row, leak.id, len(leak.hits)) == (2, "7", 1)
    assert [report["text"] for report in leak.rows()] == [leak.hits[0].text]
    assert str(leak).startswith("row 2 (prompt): bench row 1 (question): a farmer walks")


def test_the_longest_match_comes_first_and_is_one_run() -> None:
    said = LONG.replace(",", "").replace(".", "").split()
    broken = " ".join([*said[:13], "and", *said[13:29], "but", *said[29:]])
    (hit,) = benchmarks().hits({"prompt": broken})
    assert hit.words == 16
    against = benchmarks({"prompt": LONG}, {"prompt": SHORT})
    hits = against.hits({"prompt": f"{SHORT} {LONG}"})
    assert [hit.benchmark_row for hit in hits] == [1, 2]
    rows = [{"prompt": SHORT}]
    against = Benchmarks({"one": rows, "two": [*rows, {"prompt": LONG}]})
    assert [hit.benchmark for hit in against.hits({"prompt": SHORT})] == ["one"], "equal ones once"


def test_columns_can_be_named_and_what_cannot_be_is_the_callers_fault() -> None:
    against = Benchmarks({"bench": [{"deep": LONG}]}, ["deep"])
    assert against.hits({"odd": LONG}, ["odd"]) and not against.hits({"odd": ""}, ["odd"])
    sizes: tuple[dict[str, Any], ...] = (
        *({"n": 5}, {"short": 1}, {"n": 0, "short": 0}),
        *({"common": 0}, {"share": 0}, {"share": 1.1}),
    )
    assert_none(unlike((
        ("a row has none of the columns prompt", lambda: against.hits({"odd": LONG})),
        ("row 1 of bench has none of the columns deep",
         lambda: Benchmarks({"bench": [{"prompt": LONG}]}, ["deep"])),
        ("bench has no text", lambda: Benchmarks({"bench": []})),
        *(("cannot be", partial(benchmarks, **size)) for size in sizes),
    )))  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
def test_the_benchmarks_give_themselves_away_and_nobody_else() -> None:
    against = Benchmarks(FILES)
    for name, path in FILES.items():
        column = {"gsm8k": "question", "math500": "problem"}.get(name, "prompt")
        for row in list(read(path))[::3]:
            assert against.hits({"prompt": f"{row[column]}"}), row[column]
    train = list(read(DATA / "gsm8k" / "train.jsonl"))[:500]
    kept = list(decontaminate(train, against))
    assert len(train) - 5 <= len(kept) < len(train)  # some are close to a test question
