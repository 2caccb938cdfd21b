"""Data sets and models of the Hugging Face hub, by its own libraries and in their cache."""

import json
import re
from importlib import import_module
from pathlib import Path

from ..errors import StoreError, UsageError, import_extra, reason_of
from ..files.json_text import json_text
from .transfer import Transfer, cached

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")


def fetch_rows(uri: str, transfer: Transfer) -> Path:
    """A split as JSON lines. The `datasets` library has its own cache of what it downloads."""
    parts = uri.removeprefix("hf:").split(":")
    if len(parts) not in (2, 3) or not all(parts) or "/" in parts[-1]:
        raise UsageError(f"{uri} names no split: it must be hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT")
    datasets = import_extra("datasets", "data sets of the hub need", "data")
    try:
        config = parts[1] if len(parts) == 3 else None
        rows = datasets.load_dataset(parts[0], config, split=parts[-1])
    except (OSError, ValueError) as error:  # no network; no such data set, config or split
        raise _cannot_load(uri, error) from None

    def write(path: Path) -> None:
        try:
            with path.open("w", encoding="ascii") as file:
                file.writelines(json_text(row) + "\n" for row in rows)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{uri}: a row cannot be written as JSON: {error}") from None

    path = transfer.cache_path(uri, rows._fingerprint, f"{parts[-1]}.jsonl")
    return cached(path, Path.is_file, write)


def fetch_model(uri: str, transfer: Transfer) -> Path:  # noqa: ARG001  # it has its own progress
    """The folder of a model's snapshot; without a network the cached one, if it is complete."""
    name, _, revision = uri.removeprefix("hf-model:").partition("@")
    if not name:
        raise UsageError(f"{uri} names no model: it must be hf-model:NAME[@REVISION]")
    hub = import_extra("huggingface_hub", "models of the hub need", "train")
    try:
        folder = Path(hub.snapshot_download(name, revision=revision or None))
        missing = _missing_weights(folder)
    except (OSError, ValueError, import_module("huggingface_hub.errors").HfHubHTTPError) as error:
        raise _cannot_load(uri, error) from None
    except (AttributeError, RecursionError):
        raise StoreError(f"{uri} has a malformed index of weights in {folder}") from None
    if missing:
        raise StoreError(f"{uri} is incomplete in {folder}: {missing} is missing")
    return folder


def _missing_weights(folder: Path) -> str:
    """A weight file that the snapshot lacks, "" if it has all.

    Without a network the library returns whatever is cached, be it a tokenizer alone. Each file in
    its cache is whole.
    """
    for index in folder.glob("*.index.json"):
        for name in json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values():
            if not (folder / str(name)).is_file():
                return str(name)
    has_weights = any(path.suffix in _WEIGHTS for path in folder.iterdir())
    return "" if has_weights else "a file of weights"


def push_dataset(folder: Path, name: str, *, private: bool = False, endpoint: str = "") -> str:
    """Upload an exported folder as a data set of the hub, in one commit. Returns its address.

    The token is that of `HF_TOKEN`, or the one that `hf auth login` saved. The repository is made
    if there is none; files of an earlier upload that have other names stay. `endpoint` is the hub's
    address (default: `HF_ENDPOINT`, else the public one).

    Raises:
        UsageError: `name` is no ORG/NAME, the card is no card of the hub, there is no token, or the
            hub refuses it.
        StoreError: the hub cannot be reached, or does not take the files.
    """
    hub = import_extra("huggingface_hub", "uploads to the hub need", "data")
    errors = import_module("huggingface_hub.errors")
    check_upload(name)
    try:
        hub.DatasetCard.load(folder / "README.md")
    except ValueError as error:
        raise UsageError(f"{folder / 'README.md'} is no dataset card: {error}") from None
    api = hub.HfApi(endpoint=endpoint or None)
    try:
        api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        message = "Upload rows exported by Infinite RL"
        api.upload_folder(
            repo_id=name, folder_path=folder, repo_type="dataset", commit_message=message
        )
    except errors.HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        if status in (401, 403):
            advice = "it must have the right to write there"
            raise UsageError(f"the hub refuses the token for {name}: {advice}") from None
        raise StoreError(f"the hub does not take {name}: {reason_of(error)}") from None
    except (OSError, ValueError) as error:  # no network; its check of the card
        raise StoreError(f"cannot upload to the hub: {reason_of(error)}") from None
    except Exception as error:  # that of its HTTP client, which changes between releases
        if not type(error).__module__.startswith("http"):
            raise
        raise StoreError(f"cannot reach the hub: {reason_of(error)}") from None
    return f"{api.endpoint}/datasets/{name}"


def check_upload(name: str) -> None:
    """Check that there may be an upload. Raises UsageError: no ORG/NAME, or no token."""
    hub = import_extra("huggingface_hub", "uploads to the hub need", "data")
    if not _REPOSITORY.fullmatch(name) or ".." in name or "--" in name:
        raise UsageError(f"{name!r} is no name on the hub: it must be ORG/NAME, such as me/sums")
    if not hub.get_token():
        raise UsageError("there is no token of the hub: set HF_TOKEN, or run `hf auth login`")


def _cannot_load(uri: str, error: Exception) -> UsageError:
    return UsageError(f"{uri} cannot be loaded: {type(error).__name__}: {reason_of(error)}")
