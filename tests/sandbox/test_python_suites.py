"""Tests as language models write them, with right and wrong programs: CPython's verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_rl.sandbox.executor import RewardExecutor

TEXT = (Path(__file__).parent / "python_suites.txt").read_text(encoding="utf-8")
GROUPS = [group.splitlines() for group in TEXT.split("\n# ")[2:]]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_each_program_is_judged_as_by_cpython(number: int) -> None:
    first, *others = (line.replace("\\n", "\n") for line in GROUPS[number])
    programs, executor = [first], RewardExecutor(timeout=6)
    for line in others:
        if line.startswith("~ "):
            old, _, new = line[2:].partition(" => ")
            programs.append(first.replace(old, new))
            continue
        _, wanted, test = line.split(" ", 2)
        for program, verdict in zip(programs, wanted, strict=True):
            results = executor.execute(program, "python", tests=[test]).tests
            assert [each.passed for each in results] in ([verdict == "p"], []), (program, test)
            assert results or verdict == "f", (program, test)
