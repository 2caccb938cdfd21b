"""Commands in this process."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from commands import NO_KEY, Here

from infinite_rl import cli


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
