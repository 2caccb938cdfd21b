"""Each trainer's own code gets the native score from its adapter.

By hand, in an environment that has the trainer: docs/results/adapters.md says which, and how.
"""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import adapter_hosts as hosts
import pytest
import trl_step
from adapter_battery import SITUATIONS, Caller, Case, due, found

from infinite_rl.export import export
from infinite_rl.types import Sample

# What must be there, the caller, and what it gives where there is no verdict.
HOSTS: list[tuple[str, Caller, float | None]] = [
    ("trl", trl_step.trl, None),
    ("verl", hosts.verl, 0.0),
    ("verl", hosts.verl_naive, 0.0),
    ("verl", hosts.verl_batched, 0.0),
    ("openrlhf", hosts.openrlhf, 0.0),
    ("skyrl_gym", hosts.skyrl, 0.0),
    ("verifiers.v1.utils.loaders", hosts.taskset, None),
    ("verifiers.rubrics", hosts.rubric, 0.0),
    ("nemo_gym", hosts.nemo_gym, None),
]


def there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize(
    ("module", "call", "absent"), HOSTS, ids=[call.__name__ for _, call, _ in HOSTS]
)
def test_the_trainer_gets_the_native_score(
    module: str, call: Caller, absent: float | None, situation: str
) -> None:
    if not there(module):
        pytest.skip(f"{module} is not installed")
    assert found(call, situation) == due(absent)


@pytest.mark.slow
@pytest.mark.soak
def test_a_reward_manager_of_verl_judges_what_its_data_set_reads_of_an_export(
    tmp_path: Path,
) -> None:
    if not there("verl"):
        pytest.skip("verl is not installed")
    rows = [
        {"type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1), "response": f"{n + 1}"}
        for n in range(3)
    ]
    export(rows, "verl", tmp_path / "rows")
    read = hosts.verl_rows(tmp_path / "rows" / "train.parquet")
    assert [row["prompt"] for row in rows] == [row["raw_prompt"][-1]["content"] for row in read]
    cases = [
        Case(Sample("math", "", row["answer"], ""), f"<answer>{row['answer']}</answer>", "passed")
        for row in rows
    ]
    assert [row["reward_model"]["ground_truth"] for row in read] == [case.truth for case in cases]
    wrong = [replace(case, completion="<answer>7</answer>", status="failed") for case in cases]
    assert hosts.verl([*cases, *wrong]) == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
