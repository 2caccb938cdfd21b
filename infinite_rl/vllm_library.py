"""vLLM in this process, as evaluation and rollout workers both use it.

Written against vLLM's documentation: `LLM` and its `generate` (docs.vllm.ai, "Offline Inference"),
`SamplingParams`, and the prompts that are token ids already (`TokensPrompt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import UsageError, reason_of


def load(model: str, **told: Any) -> Any:
    """The `LLM` of a model. Raises UsageError where vLLM is missing, or cannot load it so."""
    vllm = _library()
    try:
        return vllm.LLM(model=model, **told)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise UsageError(f"vLLM cannot load {model}: {reason_of(error)}") from None


def sampling(tokenizer: Any, stop: Sequence[str], **told: Any) -> Any:
    """`SamplingParams` of an answer that ends at any of some texts.

    vLLM looks for texts in an answer without special tokens, so that <|im_end|> would never be
    found there: those that are one token are told as tokens, too.
    """
    encoded = (tokenizer.encode(each, add_special_tokens=False) for each in stop)
    single = [int(ids[0]) for ids in encoded if len(ids) == 1]
    return _library().SamplingParams(stop=list(stop), stop_token_ids=single, **told)


def _library() -> Any:
    try:
        import vllm
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise
        raise UsageError("vLLM is not installed: pip install vllm") from None
    return vllm
