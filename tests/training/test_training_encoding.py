"""Rows as token ids: how what is learnt ends."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import EOS, byte_tokenizer

from infinite_rl.training.core.encoding import examples

ROW = {"type": "math", "prompt": "1 + 1?", "answer": "2", "response": "<answer>2</answer>"}


def test_a_response_ends_as_completions_do(caplog: pytest.LogCaptureFixture) -> None:
    (example,) = examples([ROW], byte_tokenizer(), "plain", 100)
    assert example.response[-1] == EOS
    tokenizer = byte_tokenizer(eos_token=None)
    (example,) = examples([ROW], tokenizer, "qwen", 1000)  # with the stop string of its template
    assert tokenizer.decode(example.response).endswith("<|im_end|>") and not caplog.text
    examples([ROW], tokenizer, "plain", 100)
    assert "does not learn to stop" in caplog.text
