"""One real training step of TRL on a CPU: a tiny random Qwen3, a tokenizer of our own, offline."""

from __future__ import annotations

import string
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
_SPECIAL = ["[PAD]", "[EOS]", "[UNK]"]


def tokenizer() -> Any:
    """Letters, digits and the answer's tags, one token each, and a template for chats."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [*_SPECIAL, "<answer>", "</answer>", *string.digits, *string.ascii_letters, *" +-=?<>|"]
    found = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, "[UNK]"))
    pieces = Regex(r"</?answer>|.")
    found.pre_tokenizer = pre_tokenizers.Split(pieces, "isolated")
    found.decoder = decoders.Fuse()
    kept = PreTrainedTokenizerFast(
        tokenizer_object=found, pad_token="[PAD]", eos_token="[EOS]", unk_token="[UNK]"
    )
    kept.chat_template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
    )
    return kept


def model(words: int) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 64, "head_dim": 16}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1}
    return Qwen3ForCausalLM(
        Qwen3Config(vocab_size=words, eos_token_id=1, pad_token_id=0, **sizes, **heads)
    )


def trainer(rows: Sequence[dict[str, Any]], reward: Any, folder: str | Path) -> Any:
    """A `GRPOTrainer` that ends after one step of four completions."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    words = tokenizer()
    config = GRPOConfig(
        output_dir=str(folder),
        max_steps=1,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=4,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    rows = Dataset.from_list(list(rows))
    return GRPOTrainer(
        model(len(words)), reward, config, train_dataset=rows, processing_class=words
    )


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
