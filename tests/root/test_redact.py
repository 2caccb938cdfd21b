"""What is taken for a secret, and what is not."""

from __future__ import annotations

import pytest

from infinite_rl.redact import REDACTED, redact


@pytest.mark.parametrize(
    "name",
    [
        *("token", "hub_token", "HF_TOKEN", "hf-token", "--token", "api_key", "api-key", "apikey"),
        *("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "db_password", "PASSWORD", "client_secret"),
        *("credentials", "passphrase", "Authorization", "http.authorization"),
    ],
)
def test_these_names_hold_secrets(name: str) -> None:
    assert redact({name: "x"}) == {name: REDACTED}
    assert redact({name: ["x", 1]}) == {name: REDACTED}
    assert redact({name: None}) == {name: None}


@pytest.mark.parametrize(
    "name",
    [
        *("eos_token", "pad_token", "max_new_tokens", "tokens_per_batch", "tokenizer", "keep"),
        *("key", "monkey", "model", "stop_token", "batch_size", "secretary"),
    ],
)
def test_these_names_do_not(name: str) -> None:
    assert redact({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "text",
    [
        *("sk-proj-0123456789abcdefghij", "hf_0123456789abcdefghij", "AKIA0123456789ABCDEF"),
        *("ghp_0123456789abcdefghij0123", "AIzaSy0123456789abcdefghij0123"),
    ],
)
def test_keys_of_known_services_are_seen_anywhere(text: str) -> None:
    assert redact({"note": f"with {text}."}) == {"note": f"with {REDACTED}."}


def test_what_is_no_secret_stays_as_it_is() -> None:
    value = {"a": 1, "b": [1.5, None, True, "text"], "c": {"d": "sk-learn"}, 3: b"x"}
    assert redact(value) == value
