"""Data sets and models of the Hugging Face hub, by its own libraries and in their cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..dataset.rows import write
from ..errors import StoreError, UsageError, reason_of
from .transfer import Transfer, kept

_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")


def fetch_rows(uri: str, transfer: Transfer) -> Path:
    """A split as JSON lines. The `datasets` library has its own cache of what it downloads."""
    name, config, split = _split_name(uri)
    datasets = _datasets()
    try:
        rows = datasets.load_dataset(name, config, split=split)
    except (OSError, ValueError) as error:  # no network, or no such data set, config or split
        raise UsageError(f"{uri} cannot be loaded: {_reason(error)}") from None
    place = transfer.place(uri, rows._fingerprint, f"{split}.jsonl")
    return kept(place, Path.is_file, lambda path: write(rows, path))


def fetch_model(uri: str, transfer: Transfer) -> Path:  # noqa: ARG001  # it has its own progress
    """The folder of a model's snapshot; without a network that in the library's cache, if whole."""
    name, _, revision = uri.removeprefix("hf-model:").partition("@")
    if not name:
        raise UsageError(f"{uri} names no model: it must be hf-model:NAME[@REVISION]")
    hub = _hub()
    try:
        folder = Path(hub.snapshot_download(name, revision=revision or None))
        lacking = _lacking(folder)
    except (OSError, ValueError, hub.errors.HfHubHTTPError) as error:
        raise UsageError(f"{uri} cannot be loaded: {_reason(error)}") from None
    except (AttributeError, RecursionError):
        raise StoreError(f"{uri} has an index of weights in {folder} that is none") from None
    if lacking:
        raise StoreError(f"{uri} is not whole in {folder}: {lacking} is missing")
    return folder


def _lacking(folder: Path) -> str:
    """Weights that a snapshot lacks, "" where it has all.

    The library gives what is in its cache where the hub does not answer, be it a tokenizer alone.
    Each file there is whole.
    """
    for index in folder.glob("*.index.json"):
        for name in json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values():
            if not (folder / str(name)).is_file():
                return str(name)
    found = any(path.suffix in _WEIGHTS for path in folder.iterdir())
    return "" if found else "a file of weights"


def _split_name(uri: str) -> tuple[str, str | None, str]:
    parts = uri.removeprefix("hf:").split(":")
    if len(parts) not in (2, 3) or not all(parts) or "/" in parts[-1]:
        raise UsageError(f"{uri} names no split: it must be hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT")
    return parts[0], parts[1] if len(parts) == 3 else None, parts[-1]


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {reason_of(error)}"


def _datasets() -> Any:
    try:
        import datasets
    except ModuleNotFoundError:
        message = "names of the hub need the datasets library: pip install 'infinite-rl[data]'"
        raise UsageError(message) from None
    return datasets


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ModuleNotFoundError:
        message = "models of the hub need huggingface_hub: pip install 'infinite-rl[train]'"
        raise UsageError(message) from None
    return huggingface_hub
