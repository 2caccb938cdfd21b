"""What every test leaves as it has found it, and the server that some share."""

import gc
import logging
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import NO_KEY, Here
from core_tier import CORE
from hypothesis import settings
from long_first import long_first

from infinite_rl import cli

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As where a script runs the tests in its background; all processes begun here would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Verdicts wait for optimised code, so that nothing is compiled beside the tests.
os.environ.setdefault("INFINITE_RL_COMPILER", "optimising")
# Ray would replace `print` for the rest of the process, and tests of builtins would find its own.
os.environ.setdefault("RAY_TQDM_PATCH_PRINT", "0")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.option.markexpr != "core" or collection_path.suffix != ".py":
        return None
    files = {entry.partition("::")[0] for entry in CORE}
    return None if "/".join(collection_path.parts[-2:]) in files else True


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before the expression after -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        file = "/".join(item.path.parts[-2:])
        test = item.name.partition("[")[0]
        is_quick = not {mark.name for mark in item.iter_markers()} & {"slow", "soak"}
        if is_quick and {file, f"{file}::{test}"} & CORE:
            item.add_marker("core")
    yield
    if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
        items[:] = long_first(items, int(workers))


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium: the system's, or playwright's own; without one the tests are skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as playwright:
        if not found and not Path(playwright.chromium.executable_path).exists():
            pytest.skip(
                "no Chromium: install Debian's `chromium`, or `playwright install chromium`"
            )
        opened = playwright.chromium.launch(executable_path=found)
        yield opened
        opened.close()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """What a process would give, of this one: most of a second faster.

    The first argument is a line of words, the others are a word each.
    """

    def call(
        line: str = "", *more: str | Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        arguments = [*shlex.split(line), *map(str, more)]
        for name, value in {**NO_KEY, **environment}.items():
            monkeypatch.setenv(name, value)
        try:
            code = cli.main(arguments)
        except SystemExit as left:  # how argparse ends
            assert isinstance(left.code, int)
            code = left.code
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return call
