"""The rollout worker of vLLM, against a stand-in with the signatures of vLLM's documentation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from test_training_local import ROWS, config, digits  # noqa: E402
from tiny_models import save_tiny  # noqa: E402

from infinite_rl.errors import InfiniteRLError, UsageError  # noqa: E402
from infinite_rl.training.blocking import Job  # noqa: E402
from infinite_rl.training.roles import Task  # noqa: E402
from infinite_rl.training.vllm_rollout import VLLMRollout  # noqa: E402


@dataclass(frozen=True)
class SamplingParams:
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int | None = 16
    stop: list[str] | None = None
    stop_token_ids: list[int] | None = None
    logprobs: int | None = None
    seed: int | None = None


class Net:
    """What vLLM has made of a model."""

    def __init__(self) -> None:
        self.loaded: dict[str, Any] = {}

    def load_weights(self, weights: Iterable[tuple[str, Any]]) -> None:
        self.loaded.update(weights)


@dataclass
class LLM:
    """Answers with its own number of the sample and the seed; the second of a group is cut off."""

    model: str
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None
    seed: int = 0
    logprobs_mode: str = "raw_logprobs"
    worker_extension_cls: str = ""
    events: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.model.endswith("refused"):
            raise ValueError("this architecture\n is not supported")
        module, _, name = self.worker_extension_cls.rpartition(".")
        self.worker = getattr(import_module(module), name)()
        self.worker.model_runner = SimpleNamespace(model=Net())
        MADE.append(self)

    def collective_rpc(self, method: str, timeout: float | None = None, args: tuple[Any, ...] = ()) -> list[Any]:  # fmt: skip # noqa: E501
        self.events.append(method)
        return [getattr(self.worker, method)(*args)]

    def reset_prefix_cache(self) -> bool:
        self.events.append("reset_prefix_cache")
        return True

    def generate(
        self, prompts: Sequence[Any], sampling_params: Sequence[SamplingParams], *, use_tqdm: bool
    ) -> list[Any]:
        self.asked = prompts, sampling_params
        return [
            SimpleNamespace(outputs=[self._said(params, number) for number in range(params.n)])
            for params in sampling_params
        ]

    def _said(self, params: SamplingParams, number: int) -> Any:
        ids = (number, 7)
        return SimpleNamespace(
            text=f"{number}!",
            token_ids=ids,
            logprobs=[{each: SimpleNamespace(logprob=-0.5 * each)} for each in ids][LACK:],
            finish_reason="length" if number == 1 else "stop",
        )


MADE: list[LLM] = []
LACK = 0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return save_tiny(folder)


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("vllm")
    module.LLM, module.SamplingParams = LLM, SamplingParams  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)
    MADE.clear()
    yield


def worker(path: Path, out: Path, **values: Any) -> VLLMRollout:
    told = {"engine": "ray", "rollout": "vllm", "temperature": 0.7, **values}
    return VLLMRollout(Job(ROWS, digits, config(path, out, **told), out))


TASKS = [Task(0, "a", 0), Task(3, "d", 1)]


def test_the_engine_is_made_as_the_config_says(model: Path, tmp_path: Path) -> None:
    worker(model, tmp_path, rollout_gpus=2, rollout_options={"gpu_memory_utilization": 0.5})
    (made,) = MADE
    assert (made.tensor_parallel_size, made.gpu_memory_utilization) == (2, 0.5)
    assert (made.dtype, made.max_model_len) == ("float32", 96)


def test_old_log_probs_are_those_at_the_temperature(model: Path, tmp_path: Path) -> None:
    worker(model, tmp_path)
    assert MADE[0].logprobs_mode == "processed_logprobs"


def test_a_group_has_the_ids_that_were_drawn_with_their_log_probs(
    model: Path, tmp_path: Path
) -> None:
    found = worker(model, tmp_path).sample(TASKS)
    assert [len(group) for group in found] == [4, 4]
    first, second = found[0][:2]
    assert (first.ids, first.log_probs, first.finish_reason) == ([0, 7], [0.0, -3.5], "stop")
    assert (second.ids, second.text, second.finish_reason) == ([1, 7], "1!", "length")


def test_each_task_has_a_seed_of_its_own_and_is_asked_by_its_ids(
    model: Path, tmp_path: Path
) -> None:
    asks = worker(model, tmp_path)
    asks.sample(TASKS)
    prompts, params = MADE[0].asked
    assert asks._tokenizer.decode(prompts[1]["prompt_token_ids"]) == ROWS[3]["prompt"]
    assert {(each.n, each.temperature, each.top_p, each.max_tokens) for each in params} == {
        (4, 0.7, 1.0, 6)
    }
    seeds = [each.seed for each in params]
    asks.sample([TASKS[1], Task(0, "a", 1)])
    again = [each.seed for each in MADE[0].asked[1]]
    assert again[0] == seeds[1] and len({*seeds, *again}) == 3


def test_new_weights_reach_all_workers_and_old_caches_are_dropped(
    model: Path, tmp_path: Path
) -> None:
    table = torch.randn(4, 2)
    asks = worker(model, tmp_path)
    asks.load({"embed": table, "turned": torch.randn(2, 3).t(), "head": table})
    loaded = MADE[0].worker.model_runner.model.loaded
    assert torch.equal(loaded["embed"], table) and loaded["turned"].shape == (3, 2)
    assert "head" not in loaded, "what shares its memory is one tensor of a checkpoint"
    assert MADE[0].events == ["load_safetensors", "reset_prefix_cache"]


def test_an_answer_without_log_probs_is_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LACK", 1)
    with pytest.raises(InfiniteRLError, match="no log-probability for each token"):
        worker(model, tmp_path).sample(TASKS)


def test_what_vllm_refuses_is_one_line(model: Path, tmp_path: Path) -> None:
    refused = tmp_path / "refused"
    refused.symlink_to(model)
    with pytest.raises(UsageError, match="refused: this architecture is not supported$"):
        worker(refused, tmp_path)


def test_without_vllm_it_is_named(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UsageError, match="pip install vllm"):
        worker(model, tmp_path)
