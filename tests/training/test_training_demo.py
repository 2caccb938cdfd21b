"""The demo: its rows are right, wrong where they are to be, and apart; and it rises."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.cli import main
from infinite_rl.training.runs import demo
from infinite_rl.training.runs.run_folder import read_events

RECIPE = demo.Recipe(rows=200, tests=50)


@pytest.fixture(scope="module")
def rows() -> demo.Rows:
    return demo.make_rows(RECIPE)


def test_rows_are_right_apart_and_follow_from_the_seed(rows: demo.Rows) -> None:
    test, sft, grpo = (
        {demo.number_of(row) for row in part} for part in (rows.test, rows.sft, rows.grpo)
    )
    assert len(test) == len(rows.test) == 50 and len(rows.sft) == len(rows.grpo) == 100
    assert not test & (sft | grpo) and not sft & grpo
    for row in (*rows.test, *rows.sft, *rows.grpo):
        assert int(row["answer"]) == sum(map(int, str(demo.number_of(row))))
    few = demo.Recipe(rows=20, tests=5)
    assert demo.make_rows(few) == demo.make_rows(few) != demo.make_rows(replace(few, seed=1))


def test_three_in_ten_labels_of_sft_are_wrong_and_the_reward_says_so(rows: demo.Rows) -> None:
    scorer = Scorer()
    passed = [
        bool(given)
        for given in demo.compute_rewards(scorer, rows.sft, [row["response"] for row in rows.sft])
    ]
    assert 16 <= passed.count(False) <= 44  # 30 of 100, within three deviations
    right = [row["response"] == f"<answer>{row['answer']}</answer>" for row in rows.sft]
    assert passed == right
    assert all(
        scorer.judge_one(demo.sample_of(row), row["response"]).passed for row in rows.grpo[:9]
    )


def test_the_tokenizer_has_a_token_a_digit_and_gives_an_answer_back(rows: demo.Rows) -> None:
    tokenizer = demo.make_tokenizer([row["prompt"] for row in rows.sft])
    ids = tokenizer.encode("<answer>17</answer>", add_special_tokens=False)
    assert len(ids) == 4 and tokenizer.decode(ids) == "<answer>17</answer>"
    for row in rows.sft:
        assert tokenizer.unk_token_id not in tokenizer.encode(row["prompt"])


Outcome = tuple[dict[str, int], list[float]]


def outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> Outcome:
    """How many test prompts each phase answers right, and the rewards, of the short form."""
    assert main(["train", "demo", "--quick", "-o", str(folder)]) == 0
    said = capsys.readouterr().out
    after = {
        name: int(re.search(rf"after {name}: .*, (\d+) of {demo.QUICK.tests}", said)[1])  # type: ignore[index]
        for name in ("SFT", "GRPO")
    }
    plot = re.search(r"reward: (.*/plots/reward.png)", said)
    assert plot and Path(plot[1]).read_bytes().startswith(b"\x89PNG")
    return after, [event["reward"] for event in read_events(Path(plot[1]).parents[1], "train")]


@pytest.mark.slow
def test_the_command_counts_each_phase_and_plots_the_reward(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook, which a test runs, shows that the demo rises."""
    monkeypatch.setattr(demo, "QUICK", demo.Recipe(21, 21, rows=400, tests=50))
    _after, rewards = outcome(tmp_path, capsys)
    assert len(rewards) == 21 and all(0 <= reward <= 1 for reward in rewards)


@pytest.mark.slow
@pytest.mark.soak
def test_the_short_form_rises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some twenty seconds of two idle cores; the whole demo is in docs/results/demo.md."""
    after, rewards = outcome(tmp_path, capsys)
    assert after["GRPO"] > after["SFT"]
    assert sum(rewards[-5:]) > sum(rewards[:5])


def test_an_unwritable_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["train", "demo", "--quick", "-o", str(tmp_path / "file")]) == 1
    assert "cannot write to" in capsys.readouterr().err
