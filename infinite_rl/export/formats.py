"""The table of formats: what each trainer reads, and how it is told to judge by our reward.

Read in November 2026, in the documentation of each or in the code of its loader:

- trl: TRL 1.16, "Dataset formats and types" (prompt-only). `GRPOTrainer` hands every other column
  to the reward functions.
- verl: "Prepare Data for Post-Training" (docs/preparation/prepare_data.rst). Parquet; the reward is
  called with `data_source`, `reward_model.ground_truth` and `extra_info`.
- openrlhf: openrlhf/datasets/prompts_dataset.py. JSONL; the columns are named by `--data.input_key`
  and `--data.label_key`; it groups its logs by `datasource`.
- open-instruct: `rlvr_tokenize_v1` to `_v3` in open_instruct/dataset_transformation.py. The first
  drops the last of several messages, whatever its role, so there is one: the instructions come
  before the task. `dataset` names the verifier.
- verifiers: verifiers/v1/task.py of 0.4.0, where a row is a `TaskData` with two fields of its
  own; and docs.primeintellect.ai/verifiers, "Environments", for v0 (gone from 0.4), which reads
  these columns from a data set: `answer` a string, `info` JSON in a string.
- nemo-gym: docs.nvidia.com/nemo/gym, "Prepare and Validate" (0.6). JSONL; `agent_ref` is added by
  `gym dataset collate`. It leaves out lines that it cannot use, so they are checked here.
- skyrl: docs.skyrl.ai, "Dataset Preparation".
- sharegpt: `conversations` of `from` and `value`, as LLaMA-Factory and Axolotl read it.
- sft: TRL 1.16, "Dataset formats and types" (prompt-completion).
- jsonl, parquet: the rows as they are.

The ground truth is in all of them the string that `ground_truth.pack` makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..dataset.ground_truth import pack
from ..dataset.rows import Row
from ..types import Sample
from .schema import ANY, MESSAGES, TEXT

# What the trainers call the reward: verl's data source, open-instruct's verifier, SkyRL's class.
REWARD_NAME = "infinite_rl"


@dataclass(frozen=True)
class Item:
    """One row on its way out: its sample, place and instructions.

    `index` counts the rows of its split. `plain` asks for texts in the place of messages, for
    models without a chat template.
    """

    sample: Sample
    id: str
    split: str
    index: int
    system: str
    plain: bool = False

    @property
    def text(self) -> str:
        """Instructions and task in one."""
        return f"{self.system}\n\n{self.sample.prompt}" if self.system else self.sample.prompt

    @property
    def messages(self) -> list[dict[str, str]]:
        """Instructions, if any, and the task."""
        before = [{"role": "system", "content": self.system}] if self.system else []
        return [*before, _user(self.sample.prompt)]

    @property
    def prompt(self) -> str | list[dict[str, str]]:
        """Messages, or a text where that is asked for."""
        return self.text if self.plain else self.messages

    @property
    def source(self) -> str:
        """Where the reward comes from, and which it is."""
        return f"{REWARD_NAME}/{self.sample.type}"

    @property
    def more(self) -> dict[str, str]:
        """What is of use beside the task and its ground truth."""
        return {"id": self.id, "response": self.sample.response}

    @property
    def extra(self) -> dict[str, Any]:
        """The same with the row's place."""
        return {"split": self.split, "index": self.index, **self.more}

    @property
    def truth(self) -> str:
        """The ground truth, as all trainers carry it."""
        return pack(self.sample)


@dataclass(frozen=True)
class Found:
    """What a row of an export holds: `task` is a text, with the instructions, or messages."""

    task: str | list[dict[str, str]]
    truth: str
    more: Mapping[str, Any]


@dataclass(frozen=True)
class Format:
    """How one trainer wants its rows.

    `ending` is the kind of file; `make` turns an item into a row of the shape `schema`, and `find`
    turns such a row back; without them, rows stay as they are. `plain` says whether texts may take
    the place of messages, and `learns` whether the model learns from the responses, which should
    then have passed. `use` says how the trainer is told.
    """

    name: str
    ending: str
    schema: Mapping[str, Any]
    use: str
    make: Callable[[Item], Row] | None = None
    find: Callable[[Row], Found] | None = None
    plain: bool = False
    learns: bool = False


def _user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


_MORE = {"id": TEXT, "response": str}
_PROMPT = (MESSAGES, TEXT)


def _trl(item: Item) -> Row:
    kind = {"type": item.sample.type}
    return {"prompt": item.prompt, "ground_truth": item.truth, **kind, **item.more}


def _verl(item: Item) -> Row:
    return {
        "data_source": item.source,
        "prompt": item.messages,
        "ability": item.sample.type,
        "reward_model": {"style": "rule", "ground_truth": item.truth},
        "extra_info": item.extra,
    }


def _openrlhf(item: Item) -> Row:
    asked = {"input": item.prompt, "label": item.truth}
    return {**asked, "datasource": item.source, **item.more}


def _open_instruct(item: Item) -> Row:
    one = [_user(item.text)]
    return {"messages": one, "ground_truth": item.truth, "dataset": REWARD_NAME, **item.more}


def _verifiers(item: Item) -> Row:
    info = json.dumps({"type": item.sample.type, **item.more})
    return {"id": item.id, "prompt": item.messages, "answer": item.truth, "info": info}


def _nemo_gym(item: Item) -> Row:
    asked = {"input": item.messages}
    return {"responses_create_params": asked, "ground_truth": item.truth, **item.more}


def _skyrl(item: Item) -> Row:
    return {
        "data_source": item.source,
        "prompt": item.messages,
        "env_class": REWARD_NAME,
        "reward_spec": {"method": "rule", "ground_truth": item.truth},
        "extra_info": item.extra,
    }


_FROM = {"system": "system", "user": "human"}


def _sharegpt(item: Item) -> Row:
    turns = [{"from": _FROM[each["role"]], "value": each["content"]} for each in item.messages]
    turns.append({"from": "gpt", "value": item.sample.response})
    return {"conversations": turns, "ground_truth": item.truth, "id": item.id}


def _found_sharegpt(row: Row) -> Found:
    *task, last = row["conversations"]
    roles = {name: role for role, name in _FROM.items()}
    messages = [{"role": roles.get(each["from"], ""), "content": each["value"]} for each in task]
    return Found(messages, row["ground_truth"], {"id": row["id"], "response": last["value"]})


def _sft(item: Item) -> Row:
    response = item.sample.response
    completion = response if item.plain else [{"role": "assistant", "content": response}]
    more = {"ground_truth": item.truth, "id": item.id}
    return {"prompt": item.prompt, "completion": completion, **more}


def _found_sft(row: Row) -> Found:
    last = row["completion"]
    response = last if isinstance(last, str) else last[-1]["content"]
    return Found(row["prompt"], row["ground_truth"], {"id": row["id"], "response": response})


_EXTRA = {"split": TEXT, "index": int, **_MORE}
_OPENRLHF_FLAGS = "--data.input_key input --data.label_key label"
_AS_IT_IS = {"prompt": ANY}

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            "trl",
            "parquet",
            {"prompt": _PROMPT, "ground_truth": TEXT, "type": TEXT, **_MORE},
            "`GRPOTrainer(model, infinite_rl.adapters.for_trl(), train_dataset=...)`.",
            _trl,
            lambda row: Found(row["prompt"], row["ground_truth"], row),
            plain=True,
        ),
        Format(
            "verl",
            "parquet",
            {
                "data_source": TEXT,
                "prompt": MESSAGES,
                "ability": TEXT,
                "reward_model": {"style": TEXT, "ground_truth": TEXT},
                "extra_info": _EXTRA,
            },
            "`data.train_files=train.parquet`, and `compute_score` of `pkg://infinite_rl.adapters.verl`"
            " as `reward.custom_reward_function`.",
            _verl,
            lambda row: Found(
                row["prompt"], row["reward_model"]["ground_truth"], row["extra_info"]
            ),
        ),
        Format(
            "openrlhf",
            "jsonl",
            {"input": _PROMPT, "label": TEXT, "datasource": TEXT, **_MORE},
            f"`{_OPENRLHF_FLAGS}`, `--data.apply_chat_template` for messages, and a"
            " `--reward.remote_url` file with `infinite_rl.adapters.openrlhf.for_openrlhf()`.",
            _openrlhf,
            lambda row: Found(row["input"], row["label"], row),
            plain=True,
        ),
        Format(
            "open-instruct",
            "parquet",
            {"messages": MESSAGES, "ground_truth": TEXT, "dataset": TEXT, **_MORE},
            f"The column `dataset` routes each row to the verifier `{REWARD_NAME}` of"
            " `infinite_rl.adapters.open_instruct`.",
            _open_instruct,
            lambda row: Found(row["messages"][-1]["content"], row["ground_truth"], row),
        ),
        Format(
            "verifiers",
            "jsonl",
            {"id": TEXT, "prompt": MESSAGES, "answer": TEXT, "info": TEXT},
            "`InfiniteRLTaskset` of `infinite_rl.adapters.verifiers` has a task a row; before"
            " verifiers 0.4, a rubric takes `infinite_rl.adapters.for_rubric()`.",
            _verifiers,
            lambda row: Found(row["prompt"], row["answer"], json.loads(row["info"])),
        ),
        Format(
            "nemo-gym",
            "jsonl",
            {"responses_create_params": {"input": MESSAGES}, "ground_truth": TEXT, **_MORE},
            "Name the file in the agent's configuration; `gym dataset collate` adds `agent_ref`."
            " The server is `infinite_rl.adapters.nemo_gym.InfiniteRLResourcesServer`.",
            _nemo_gym,
            lambda row: Found(row["responses_create_params"]["input"], row["ground_truth"], row),
        ),
        Format(
            "skyrl",
            "parquet",
            {
                "data_source": TEXT,
                "prompt": MESSAGES,
                "env_class": TEXT,
                "reward_spec": {"method": TEXT, "ground_truth": TEXT},
                "extra_info": _EXTRA,
            },
            f"`data.train_data`, with `infinite_rl.adapters.skyrl:InfiniteRLEnv` registered as"
            f" `{REWARD_NAME}`.",
            _skyrl,
            lambda row: Found(row["prompt"], row["reward_spec"]["ground_truth"], row["extra_info"]),
        ),
        Format(
            "sharegpt",
            "jsonl",
            {"conversations": [{"from": TEXT, "value": TEXT}], "ground_truth": TEXT, "id": TEXT},
            "Supervised fine-tuning with LLaMA-Factory or Axolotl.",
            _sharegpt,
            _found_sharegpt,
            learns=True,
        ),
        Format(
            "sft",
            "jsonl",
            {
                "prompt": _PROMPT,
                "completion": ([{"role": TEXT, "content": TEXT}], TEXT),
                "ground_truth": TEXT,
                "id": TEXT,
            },
            "`SFTTrainer(train_dataset=...)` of TRL.",
            _sft,
            _found_sft,
            learns=True,
            plain=True,
        ),
        Format("jsonl", "jsonl", _AS_IT_IS, "Any trainer, once it is told the columns."),
        Format("parquet", "parquet", _AS_IT_IS, "Any trainer, once it is told the columns."),
    )
}
