"""One real training step of TRL on a CPU: a tiny random Qwen3, offline."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from adapter_battery import TIMEOUT, Case

from infinite_rl.adapters import for_trl
from infinite_rl.dataset.ground_truth import pack
from infinite_rl.types import Sample

PROMPT = "3+4="
_TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


def trainer(
    rows: Sequence[dict[str, Any]],
    reward: Any,
    folder: str | Path,
    words: Any = None,
    options: dict[str, Any] | None = None,
    **others: Any,
) -> Any:
    """A `GRPOTrainer` that ends after one step of four completions."""
    from datasets import Dataset
    from tiny_models import byte_tokenizer, qwen3
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=str(folder),
        max_steps=1,
        per_device_train_batch_size=4,
        num_generations=4,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        **(options or {"max_completion_length": 4}),
    )
    rows = Dataset.from_list(list(rows))
    words = words or byte_tokenizer(chat_template=_TEMPLATE)
    model = qwen3(max_position_embeddings=4096)
    return GRPOTrainer(model, reward, config, train_dataset=rows, processing_class=words, **others)


@cache
def _only() -> Any:
    """One trainer in a process: accelerate's state is the process's, and is not made in threads."""
    from tempfile import mkdtemp

    row = {"prompt": PROMPT, "ground_truth": pack(Sample("math", "", "7", ""))}
    return trainer([row] * 4, for_trl(timeout=TIMEOUT), mkdtemp())


_MADE_ONCE = Lock()


def trl(cases: Sequence[Case]) -> list[float | None]:
    """The rewards that `GRPOTrainer` computes for completions, NaN as None."""
    with _MADE_ONCE:
        made = _only()
    inputs = [{"prompt": PROMPT, "ground_truth": case.truth} for case in cases]
    said = [case.completion for case in cases]
    found = made._calculate_rewards(inputs, [PROMPT] * len(cases), said, [[1]] * len(cases))
    assert found.shape == (len(cases), 1)
    return [None if value != value else value for value in found[:, 0].tolist()]
