"""Each adapter, called by its trainer's own code: a caller for the battery of `adapter_battery.py`.

What of a trainer cannot run here (its model, its engine, its tokenizer) is the smallest stand-in.
Imports of a host stay in its caller, for each lives in an environment of its own.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from adapter_battery import TIMEOUT, Case

PROMPT = "<|im_start|>user\nPut it in <answer>7</answer>.<|im_end|>\n<|im_start|>assistant\n"
END = "<|im_end|>"


class Characters:
    """A tokenizer whose tokens are characters."""

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": self._ids(text)[None]}

    def decode(self, ids: Any, **_: Any) -> str:
        return "".join(map(chr, ids.tolist() if hasattr(ids, "tolist") else ids))

    def _ids(self, text: str) -> Any:
        import torch

        return torch.tensor([ord(each) for each in text], dtype=torch.long)

    def responses(self, cases: Sequence[Case]) -> list[Any]:
        return [self._ids(case.completion) for case in cases]


# --- verl ----------------------------------------------------------------------------------------
def _verl_config() -> Any:
    from omegaconf import OmegaConf

    custom = {
        "path": "pkg://infinite_rl.adapters.verl",
        "name": "compute_score",
        "reward_kwargs": {"timeout": TIMEOUT},
    }
    manager = {"source": "register", "name": "naive"}
    return OmegaConf.create(
        {"reward": {"custom_reward_function": custom, "reward_manager": manager}}
    )


def _verl_batch(cases: Sequence[Case]) -> Any:
    """The cases as one batch, each response padded on its right."""
    import numpy as np
    import torch
    from verl import DataProto

    responses = Characters().responses(cases)
    longest = max(1, *(len(each) for each in responses))
    padded = torch.zeros(len(cases), longest, dtype=torch.long)
    mask = torch.zeros(len(cases), longest + 1, dtype=torch.long)
    mask[:, 0] = 1
    for row, ids in enumerate(responses):
        padded[row, : len(ids)] = ids
        mask[row, 1 : 1 + len(ids)] = 1
    tensors = {
        "prompts": torch.full((len(cases), 1), ord("?")),
        "responses": padded,
        "attention_mask": mask,
    }
    truths = [{"style": "rule", "ground_truth": case.truth} for case in cases]
    others = {
        "data_source": np.array(["infinite_rl/any"] * len(cases), dtype=object),
        "reward_model": np.array(truths, dtype=object),
        "extra_info": np.array([{} for _ in cases], dtype=object),
    }
    return DataProto.from_dict(tensors=tensors, non_tensors=others)


def verl(cases: Sequence[Case]) -> list[float | None]:
    """The reward manager that verl's config names, with the function that it loads."""
    from verl.trainer.ppo.reward import load_reward_manager

    async def score() -> list[Any]:
        manager = load_reward_manager(_verl_config(), Characters())
        return await asyncio.gather(*(manager.run_single(_verl_batch([case])) for case in cases))

    found = asyncio.run(score())
    assert all(each["reward_extra_info"]["score"] == each["reward_score"] for each in found)
    return [each["reward_score"] for each in found]


def verl_rows(path: Path) -> list[dict[str, Any]]:
    """The rows that verl's own data set gives of a file."""
    from omegaconf import OmegaConf
    from tiny_models import byte_tokenizer
    from verl.utils.dataset.rl_dataset import RLHFDataset

    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    config = OmegaConf.create({"return_raw_chat": True, "cache_dir": str(path.parent / "cache")})
    read = RLHFDataset(str(path), byte_tokenizer(chat_template=template), config)
    return [read[at] for at in range(len(read))]


def verl_naive(cases: Sequence[Case]) -> list[float | None]:
    """The synchronous manager of before, which puts the reward on the last token."""
    from verl.trainer.ppo.reward import get_custom_reward_fn
    from verl.workers.reward_manager.naive import NaiveRewardManager

    score = get_custom_reward_fn(_verl_config())
    manager = NaiveRewardManager(Characters(), num_examine=0, compute_score=score)
    return [_last(manager(_verl_batch([case]), return_dict=True)) for case in cases]


def verl_batched(cases: Sequence[Case]) -> list[float | None]:
    """The manager `batch`. The cases go one by one, lest all be padded to a megabyte."""
    from verl.workers.reward_manager.batch import BatchRewardManager

    from infinite_rl.adapters.verl import compute_score_batch

    manager = BatchRewardManager(Characters(), 0, compute_score_batch, timeout=TIMEOUT)
    return [_last(manager(_verl_batch([case]), return_dict=True)) for case in cases]


def _last(found: Any) -> float:
    return float(found["reward_extra_info"]["score"][0])


# --- OpenRLHF ------------------------------------------------------------------------------------
_REWARD_FILE = f"""
from infinite_rl.adapters.openrlhf import for_openrlhf
reward_func = for_openrlhf(timeout={TIMEOUT})
"""


class _Says:
    """An engine that has one thing to say."""

    def __init__(self, text: str) -> None:
        self._ids = [ord(each) for each in text + END]

    async def generate(self, *_: Any, **__: Any) -> Any:
        output = SimpleNamespace(token_ids=self._ids, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def openrlhf(cases: Sequence[Case]) -> list[float | None]:
    """The executor that loads the reward file and calls it after generation."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    async def one(executor: Any, case: Case) -> Any:
        parameters = SimpleNamespace(max_tokens=10_000_000, logprobs=None)
        engine = _Says(case.completion)
        return await executor.execute(
            PROMPT, case.truth, parameters, 20_000_000, Characters(), engine
        )

    async def score() -> list[Any]:
        return await asyncio.gather(*(one(executor, case) for case in cases))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reward.py")
        path.write_text(_REWARD_FILE, encoding="utf-8")
        executor = SingleTurnAgentExecutor(str(path))
        found = asyncio.run(score())
    return [float(each["reward"]) for each in found]


# --- SkyRL ---------------------------------------------------------------------------------------
def skyrl(cases: Sequence[Case]) -> list[float | None]:
    """An environment from SkyRL's registry, made and stepped as its generator does."""
    import skyrl_gym

    if "infinite_rl" not in skyrl_gym.registry:
        entry = "infinite_rl.adapters.skyrl:InfiniteRLEnv"
        skyrl_gym.register(id="infinite_rl", entry_point=entry, kwargs={"timeout": TIMEOUT})
    return [_episode(skyrl_gym, case) for case in cases]


def _episode(gym: Any, case: Case) -> float:
    extras = {"reward_spec": {"method": "rule", "ground_truth": case.truth}, "max_turns": 1}
    env = gym.make("infinite_rl", env_config={}, extras=extras)
    env.init([{"role": "user", "content": PROMPT}])
    found = env.step(case.completion)
    assert found["done"] and found["observations"] == []
    env.close()
    return float(found["reward"])


# --- verifiers -----------------------------------------------------------------------------------
def taskset(cases: Sequence[Case]) -> list[float | None]:
    """verifiers 0.4: tasks of the taskset that it finds by its name, each scoring a trace."""
    from verifiers.v1.utils.loaders import taskset_class

    from infinite_rl.dataset.rows import write

    # A module that ends in `__all__ = ["InfiniteRLTaskset"]`, as docs/adapters.md has it.
    cls = taskset_class("adapter_taskset")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.jsonl")
        each = {"id": "7", "prompt": [{"role": "user", "content": PROMPT}], "info": "{}"}
        write(({**each, "answer": case.truth} for case in cases), path)
        config = {"id": "adapter_taskset", "path": path, "task": {"timeout": TIMEOUT}}
        tasks = list(cls(_config_of(cls).model_validate(config)))
    assert all(task.data.id == "7" for task in tasks)

    async def score() -> list[float | None]:
        pairs = zip(tasks, cases, strict=True)
        return list(await asyncio.gather(*(_scored(task, case) for task, case in pairs)))

    return asyncio.run(score())


def _config_of(cls: Any) -> Any:
    from verifiers.v1.configs.taskset import TasksetConfig
    from verifiers.v1.utils.generic import concrete_type

    return concrete_type(cls, TasksetConfig)


async def _scored(task: Any, case: Case) -> float | None:
    import verifiers.v1 as vf
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask

    said = MessageNode(message=vf.AssistantMessage(content=case.completion), sampled=True)
    trace = vf.Trace.model_construct(
        task=TraceTask.model_construct(data=task.data),
        agent=AgentInfo.model_construct(),
        nodes=[said],
        rewards={},
        metrics={},
        root_reply=None,
    )
    try:
        await task.score(trace)
    except vf.TaskError as error:
        assert trace.rewards == {"infinite_rl": None} and "cannot judge" in str(error)
        return None
    return float(trace.rewards["infinite_rl"].score)


def rubric(cases: Sequence[Case]) -> list[float | None]:
    """verifiers before 0.4: a rubric that scores rollouts."""
    import verifiers as vf

    from infinite_rl.adapters import for_rubric

    judge = vf.Rubric(funcs=[for_rubric(timeout=TIMEOUT)])

    async def one(case: Case) -> float:
        state = vf.State(
            prompt=[{"role": "user", "content": PROMPT}],
            completion=[{"role": "assistant", "content": case.completion}],
            answer=case.truth,
            info={},
        )
        await judge.score_rollout(state)
        return float(state["reward"])

    async def score() -> list[float | None]:
        return list(await asyncio.gather(*map(one, cases)))

    return asyncio.run(score())


# --- NeMo Gym ------------------------------------------------------------------------------------
def nemo_gym(cases: Sequence[Case]) -> list[float | None]:
    """The FastAPI application of a resources server, asked over HTTP (in this process)."""
    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    from infinite_rl.adapters.nemo_gym import InfiniteRLConfig, InfiniteRLResourcesServer

    config = InfiniteRLConfig(
        host="127.0.0.1", port=8080, entrypoint="app.py", name="infinite_rl", timeout=TIMEOUT
    )
    server = InfiniteRLResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
    with TestClient(server.setup_webserver()) as client:
        return [_verified(client, case) for case in cases]


def _verified(client: Any, case: Case) -> float | None:
    part = {"type": "output_text", "text": case.completion, "annotations": []}
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    response = {
        "id": "r",
        "created_at": 0.0,
        "model": "any",
        "object": "response",
        "output": [{**message, "content": [part]}],
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
    }
    asked = {"input": [{"role": "user", "content": PROMPT}]}
    row = {"responses_create_params": asked, "ground_truth": case.truth, "response": response}
    answer = client.post("/verify", json=row)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["ground_truth"] == case.truth
    return None if found["mask_sample"] else float(found["reward"])
