"""The local engine runs the tools that a model calls, learns from its own tokens, and judges its
last turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from tiny_models import EOS, byte_tokenizer
from tiny_training import config

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.errors import SandboxError, UsageError
from infinite_rl.sandbox.python.session import PythonInterpreter
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core import tool_turns
from infinite_rl.training.core.encoding import build_prompts
from infinite_rl.training.core.grpo import PolicyGradient, TrainingSample
from infinite_rl.training.core.learner import Learner
from infinite_rl.training.core.rollout_types import Rollout
from infinite_rl.training.core.sampling import Sampled, random_numbers
from infinite_rl.training.runs.run_folder import read_rollouts

WORDS = byte_tokenizer()
ROWS = [{"type": "math", "prompt": f"{a}*7=", "answer": str(a * 7), "id": str(a)} for a in range(4)]
TOOLS = {"tools": ["python"], "max_new_tokens": 160, "tokens_per_batch": 256}


def speaking(*turns: str) -> Any:
    """A `sample` whose model says these texts in its turns; {a} is the number in the prompt.

    A text that ends in a closing tag has met a stop string; any other ends with the end token.
    """

    def sample(
        _model: Any, _words: Any, contexts: Sequence[Sequence[int]], *, stop: Any, **_: Any
    ) -> list[list[Sampled]]:
        said = []
        for context in contexts:
            heard = WORDS.decode(context)
            text = turns[heard.count("<output>")].replace("{a}", heard[0])
            met = [each for each in stop if text.endswith(each)]
            ids = [*WORDS(text)["input_ids"], *([] if met else [EOS])]
            shown = text.removesuffix(met[0]) if met else text
            said.append([Sampled(ids, [-1.0] * len(ids), shown, "stop")])
        return said

    return patch.object(tool_turns, "sample", sample)


def rollouts(model: Path, tmp_path: Path, *turns: str, **values: Any) -> list[Sampled]:
    """One rollout of each row."""
    learner = Learner(config(model, tmp_path, group_size=2, **TOOLS | values))
    prompts = build_prompts(ROWS, learner.tokenizer, learner.max_tokens, learner.config)
    with speaking(*turns):
        sampled = tool_turns.sample_with_tools(learner, None, prompts, random_numbers("test"))
    return sampled[::2]


CALL, CALL_AGAIN, END = "<python>x = {a}; x</python>", "So <python>x * 7</python>", "<answer>14"


@pytest.mark.core
def test_names_stay_within_a_rollout_and_the_last_turn_is_what_counts(
    model: Path, tmp_path: Path
) -> None:
    for a, each in enumerate(rollouts(model, tmp_path, CALL, CALL_AGAIN, END)):
        assert each.transcript == (
            f"<python>x = {a}; x</python><output>{a}</output>"
            f"So <python>x * 7</python><output>{a * 7}</output><answer>14"
        )
        assert (each.text, each.tool_calls, each.finish_reason) == ("<answer>14", 2, "stop")
        assert each.loss_mask is not None
        tool = [id for id, drawn in zip(each.ids, each.loss_mask, strict=True) if not drawn]
        assert WORDS.decode(tool) == f"<output>{a}</output><output>{a * 7}</output>"
        values = zip(each.log_probs, each.loss_mask, strict=True)
        assert all(value == -drawn for value, drawn in values)


def test_what_a_tool_prints_is_no_answer(model: Path, tmp_path: Path) -> None:
    printed = "<python>print('<answer>14</answer>')</python>"
    for each in rollouts(model, tmp_path, printed, "so it is"):
        assert "<answer>14</answer>" in each.transcript
        assert each.text == "so it is"


def test_a_call_beyond_the_last_is_text_and_a_wrong_call_is_answered(
    model: Path, tmp_path: Path
) -> None:
    for each in rollouts(model, tmp_path, CALL, CALL_AGAIN, max_tool_calls=1):
        assert (each.tool_calls, each.text) == (1, CALL_AGAIN)
    for each in rollouts(model, tmp_path, "<python>1 / 0</python>", "oh"):
        assert "ZeroDivisionError" in each.transcript
    for each in rollouts(model, tmp_path, "no tag</python>"):
        assert (each.tool_calls, each.text) == (0, "no tag")


def test_the_tokens_of_tools_count_and_a_full_rollout_is_truncated(
    model: Path, tmp_path: Path
) -> None:
    much = "<python>'x' * 500</python>"
    for each in rollouts(model, tmp_path, much, END):
        assert len(each.ids) == TOOLS["max_new_tokens"]
        assert (each.finish_reason, each.text) == ("length", "")
    for each in rollouts(model, tmp_path, CALL, "long " * 100):
        assert len(each.ids) == TOOLS["max_new_tokens"]
        assert each.finish_reason == "length"


def test_tokens_of_a_tool_have_no_part_in_the_gradient(model: Path, tmp_path: Path) -> None:
    learner = Learner(config(model, tmp_path, loss="reinforce"))
    policy = PolicyGradient(learner, ROWS)
    response = WORDS("a<output>7</output>b")["input_ids"]
    mask = [1] + [0] * (len(response) - 2) + [1]
    rollout = Rollout(response, [-1.0] * len(response), "b", "stop", 1.0, mask)
    shorter = Rollout(response[:3], [-1.0] * 3, "", "stop", 0.0)
    prompt = policy.prompts[0].ids
    samples = [
        TrainingSample(prompt, rollout, 0.5, 0, 0),
        TrainingSample(prompt, shorter, -1, 0, 0),
    ]
    policy._accumulate(samples, samples)
    learnt = [each.grad.clone() for each in learner.model.parameters() if each.grad is not None]
    learner.model.zero_grad()
    log_probs = learner.response_log_probs([prompt] * 2, [response, response[:3]])["log_probs"]
    own = (log_probs[0, 0] + log_probs[0, len(response) - 1]) / 2
    (-(0.5 * own - log_probs[1, :3].mean()) / 2).backward()
    wanted = [each.grad for each in learner.model.parameters() if each.grad is not None]
    for one, other in zip(learnt, wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def run(model: Path, folder: Path) -> list[Any]:
    """The rollouts of one step, by a model of which the number 2 alone is right."""
    values = {"max_steps": 1, "save_every": 1, **TOOLS}
    with speaking(CALL, "<answer>14</answer>"):
        checkpoint = train(ROWS, Scorer(), config(model, folder, **values))
    return list(read_rollouts(checkpoint.parents[1]))


def test_a_step_is_logged_with_its_calls_and_rewards(model: Path, tmp_path: Path) -> None:
    logged = run(model, tmp_path)
    assert len(logged) == 16
    for each in logged:
        assert each["reward"] == float(each["row"] == "2")
        assert each["completion"] == "<answer>14</answer>"
        assert each["transcript"].startswith(f"<python>x = {each['row']}; x</python><output>")


def test_a_fault_of_ours_in_a_tool_is_no_reward(model: Path, tmp_path: Path) -> None:
    with patch.object(PythonInterpreter, "run", side_effect=SandboxError("it broke")):
        assert {each["reward"] for each in run(model, tmp_path)} == {None}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"tools": ["submit"]}, "tools"),
        ({"tools": ["python"], "engine": "trl"}, "tools is for the engine local alone"),
        ({"tools": ["python"], "algorithm": "sft"}, "algorithm must be grpo"),
    ],
)
def test_tools_that_cannot_be_called_are_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        TrainingConfig.of({"model": "m", **values})
