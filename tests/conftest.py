"""What every test leaves as it has found it, and the server that some share."""

from __future__ import annotations

import gc
import logging
import signal
from collections.abc import Iterator

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As where a script runs the tests in its background; all processes begun here would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Quick tests that are no part of the loop: torch, servers, processes, long tables.
_NOT_CORE = {
    *("test_evaluation.py", "test_evaluation_local.py", "test_evaluation_watch.py"),
    *("test_container.py", "test_launch_aws.py", "test_storage.py", "test_storage_folders.py"),
    *(
        "test_async_controller.py",
        "test_checkpoint.py",
        "test_prompt_queue.py",
        "test_train_cli.py",
    ),
    *(
        "test_train_cli.py",
        "test_training_demo.py",
        "test_training_local.py",
        "test_training_mixed.py",
    ),
    *("test_training_publishing.py", "test_training_sampling.py", "test_math_algebra.py"),
    *("test_export.py", "test_models.py", "test_backoff.py", "test_shards.py", "test_workers.py"),
    *("test_procedural.py", "test_procedural_fuzz.py", "test_sandbox_docs.py"),
}


@pytest.hookimpl(tryfirst=True)  # before the expression after -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tiers = {mark.name for mark in item.iter_markers()} & {"slow", "soak"}
        if not tiers and item.path.name not in _NOT_CORE:
            item.add_marker("core")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """To look through all modules and tests for garbage again and again is a quarter of this."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # they stay to the end
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # or guests are freed after wasmtime's own module, and each says so


@pytest.fixture(autouse=True)
def _log_levels() -> Iterator[None]:
    """The command line shows log lines for the rest of its process: not those of later tests."""
    loggers = [logging.getLogger(name) for name in ("infinite_rl", "infinite_rl.launch")]
    before = [(each.level, list(each.handlers)) for each in loggers]
    yield
    for each, (level, handlers) in zip(loggers, before, strict=True):
        each.setLevel(level)
        each.handlers[:] = handlers


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of an S3 without buckets, one for all tests."""
    from s3_server import serving

    with serving() as endpoint:
        yield endpoint
