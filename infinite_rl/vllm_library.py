"""vLLM in this process, for evaluation and for rollout workers: `LLM`, `SamplingParams`.

Prompts are token ids (`TokensPrompt`). Checked with vLLM 0.32 on a CPU.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import UsageError, reason_of


def load(model: str, **options: Any) -> Any:
    """The `LLM` of a model. Raises UsageError if vLLM is not installed or cannot load it."""
    vllm = _library()
    folder = Path(model)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise UsageError(f"vLLM cannot load {model}: it has no config.json")
    if import_module("vllm.platforms").current_platform.is_cpu():
        # Else it may cut a prompt in two, and then sets back the random numbers of a request with a
        # seed, which a CPU's generator cannot do.
        options = {"enable_chunked_prefill": False, **options}
    try:
        return vllm.LLM(model=model, **options)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise UsageError(f"vLLM cannot load {model}: {reason_of(error)}") from None


def sampling(tokenizer: Any, stop: Sequence[str], **options: Any) -> Any:
    """`SamplingParams` of a completion that ends at any of the stop strings.

    vLLM searches the text without special tokens, which never has <|im_end|>: stop strings that are
    a single token are passed as token ids too.
    """
    encoded = (tokenizer.encode(each, add_special_tokens=False) for each in stop)
    single = [int(ids[0]) for ids in encoded if len(ids) == 1]
    return _library().SamplingParams(stop=list(stop), stop_token_ids=single, **options)


def _library() -> Any:
    try:
        import vllm
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise
        raise UsageError("vLLM is not installed: pip install vllm") from None
    return vllm
