"""What transformers loads: whatever is wrong with a model's files is said in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import EOS, byte_tokenizer, qwen3, save_tiny

from infinite_rl.dataset.prompt_templates import token_ids
from infinite_rl.errors import UsageError
from infinite_rl.training.core.encoding import examples
from infinite_rl.training.core.learner import (
    check_fit,
    context_of,
    pretrained,
    pretrained_tokenizer,
)


def load_model(folder: Path) -> Any:
    return pretrained(transformers.AutoModelForCausalLM, str(folder), {})


def load_tokenizer(folder: Path | str) -> Any:
    return pretrained_tokenizer(str(folder), {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that can be loaded."""
    return save_tiny(tmp_path / "model")


def configure(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])


SPOILED: dict[str, Callable[[Path], object]] = {
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "half the weights": truncate,
    "no config": lambda folder: (folder / "config.json").unlink(),
    "a config of other types": lambda folder: configure(folder, hidden_size="x"),
    "a config of other shapes": lambda folder: configure(folder, hidden_size=64),
    "an unknown kind": lambda folder: configure(folder, model_type="qwen99"),
}


def test_a_model_and_its_tokenizer_are_loaded(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    check_fit(load_model(folder), tokenizer, str(folder))
    assert token_ids(tokenizer, "ab") == tokenizer.encode("ab", add_special_tokens=False)


def test_a_damaged_model_is_refused_in_one_line(tmp_path: Path) -> None:
    for name, spoil in SPOILED.items():
        folder = save_tiny(tmp_path / name / "model")
        spoil(folder)
        with pytest.raises(UsageError, match="model cannot be loaded: .") as refused:
            load_model(folder)
        assert "\n" not in str(refused.value)


def test_a_folder_that_is_no_model_lacks_its_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    with pytest.raises(UsageError, match="model cannot be loaded: it has no config.json$"):
        load_model(folder)


def test_an_option_of_another_engine_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match="'use_vllm', no keyword .* TRL need engine: trl"):
        pretrained(transformers.AutoModelForCausalLM, str(folder), {"use_vllm": True})


def test_a_models_own_code_is_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("builtins.input", lambda *said: asked.append(said) or "y")
    own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    told = {"model_type": "own", "auto_map": own}
    (folder / "config.json").write_text(json.dumps(told))
    (folder / "own.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    with pytest.raises(UsageError, match="contains custom code"):
        load_model(folder)
    assert not asked and not (folder / "ran").exists()


def test_a_tokenizer_that_is_empty_or_of_another_model_is_refused(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(UsageError, match="has no tokenizer|cannot be loaded"):
        load_tokenizer(folder)
    with pytest.raises(UsageError, match="ids up to 257, but its model only 100 embeddings"):
        check_fit(qwen3(vocabulary=100, eos_token_id=9, pad_token_id=9), byte_tokenizer(), "m")
    with pytest.raises(UsageError, match="half a surrogate pair.*ud800"):
        token_ids(byte_tokenizer(), "price: \ud800 5")


def test_a_name_that_is_no_folder_is_said_to_be_asked_of_the_hub() -> None:
    class Hub:
        @staticmethod
        def from_pretrained(name: str, **_: object) -> None:
            raise OSError(f"no {name} there")

    with pytest.raises(UsageError, match="no such folder, so the hub was asked.: no tiny there"):
        pretrained(Hub, "tiny", {})
    for name in ("/no/such/model", "a/b/c", "./here"):
        with pytest.raises(UsageError, match="there is no model folder"):
            load_tokenizer(name)


def test_how_long_a_text_may_be_is_also_said_by_models_of_text_and_pictures() -> None:
    assert context_of(transformers.Gemma3Config(text_config={"max_position_embeddings": 7})) == 7
    assert context_of(transformers.MambaConfig()) is None


ROW = {"type": "math", "prompt": "1 + 1?", "answer": "2", "response": "<answer>2</answer>"}


def test_a_response_ends_as_completions_do(caplog: pytest.LogCaptureFixture) -> None:
    (example,) = examples([ROW], byte_tokenizer(), "plain", 100)
    assert example.response[-1] == EOS
    tokenizer = byte_tokenizer(eos_token=None)
    (example,) = examples([ROW], tokenizer, "qwen", 1000)  # with the stop string of its template
    assert tokenizer.decode(example.response).endswith("<|im_end|>") and not caplog.text
    examples([ROW], tokenizer, "plain", 100)
    assert "does not learn to stop" in caplog.text
