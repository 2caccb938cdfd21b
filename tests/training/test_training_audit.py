"""The audit of rollouts in a run: what is paid for a trick is logged, with an example."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tiny_training import ROWS, config, curve, events

from infinite_rl.training import train

pytestmark = pytest.mark.slow


class Rising:
    """Pays any text, and each call more."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        self.calls += 1
        return [self.calls + len(text) / 1000 for text in texts]


@pytest.mark.parametrize("engine", ["local", "asyncio", "trl"])
def test_a_reward_that_rises_by_a_trick_is_warned_of(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, engine: str
) -> None:
    if engine == "trl":
        pytest.importorskip("trl")
    with caplog.at_level(logging.WARNING):
        settings = config(model, tmp_path, engine=engine, audit_rollouts=True)
        last = train(ROWS, Rising(), settings)
    assert curve(last)[-1]["audit/refused"] == 1.0
    [trick] = [each for each in events(last, "trick") if each["trick"] == "refused"]
    assert trick["share"] == 1.0 and trick["reward"] >= 1 and trick["prompt"]
    assert caplog.text.count("100% of the paid completions: refused") == 1


def test_a_run_audits_nothing_unless_it_is_said(model: Path, tmp_path: Path) -> None:
    last = train(ROWS, Rising(), config(model, tmp_path))
    assert not any("audit" in name for step in curve(last) for name in step)
