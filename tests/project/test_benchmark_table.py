"""The table of `python -m benchmarks`: figures beside a peer's, whatever a part does."""

import pickle
from pathlib import Path

import pytest
from fake_parts import broken, dying, good

from benchmarks.__main__ import main
from benchmarks.parts import NO_MATH_VERIFY, PARTS, generation
from benchmarks.rounds import Median
from benchmarks.table import HEAD, Line, measured, page, scripts, shown


def test_a_ratio_says_how_many_times_better_ours_is_where_both_can_be_compared() -> None:
    assert Line("", "ms", 2.0, "", 8.0, better="less").ratio == 4
    assert Line("", "a second", 2.0, "", 8.0, better="more").ratio == 0.25
    for line in (
        Line("", "of 9", 9, "", 9),
        Line("", "ms", 2.0, "", NO_MATH_VERIFY, better="less"),
        Line("", "ms", "no data", "", 2.0, better="less"),
        Line("", "ms", 2.0, "", better="less"),
        Line("", "ms", 2.0, "", 0.0, better="more"),
    ):
        assert line.ratio is None


def test_a_line_names_unit_peer_ratio_and_the_script_with_the_details() -> None:
    line = Line("a | b", "ms", 1.5, "sandbox", 30.0, "node -e", "less")
    cells = r"a \| b | ms | 1.50 | 30.0 (node -e) | 20.0 | sandbox"
    assert str(line) == f"| {cells} |"
    line = Line("x", "ms", 1.5, "s", NO_MATH_VERIFY, "Math-Verify", "less")
    assert "| Math-Verify not installed: pip install -e '.[math-verify]' |  |" in str(line)
    figures = {0: "0", 7369: "7,369", 0.01234: "0.0123", 1.234: "1.23", 12.34: "12.3"}
    figures |= {1234.5: "1,234"}
    assert {value: shown(value) for value in figures} == figures
    assert shown("no data") == "no data"


def test_a_median_is_shown_with_its_lowest_and_highest_round() -> None:
    times = pickle.loads(pickle.dumps(Median([0.004, 0.002, 0.003])))
    line = Line("x", "ms", times * 1000, "sandbox", Median([0.03]) * 1000, "node -e", "less")
    assert "| 3.00 [2.00, 4.00] | 30.0 (node -e) | 10.0 |" in str(line)
    rate = 6 / times
    assert (rate.low, rate, rate.high) == (1500, 2000, 3000)
    assert shown(rate) == "2,000 [1,500, 3,000]"


def test_a_page_says_machine_date_versions_and_that_it_was_quick() -> None:
    part = measured("good", good, quick=True)
    text = page([part], "python -m benchmarks --quick", quick=True)
    assert text.startswith("# Benchmarks\n\n`python -m benchmarks --quick` measured these")
    assert "**Quick**" in text and "**Quick**" not in page([part], "", quick=False)
    for what in ("date: 20", "processor: ", "memory: ", "system: ", "Python: 3", "wasmtime "):
        assert f"- {what}" in text or f" {what}" in text
    assert f"## Good\n\nCounts.\n\n{HEAD}\n| counted | of 9 | 1 |" in text


def test_a_failed_part_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"broken": broken, "dying": dying, "good": good}
    assert main(["-o", str(tmp_path / "page.md")], parts) == 1
    told = capsys.readouterr()
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert told.out == text + "\n"
    assert "**Failed**: SystemExit: the verdicts are wrong" in text
    assert "## Dying\n\nTakes its process with it.\n\n**Failed**: BrokenProcessPool" in text
    assert "| counted | of 9 | 9 |" in text
    assert "broken: FAILED, SystemExit: the verdicts are wrong" in told.err
    assert "good: 1 lines" in told.err


def test_parts_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "good", "--quick"], {"broken": broken, "good": good}) == 0
    out = capsys.readouterr().out
    assert "## Broken" not in out and "`python -m benchmarks --quick --only good`" in out
    with pytest.raises(SystemExit, match="^2$"):
        main(["--only", "god"], {"good": good})
    assert "no such part: god; there are good" in capsys.readouterr().err


def test_every_part_says_what_it_compares_and_every_script_of_a_line_is_listed() -> None:
    assert list(PARTS) == ["sandbox", "maths", "generation", "dataset", "training"]
    assert all(part.__doc__ for part in PARTS.values())
    listed = {name for name, _ in scripts()}
    used = {"sandbox", "humaneval", "math_verifier", "generation", "resume", "dataset", "training"}
    assert used <= listed
    assert not {"native", "native_python", "table", "parts", "math_pairs"} & listed


@pytest.mark.slow
def test_generation_is_measured_beside_calls_alone() -> None:
    lines = list(generation(quick=True))
    kinds = {line.what.split(":")[0] for line in lines}
    assert {"default mix", "maths alone"} <= kinds
    rates = [line for line in lines if line.unit == "rows a second" and line.peer_name]
    assert [line.peer_name for line in rates] == ["calls alone, threads", "calls alone, asyncio"]
    assert all(line.ratio for line in rates)
    assert {line.script for line in lines} == {"generation", "resume"}
