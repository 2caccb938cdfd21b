"""TRL's trainers of supervised and preference data train on what the commands write."""

import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from tiny_models import byte_tokenizer, qwen3

from infinite_rl.cli import main
from infinite_rl.dataset.rows import write

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
)
RIGHT = [
    {"type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1),
     "response": f"<answer>{n + 1}</answer>"}
    for n in range(4)
]  # fmt: skip


def step(trainer: type, config: type, rows: Any, folder: Path, **others: Any) -> dict[str, float]:
    """The log of one step on a tiny random model, which the step has changed."""
    options = {"output_dir": str(folder), "max_steps": 1, "logging_steps": 1, "report_to": []}
    options |= {"use_cpu": True, "bf16": False, "save_strategy": "no", "disable_tqdm": True}
    options |= {"per_device_train_batch_size": 2, "gradient_checkpointing": False}
    model = qwen3(max_position_embeddings=4096)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    words = byte_tokenizer(chat_template=TEMPLATE)
    made = trainer(
        model, args=config(**options), train_dataset=rows, processing_class=words, **others
    )
    made.train()
    after = dict(made.model.named_parameters())
    assert any((each != after[name]).any() for name, each in before.items())
    log: dict[str, float] = made.state.log_history[0]
    assert math.isfinite(log["loss"])
    return log


@pytest.mark.parametrize("plain", [[], ["--plain"]], ids=["messages", "texts"])
def test_sft_takes_an_export(tmp_path: Path, plain: list[str]) -> None:
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer

    write(RIGHT, tmp_path / "rows.jsonl")
    out = str(tmp_path / "sft")
    assert main(["export", str(tmp_path / "rows.jsonl"), "--to", "sft", "-o", out, *plain]) == 0
    rows = load_dataset(out, split="train", cache_dir=str(tmp_path / "cache"))
    log = step(SFTTrainer, SFTConfig, rows, tmp_path / "model")
    assert log["num_tokens"] > 0


def test_dpo_takes_pairs(tmp_path: Path) -> None:
    from datasets import load_dataset
    from trl import DPOConfig, DPOTrainer

    wrong = [{**row, "response": "<answer>99</answer>"} for row in RIGHT]
    attempts, scored = tmp_path / "attempts.jsonl", tmp_path / "scored.jsonl"
    write([*RIGHT, *wrong], attempts)
    assert main(["score", str(attempts), "-o", str(scored)]) == 0
    out = tmp_path / "pairs.jsonl"
    assert main(["data", "pairs", str(scored), "-o", str(out)]) == 0
    rows = load_dataset("json", data_files=str(out), split="train", cache_dir=str(tmp_path))
    assert len(rows) == len(RIGHT)
    reference = qwen3(max_position_embeddings=4096)
    log = step(DPOTrainer, DPOConfig, rows, tmp_path / "model", ref_model=reference)
    assert log["loss"] == pytest.approx(math.log(2))  # no preference yet
