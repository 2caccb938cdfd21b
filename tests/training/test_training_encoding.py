"""Rows as token ids: how what is learnt ends."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import EOS, byte_tokenizer

from infinite_rl.training.core.encoding import examples

ROW = {"type": "math", "prompt": "1 + 1?", "answer": "2", "response": "<answer>2</answer>"}


def test_a_response_ends_with_the_end_of_a_sequence() -> None:
    (example,) = examples([ROW], byte_tokenizer(), "plain", 100)
    assert example.response[-1] == EOS


def test_without_one_it_ends_with_the_stop_string_of_the_style() -> None:
    tokenizer = byte_tokenizer(eos_token=None)
    (example,) = examples([ROW], tokenizer, "qwen", 1000)
    assert tokenizer.decode(example.response).endswith("<|im_end|>")


def test_what_will_never_end_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        examples([ROW], byte_tokenizer(eos_token=None), "plain", 100)
    assert "does not learn to stop" in caplog.text
