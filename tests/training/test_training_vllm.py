"""What the rollout worker asks of vLLM and makes of its answers, against a stand-in.

`test_vllm_itself.py` runs vLLM.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import fake_vllm
from fake_vllm import MADE, SamplingParams
from safetensors.torch import load_file
from tiny_training import ROWS, config, digits

from infinite_rl import vllm_library
from infinite_rl.errors import InfiniteRLError, UsageError
from infinite_rl.training.core.rollout_types import PromptRequest
from infinite_rl.training.engines.role_workers import RoleSpec
from infinite_rl.training.engines.vllm_rollout import VLLMRollout


class LLM(fake_vllm.LLM):
    """Answers with its own number of the sample and the seed; the second of a group is cut off."""

    lack = 0  # log-probabilities of an answer

    def __post_init__(self) -> None:
        super().__post_init__()
        self.events: list[str] = []
        self.loaded: dict[str, Any] = {}

    def collective_rpc(self, method: str, *, kwargs: dict[str, str]) -> None:
        self.events.append(method)
        for path in Path(kwargs.get("weights_path", "/none")).glob("*.safetensors"):
            self.loaded |= load_file(path)

    def reset_prefix_cache(self) -> bool:
        self.events.append("reset_prefix_cache")
        return True

    def said(self, ids: Sequence[int], params: SamplingParams, number: int) -> Any:
        drawn = (number, 7)
        return SimpleNamespace(
            text=f"{number}!",
            token_ids=drawn,
            logprobs=[{each: SimpleNamespace(logprob=-0.5 * each)} for each in drawn][self.lack :],
            finish_reason="length" if number == 1 else "stop",
        )


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_vllm.install(monkeypatch, LLM)


def worker(model: Path, out: Path, **values: Any) -> VLLMRollout:
    own = {"engine": "ray", "rollout_backend": "vllm", "temperature": 0.7, **values}
    return VLLMRollout(RoleSpec(ROWS, digits, config(model, out, **own), out))


REQUESTS = [PromptRequest(0, "a", 0), PromptRequest(3, "d", 1)]


def test_the_engine_is_created_as_the_config_says(model: Path, tmp_path: Path) -> None:
    worker(model, tmp_path, rollout_gpus=2, rollout_options={"gpu_memory_utilization": 0.5})
    (llm,) = MADE
    assert (llm.tensor_parallel_size, llm.gpu_memory_utilization) == (2, 0.5)
    assert (llm.dtype, llm.max_model_len) == ("float32", 96)
    assert llm.logprobs_mode == "processed_logprobs", "those at the temperature"


def test_a_group_has_the_drawn_ids_with_their_log_probs(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request has its own seed and is sampled by its ids."""
    rollout = worker(model, tmp_path)
    groups = rollout.sample(REQUESTS)
    assert [len(group) for group in groups] == [4, 4]
    first, second = groups[0][:2]
    assert (first.ids, first.log_probs, first.finish_reason) == ([0, 7], [0.0, -3.5], "stop")
    assert (second.ids, second.text, second.finish_reason) == ([1, 7], "1!", "length")
    ((prompts, params),) = MADE[0].calls
    assert rollout._tokenizer.decode(prompts[1]["prompt_token_ids"]) == ROWS[3]["prompt"]
    drawn = {(each.n, each.temperature, each.top_p, each.max_tokens) for each in params}
    assert drawn == {(4, 0.7, 1.0, 6)}
    rollout.sample([REQUESTS[1], PromptRequest(0, "a", 1)])
    first, same = [each.seed for each in params], [each.seed for each in MADE[0].calls[-1][1]]
    assert same[0] == first[1] and len({*first, *same}) == 3
    monkeypatch.setattr(LLM, "lack", 1)
    with pytest.raises(InfiniteRLError, match="no log-probability for each token"):
        rollout.sample(REQUESTS)


def test_new_weights_reach_all_workers_and_drop_the_cache(model: Path, tmp_path: Path) -> None:
    table = torch.randn(4, 2)
    worker(model, tmp_path).load({"embed": table, "turned": torch.randn(2, 3).t(), "head": table})
    loaded = MADE[0].loaded
    assert torch.equal(loaded["embed"], table) and loaded["turned"].shape == (3, 2)
    assert "head" not in loaded, "tied weights are one tensor of a checkpoint"
    assert MADE[0].events == ["reload_weights", "pack_output", "reset_prefix_cache"]


def test_errors_of_vllm_are_one_line(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = tmp_path / "refused"
    refused.symlink_to(model)
    with pytest.raises(UsageError, match="refused: this architecture is not supported$"):
        worker(refused, tmp_path)
    with pytest.raises(UsageError, match="it has no config.json$"):
        vllm_library.load(str(tmp_path))
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UsageError, match="pip install vllm"):
        worker(model, tmp_path)
