"""The engine `trl`: what it is told, and two short runs of it on a CPU."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

import tiny_training
from labelled import unlike
from tiny_models import byte_tokenizer, qwen3, save_tiny
from tiny_training import events, rollouts, run_of
from tokenizers.processors import TemplateProcessing

from infinite_rl.dataset.prompt_templates import RenderedPrompt
from infinite_rl.dataset.rows import write
from infinite_rl.errors import UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core.encoding import Prompt, examples
from infinite_rl.training.core.tensors import get_response_log_probs, masked_mean, shifted
from infinite_rl.training.engines import trl_options
from infinite_rl.training.engines.trl_engine import (
    _is_truncated,
    _set_stop_tokens,
    _text_of_ids,
    _with_vllm_stops,
)
from infinite_rl.training.runs import checkpoint

pytestmark = pytest.mark.slow

ROWS = [
    {"id": f"r{n}", "type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1),
     "response": f"<answer>{n + 1}</answer>"}
    for n in range(6)
]  # fmt: skip


def config(model: Path | str, out: Path, **changes: Any) -> TrainingConfig:
    options = {"gradient_checkpointing": False}
    own = {"engine": "trl", "device": "cpu", "batch_size": 2, "max_new_tokens": 5}
    values = {**own, "max_steps": 3, "tokens_per_batch": 8192, "engine_options": options}
    return tiny_training.config(Path(model), out, **{**values, **changes})


def letters(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float | None]:
    assert all(set(row) == set(ROWS[0]) for row in rows)
    return [None if not text else len(set(text)) / len(text) for text in texts]


def test_grpo_leaves_what_a_run_leaves_and_resumes(model: Path, tmp_path: Path) -> None:
    seen: list[int] = []

    def trained(steps: int, resume: Path | None = None, kl_coef: float = 0.01) -> Path:
        settings = config(model, tmp_path, max_steps=steps, kl_coef=kl_coef)
        return train(ROWS, letters, settings, resume=resume, on_step=lambda n, _: seen.append(n))

    run = run_of(trained(3))
    assert [path.name for path in checkpoint.ready(run)] == ["step_2", "step_3"]
    found = trained(4, run)
    assert found == trained(4, run) == run / "checkpoints" / "step_4" and seen == [1, 2, 3, 4]
    steps = events(found, "train")
    assert [each["step"] for each in steps] == [1, 2, 3, 4]
    names = {"loss", "reward", "length", "kl", "entropy", "learning_rate", "tokens_per_s"}
    assert all(names <= set(each) for each in steps)
    assert steps[0]["learning_rate"] == pytest.approx(1e-3)
    assert len(rollouts(found)) == 4 * 2 * 4
    assert {row for (row,) in rollouts(found, "row")} <= {row["id"] for row in ROWS}
    before, after = (loaded(path) for path in (model, found))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    with pytest.raises(UsageError, match="other settings: kl_coef was 0.01, is 0.1. Use"):
        trained(4, run, kl_coef=0.1)
    with pytest.raises(UsageError, match="no complete checkpoint"):
        trained(4, tmp_path)


def loaded(folder: str | Path) -> dict[str, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert AutoTokenizer.from_pretrained(folder).eos_token == "<end>"
    return AutoModelForCausalLM.from_pretrained(folder).state_dict()


def test_sft_learns_the_rows_responses_and_their_loss_is_ours(model: Path, tmp_path: Path) -> None:

    told = config(model, tmp_path, algorithm="sft", batch_size=6, max_steps=8, learning_rate=1e-2)
    losses: list[float] = []
    found = train(ROWS, None, told, on_step=lambda _, values: losses.append(values["loss"]))
    given = examples(ROWS, byte_tokenizer(), "plain", 256)
    batch = shifted([each.prompt for each in given], [each.response for each in given])
    scored = get_response_log_probs(qwen3(), batch["input_ids"], batch["labels"])["log_probs"]
    ours = -masked_mean(scored, batch["response_mask"]).item()
    assert losses[0] == pytest.approx(ours, abs=2e-4)  # TRL tells four digits
    assert losses[-1] < losses[0] - 1
    assert checkpoint.step_of(found) == 8


def test_an_answer_that_was_cut_off_gets_no_reward(tmp_path: Path) -> None:
    ends = [*range(100, 160), 257]  # so that some of a random model's answers end
    tiny = qwen3()
    tiny.generation_config.eos_token_id = ends
    save_tiny(tmp_path / "model", tiny)
    settings = config(
        tmp_path / "model", tmp_path / "out", reward_truncated=False, group_size=8, max_steps=1
    )
    found = train(ROWS, lambda _, texts: [1.0] * len(texts), settings)
    (event,) = events(found, "train")
    rewards = [reward for (reward,) in rollouts(found, "reward")]
    assert 0 < rewards.count(0.0) / len(rewards) == event["truncated"] < 1
    assert set(rewards) == {0.0, 1.0}


def test_what_ends_is_an_end_token_or_a_stop_string() -> None:

    prompt = Prompt({}, RenderedPrompt("?", ("\nUser:",)), [1])
    for ids, completion, truncated in (
        ([1, 2, 3], "abc", True),
        ([1, 2, 9], "ab", False),
        ([1, 2], "ab", False),  # vLLM leaves the stop string out
        ([1, 2, 3], "a\nUser:b", False),
    ):
        assert _is_truncated(ids, prompt, completion, limit=3, ends={9}) == truncated


def test_peft_trains_adapters(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are judged by the project's own reward as they ask."""
    options = {"gradient_checkpointing": False, "peft": {"r": 2, "target_modules": ["q_proj"]}}
    values = {"max_steps": 1, "reward": {"format_weight": 0.5}, "engine_options": options}
    found = train(ROWS, None, config(model, tmp_path / "a", **values))
    assert {reward for (reward,) in rollouts(found, "reward")} == {0.0}
    assert json.loads((found / "adapter_config.json").read_text())["r"] == 2
    assert not (found / "model.safetensors").exists()
    wrong = config(model, tmp_path / "b", engine_options={"peft": {"rank": 2}})
    with pytest.raises(UsageError, match="peft refuses"):
        train(ROWS, letters, wrong)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UsageError, match=r"needs peft: pip install 'infinite-rl\[trl\]'"):
        train(ROWS, letters, config("m", tmp_path / "c", engine_options=options))
    assert not (tmp_path / "c").exists(), "refused before a folder is made"


def test_old_samples_serve_as_many_steps_as_they_may_be_old(model: Path, tmp_path: Path) -> None:
    found = train(ROWS, letters, config(model, tmp_path, max_staleness=1, loss="dapo"))
    assert [step for (step,) in rollouts(found, "step")] == [1] * 16 + [
        3
    ] * 16  # the second half of which no step has learnt from


def arguments(model: str, out: Path, longest: int = 32, **changes: Any) -> Any:

    told = config(model, out, **changes)
    trl_options.check(told)
    return trl_options.arguments(told, out, longest)


def test_the_config_is_told_to_trl(tmp_path: Path) -> None:
    given = arguments(
        "m", tmp_path, loss="dapo", kl_coef=0.1, max_steps=7, warmup_steps=2, batch_size=6,
        temperature=0.7, tokens_per_batch=200, weight_decay=0.1, max_staleness=2, seed=5,
        dtype="bfloat16", clip_low=0.1, top_p=0.9, max_grad_norm=0.5, adam_beta2=0.99,
    )  # fmt: skip
    assert given.per_device_train_batch_size == 6  # of 24 sequences: no more fit in 200 tokens
    assert given.gradient_accumulation_steps == 4 and given.steps_per_generation == 12
    assert (given.num_generations, given.max_completion_length) == (4, 5)
    assert (given.loss_type, given.epsilon, given.epsilon_high) == ("dapo", 0.1, 0.28)
    assert (given.beta, given.temperature, given.top_k) == (0.1, 0.7, 0)
    assert (given.max_steps, given.warmup_steps, given.learning_rate) == (7, 2, 1e-3)
    assert (given.top_p, given.max_grad_norm) == (0.9, 0.5)
    assert (given.adam_beta1, given.adam_beta2) == (0.9, 0.99)
    assert given.lr_scheduler_kwargs == {"min_lr_rate": 0.1} and given.weight_decay == 0.1
    assert given.bf16 and given.use_cpu and given.seed == 5
    assert Path(given.output_dir) == tmp_path / "trl"
    gspo = arguments("m", tmp_path, loss="gspo")
    assert (gspo.importance_sampling_level, gspo.loss_type) == ("sequence", "grpo")
    assert (gspo.epsilon, gspo.epsilon_high) == (3e-4, 4e-4)
    assert arguments("m", tmp_path, loss="dr_grpo").scale_rewards == "none"
    sft = arguments("m", tmp_path, algorithm="sft", batch_size=6)
    assert (sft.per_device_train_batch_size, sft.max_length, sft.packing) == (6, None, False)


def test_engine_options_are_passed_on_and_have_the_last_word(tmp_path: Path) -> None:
    given = arguments(
        "m",
        tmp_path,
        engine_options={
            "use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.4,
            "per_device_train_batch_size": 4, "epsilon_high": 0.3, "scale_rewards": "batch",
        },
    )  # fmt: skip
    assert (given.use_vllm, given.vllm_mode) == (True, "colocate")
    assert given.vllm_gpu_memory_utilization == 0.4
    assert (given.per_device_train_batch_size, given.gradient_accumulation_steps) == (4, 2)
    assert (given.epsilon_high, given.scale_rewards) == (0.3, "batch")
    sharded = {"fsdp": "full_shard", "fsdp_config": {"cpu_ram_efficient_loading": True}}

    assert trl_options.settings(
        config("m", tmp_path, engine_options=sharded), tmp_path, 8
    ).items() >= (sharded.items())


def test_what_trl_cannot_do_is_one_clear_error(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"engine_options": {"use_vlm": True}}, "'use_vlm', no option .* did you mean use_vllm"),
        ({"engine_options": {"output_dir": "x"}}, "output_dir"),
        ({"engine_options": {"use_vllm": True}, "algorithm": "sft"}, "of TRL's SFTConfig"),
        ({"engine_options": {"per_device_train_batch_size": 3}}, "no whole number of passes of 3"),
        ({"engine_options": {"generation_batch_size": 8}}, "TRL refuses these options"),
        ({"loss": "dapo_group"}, "no loss like dapo_group"),
        ({"loss": "reinforce", "max_staleness": 1}, "reinforce with staleness"),
        ({"sft_weight": 0.5}, "sft_weight"),
        ({"kl_coef": 0.1, "kl_estimator": "k1"}, "k3 alone"),
        ({"device": "cuda:1"}, "CUDA_VISIBLE_DEVICES"),
    ]
    assert not unlike(
        (f"^UsageError: .*{message}", partial(arguments, "m", tmp_path, **changes))
        for changes, message in cases
    )


def test_a_first_token_is_not_given_twice(tmp_path: Path) -> None:

    def tokenizer(template: str) -> Any:
        found = byte_tokenizer(bos_token="<pad>")
        special = [("<pad>", found.pad_token_id), ("<end>", found.eos_token_id)]
        found._tokenizer.post_processor = TemplateProcessing(
            single=template, special_tokens=special
        )
        return found

    def read(text: str, found: Any) -> str:
        ids = found.encode(text, add_special_tokens=False)
        return _text_of_ids(Prompt(ROWS[0], RenderedPrompt(text), ids), found)

    assert read("<pad>ab", tokenizer("<pad> $A")) == "ab"
    assert read("<pad>ab", byte_tokenizer(bos_token="<pad>")) == "<pad>ab"
    with pytest.raises(UsageError, match="other tokens"):
        read("ab", tokenizer("$A <end>"))


def test_vllm_is_told_where_an_answer_ends() -> None:
    # It knows the ends in the model's files alone: a base model would write on after its turn.

    told = config(
        "m", Path(), engine_options={"use_vllm": True, "generation_kwargs": {"min_tokens": 2}}
    )
    asked = [Prompt(ROWS[0], RenderedPrompt("?", ("<pad>", "\nUser:")), [63])]
    tiny, tokenizer = qwen3(), byte_tokenizer()
    ends = _set_stop_tokens(tiny, tokenizer, asked, told)
    assert tiny.generation_config.eos_token_id == [257, 256]
    assert _with_vllm_stops(told, ends).engine_options["generation_kwargs"] == {
        "stop_token_ids": [257, 256], "stop": ["\nUser:"], "min_tokens": 2,
    }  # fmt: skip
    plain = config("m", Path())
    assert _with_vllm_stops(plain, ends) is plain


def test_a_mixture_trains_with_each_sets_reward_and_style(model: Path, tmp_path: Path) -> None:
    write([{"id": f"a{n}", "prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(2)],
          tmp_path / "a.jsonl")  # fmt: skip
    write([{"question": f"{n}?", "answer": f"#### {n}"} for n in range(2)], tmp_path / "b.jsonl")
    sets = [
        {"name": "a", "path": str(tmp_path / "a.jsonl"), "type": "math"},
        {"name": "b", "path": str(tmp_path / "b.jsonl"), "benchmark": "gsm8k",
         "prompt_template": "question_answer", "reward": {"format_weight": 0.5}},
    ]  # fmt: skip
    told = config(model, tmp_path / "out", datasets=sets, mix="sequential", max_steps=2)
    found = rollouts(train(None, None, told))
    rows = list(dict.fromkeys(each["row"] for each in found))
    assert rows == ["a/a0", "a/a1", "b/gsm8k-test-0", "b/gsm8k-test-1"]
    assert all(
        each["prompt"].startswith("Question:") == each["row"].startswith("b/") for each in found
    )
    assert len(found) == 2 * 2 * 4 and {each["reward"] for each in found} <= {0.0, 0.5, 1.0}
