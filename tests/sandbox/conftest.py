"""A runtime that compiles at once, with a cache of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from wasmtime import wat2wasm

from infinite_rl.sandbox import compiled, runtimes
from infinite_rl.sandbox.runtimes import Runtime

TINY = wat2wasm('(module (func (export "spin") (loop (br 0))) (func (export "f")))')


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """A tiny runtime in a folder of its own; its compiled code is kept in `cache` there."""
    monkeypatch.setattr(runtimes, "_FOLDER", tmp_path)
    monkeypatch.setattr(compiled, "_loaded", {})
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tiny.wasm").write_bytes(TINY)
    return Runtime("tiny", (), "tiny.wasm", hashlib.sha256(TINY).hexdigest(), "")
