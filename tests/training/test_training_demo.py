"""The demo: its rows are right, wrong where they are to be, and apart; and it rises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.cli import main
from infinite_rl.training.runs import demo
from infinite_rl.training.runs.run_folder import read_events

RECIPE = demo.Recipe(rows=400, tests=100)
ROWS = demo.make_rows(RECIPE)


def test_test_prompts_share_no_number_with_those_of_training() -> None:
    test, sft, grpo = (
        {demo.number_of(row) for row in part} for part in (ROWS.test, ROWS.sft, ROWS.grpo)
    )
    assert len(test) == len(ROWS.test) == 100 and len(ROWS.sft) == len(ROWS.grpo) == 200
    assert not test & (sft | grpo) and not sft & grpo


def test_every_answer_is_the_sum_of_the_digits() -> None:
    for row in (*ROWS.test, *ROWS.sft, *ROWS.grpo):
        assert int(row["answer"]) == sum(map(int, str(demo.number_of(row))))


def test_three_in_ten_labels_of_sft_are_wrong_and_the_reward_says_so() -> None:
    scorer = Scorer()
    passed = [
        bool(given)
        for given in demo.compute_rewards(scorer, ROWS.sft, [row["response"] for row in ROWS.sft])
    ]
    assert 40 <= passed.count(False) <= 80  # 60 of 200, within three deviations
    right = [row["response"] == f"<answer>{row['answer']}</answer>" for row in ROWS.sft]
    assert passed == right
    assert all(
        scorer.judge_one(demo.sample_of(row), row["response"]).passed for row in ROWS.grpo[:9]
    )


def test_the_rows_follow_from_the_seed() -> None:
    assert demo.make_rows(RECIPE) == ROWS
    assert demo.make_rows(demo.Recipe(rows=400, tests=100, seed=1)) != ROWS


def test_the_tokenizer_has_a_token_a_digit_and_gives_an_answer_back(tmp_path: Path) -> None:
    tokenizer = demo.make_tokenizer([row["prompt"] for row in ROWS.sft])
    ids = tokenizer.encode("<answer>17</answer>", add_special_tokens=False)
    assert len(ids) == 4 and tokenizer.decode(ids) == "<answer>17</answer>"
    for row in ROWS.sft:
        assert tokenizer.unk_token_id not in tokenizer.encode(row["prompt"])


@pytest.mark.slow
def test_the_short_form_rises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some twenty seconds of two idle cores; the whole demo is in docs/results/demo.md."""
    assert main(["train", "demo", "--quick", "-o", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    after = {
        name: int(re.search(rf"after {name}: .*, (\d+) of 300", said)[1])  # type: ignore[index]
        for name in ("SFT", "GRPO")
    }
    assert after["GRPO"] > after["SFT"], said
    plot = re.search(r"reward: (.*/plots/reward.png)", said)
    assert plot and Path(plot[1]).read_bytes().startswith(b"\x89PNG")
    rewards = [event["reward"] for event in read_events(Path(plot[1]).parents[1], "train")]
    assert sum(rewards[-5:]) > sum(rewards[:5])


def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["train", "demo", "--quick", "-o", str(tmp_path / "file")]) == 1
    assert "cannot write to" in capsys.readouterr().err
