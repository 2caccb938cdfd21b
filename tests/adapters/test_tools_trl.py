"""TRL's own trainer lets a model call our tools, masks what they say, and our reward judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import tiny_models
import trl_step

from infinite_rl.adapters import for_trl, tools_for_trl
from infinite_rl.dataset.ground_truth import pack
from infinite_rl.errors import SandboxError
from infinite_rl.layout import tagged
from infinite_rl.sandbox.python.session import PythonInterpreter
from infinite_rl.types import Sample

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{%- for t in tools or [] %}<tool:{{ t.function.name }}>{% endfor -%}"
    "{%- for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] %}<call>{{ c.function.name }} "
    "{{ c.function.arguments | tojson }}{% endfor %}"
    "{%- if m.role == 'assistant' %}<end>{% endif %}{% endfor %}"
    "{%- if add_generation_prompt %}<assistant>{% endif %}"
)


def calls(code: str) -> str:
    call = {"type": "function", "function": {"name": "python", "arguments": {"code": code}}}
    return json.dumps({"role": "assistant", "content": None, "tool_calls": [call]})


def says(text: str) -> str:
    return json.dumps({"role": "assistant", "content": text})


def step(folder: Path, turns: Callable[[int, list[str]], str]) -> dict[str, Any]:
    """One step of four rollouts; `turns` says what the model says, by number and tools' output.

    A random model makes no calls: its words are given, and so is how they are read. Masks, rewards,
    loss and update are TRL's.
    """
    import trl.trainer.grpo_trainer as trl

    words = tiny_models.byte_tokenizer(chat_template=TEMPLATE)
    words.response_template = "given"
    seen: dict[str, Any] = {}

    def parsed(_tokenizer: Any, ids: Any, *_args: Any, **_options: Any) -> Any:
        return json.loads(words.decode(ids, skip_special_tokens=True))

    def spoken(prompts: Sequence[Sequence[int]], *_args: Any, **_options: Any) -> Any:
        ids = []
        for number, prompt in enumerate(prompts):
            heard = [part.split("<")[0] for part in words.decode(prompt).split("<tool>")[1:]]
            ids.append([*words(turns(number, heard))["input_ids"], tiny_models.EOS])
        return ids, [[-1.0] * len(each) for each in ids]

    row = {"prompt": [{"role": "user", "content": "6 * 7?"}]}
    row["ground_truth"] = pack(Sample("math", "", "42", ""))  # type: ignore[assignment]
    options = {"max_completion_length": 2000, "max_tool_calling_iterations": 3}
    with (
        patch.object(trl, "parse_response", parsed),
        patch.object(trl, "add_response_schema", lambda words: words),
    ):
        trainer = trl_step.trainer(
            [row] * 4,
            for_trl(timeout=5),
            folder,
            words,
            options,
            environment_factory=tools_for_trl("python"),
        )
        judge, generate = trainer._calculate_rewards, trainer._generate_and_score_completions

        def judged(inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
            rewards = judge(inputs, prompts, completions, ids)
            seen.update(rewards=rewards[:, 0].tolist(), completions=completions)
            return rewards

        def generated(inputs: Any) -> Any:
            batch = generate(inputs)
            seen.update(mask=batch["tool_mask"], advantages=batch["advantages"].tolist())
            return batch

        trainer._generate_single_turn = spoken
        trainer._calculate_rewards = judged
        trainer._generate_and_score_completions = generated
        before = {name: each.detach().clone() for name, each in trainer.model.named_parameters()}
        trainer.train()
    seen["moved"] = any(
        bool((each != before[name]).any()) for name, each in trainer.model.named_parameters()
    )
    return seen


def test_a_step_of_trl_uses_the_tool_and_learns_from_the_verdict(tmp_path: Path) -> None:
    def turns(number: int, heard: list[str]) -> str:
        if not heard:
            return calls("x = 6")
        if len(heard) == 1:
            return calls("x * 7")
        return says(tagged(heard[1]) if number % 2 else "I do not know")

    seen = step(tmp_path, turns)
    heard = [[m["content"] for m in each if m["role"] == "tool"] for each in seen["completions"]]
    assert heard == [["(no output)", "42"]] * 4
    assert seen["rewards"] == [0.0, 1.0, 0.0, 1.0]
    assert bool((seen["mask"] == 0).any())  # the words of the tool carry no loss
    assert seen["moved"]


def test_a_fault_of_ours_in_a_tool_gives_no_advantage(tmp_path: Path) -> None:
    def turns(number: int, heard: list[str]) -> str:
        return says("I do not know") if heard or number % 2 else calls("6 * 7")

    with patch.object(PythonInterpreter, "run", side_effect=SandboxError("it broke")):
        seen = step(tmp_path, turns)
    lost = [value != value for value in seen["rewards"]]
    assert lost == [True, False, True, False]
    assert seen["advantages"] == [0.0] * 4
