"""The table of formats: the columns that each trainer reads, and how it calls our reward.

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

The ground truth in all of them is the string that `ground_truth.pack` returns.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..dataset.ground_truth import pack
from ..dataset.rows import Row
from ..types import Sample
from .own_rewards import OwnReward
from .packages import harbor_task

# The reward's name in the trainers: verl's data source, open-instruct's verifier, SkyRL's class.
REWARD_NAME = "infinite_rl"
TEXT: Final = "text"
ANY: Final = "any"
MESSAGES: Final = [{"role": TEXT, "content": TEXT}]


@dataclass(frozen=True)
class Item:
    """One row to export: its sample, position and instructions.

    `index` counts the rows of its split. With `plain`, prompts are texts instead of messages, for
    models without a chat template. `own` says that a reward of the user's own judges the row.
    """

    sample: Sample
    id: str
    split: str
    index: int
    system: str
    plain: bool = False
    own: bool = False

    @property
    def text(self) -> str:
        """Instructions and task in one."""
        return f"{self.system}\n\n{self.sample.prompt}" if self.system else self.sample.prompt

    @property
    def messages(self) -> list[dict[str, str]]:
        """Instructions, if any, and the task."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.sample.prompt}]

    @property
    def prompt(self) -> str | list[dict[str, str]]:
        """Messages, or with `plain` a text."""
        return self.text if self.plain else self.messages

    @property
    def source(self) -> str:
        """The reward's package and name."""
        return f"{REWARD_NAME}/{self.sample.type}"

    @property
    def more(self) -> dict[str, str]:
        """Further columns: the row's id and its response."""
        return {"id": self.id, "response": self.sample.response}

    @property
    def extra(self) -> dict[str, Any]:
        """The same with the row's position."""
        return {"split": self.split, "index": self.index, **self.more}

    @property
    def truth(self) -> str:
        """The ground truth."""
        return pack(self.sample, own=self.own)


class ParsedExport(NamedTuple):
    """An exported row, parsed: `task` is a text, with the instructions, or messages."""

    task: str | list[dict[str, str]]
    truth: str
    more: Mapping[str, Any]


@dataclass(frozen=True)
class Format:
    """The rows of one trainer.

    `ending` is the kind of file; `make` converts an item into a row of the shape `schema` (see
    `fault_of`), and `find` parses such a row; without them, rows stay as they are. `plain`: texts
    may replace messages. `learns`: the model trains on the responses, so these should have passed.
    `use` says how to configure the trainer. `rows` is the folder of the rows within the export, for
    formats with other files around them (see `packages.py`). With `tree`, each row is a folder of
    these files instead, by their paths; it takes the row, its name and the rewards of one's own.
    `runs`: a hub runs the folder, with the rewards of this package and those in the folder.
    """

    name: str
    ending: str
    schema: Mapping[str, Any]
    use: str
    make: Callable[[Item], Row] | None = None
    find: Callable[[Row], ParsedExport] | None = None
    plain: bool = False
    learns: bool = False
    rows: str = ""
    tree: Callable[[Row, str, Sequence[OwnReward]], Mapping[str, str | bytes]] | None = None
    runs: bool = False


# --- the formats --------------------------------------------------------------------------------

_SPEAKERS = {"system": "system", "user": "human"}


def _sharegpt(item: Item) -> Row:
    turns = [{"from": _SPEAKERS[each["role"]], "value": each["content"]} for each in item.messages]
    turns.append({"from": "gpt", "value": item.sample.response})
    return {"conversations": turns, "ground_truth": item.truth, "id": item.id}


def _parse_sharegpt(row: Row) -> ParsedExport:
    *task, last = row["conversations"]
    roles = {name: role for role, name in _SPEAKERS.items()}
    messages = [{"role": roles.get(each["from"], ""), "content": each["value"]} for each in task]
    return ParsedExport(messages, row["ground_truth"], {"id": row["id"], "response": last["value"]})


def _sft(item: Item) -> Row:
    response = item.sample.response
    completion = response if item.plain else [{"role": "assistant", "content": response}]
    more = {"ground_truth": item.truth, "id": item.id}
    return {"prompt": item.prompt, "completion": completion, **more}


def _parse_sft(row: Row) -> ParsedExport:
    last = row["completion"]
    response = last if isinstance(last, str) else last[-1]["content"]
    return ParsedExport(row["prompt"], row["ground_truth"], {"id": row["id"], "response": response})


def _verifiers(item: Item) -> Row:
    info = json.dumps({"type": item.sample.type, **item.more})
    return {"id": item.id, "prompt": item.messages, "answer": item.truth, "info": info}


def _parse_verifiers(row: Row) -> ParsedExport:
    return ParsedExport(row["prompt"], row["answer"], json.loads(row["info"]))


_PROMPT = (MESSAGES, TEXT)
_MORE = {"id": TEXT, "response": str}
_EXTRA = {"split": TEXT, "index": int, **_MORE}
_ROUTED = {"data_source": TEXT, "prompt": MESSAGES, "extra_info": _EXTRA}
_TRUTH_ID = {"ground_truth": TEXT, "id": TEXT}

# One row a format.
FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            "trl", "parquet", {"prompt": _PROMPT, "ground_truth": TEXT, "type": TEXT, **_MORE},
            "`GRPOTrainer(model, infinite_rl.adapters.for_trl(), train_dataset=...)`.",
            lambda item: {
                "prompt": item.prompt, "ground_truth": item.truth, "type": item.sample.type,
                **item.more,
            },
            lambda row: ParsedExport(row["prompt"], row["ground_truth"], row), plain=True,
        ),
        Format(
            "verl", "parquet",
            {**_ROUTED, "ability": TEXT, "reward_model": {"style": TEXT, "ground_truth": TEXT}},
            "`data.train_files=train.parquet`, and `compute_score` of "
            "`pkg://infinite_rl.adapters.verl` as `reward.custom_reward_function`.",
            lambda item: {
                "data_source": item.source, "prompt": item.messages, "ability": item.sample.type,
                "reward_model": {"style": "rule", "ground_truth": item.truth},
                "extra_info": item.extra,
            },
            lambda row: ParsedExport(
                row["prompt"], row["reward_model"]["ground_truth"], row["extra_info"]
            ),
        ),
        Format(
            "openrlhf", "jsonl", {"input": _PROMPT, "label": TEXT, "datasource": TEXT, **_MORE},
            "`--data.input_key input --data.label_key label`, `--data.apply_chat_template` for "
            "messages, and a `--reward.remote_url` file with "
            "`infinite_rl.adapters.openrlhf.for_openrlhf()`.",
            lambda item: {
                "input": item.prompt, "label": item.truth, "datasource": item.source, **item.more
            },
            lambda row: ParsedExport(row["input"], row["label"], row), plain=True,
        ),
        Format(
            "open-instruct", "parquet",
            {"messages": MESSAGES, "ground_truth": TEXT, "dataset": TEXT, **_MORE},
            f"The column `dataset` routes each row to the verifier `{REWARD_NAME}` of "
            "`infinite_rl.adapters.open_instruct`.",
            lambda item: {
                "messages": [{"role": "user", "content": item.text}], "ground_truth": item.truth,
                "dataset": REWARD_NAME, **item.more,
            },
            lambda row: ParsedExport(row["messages"][-1]["content"], row["ground_truth"], row),
        ),
        Format(
            "verifiers", "jsonl", {"id": TEXT, "prompt": MESSAGES, "answer": TEXT, "info": TEXT},
            "This folder is a package with a taskset.", _verifiers, _parse_verifiers,
            rows="MODULE/rows", runs=True,
        ),
        Format(
            "ors", "jsonl", {"id": TEXT, "prompt": MESSAGES, "answer": TEXT, "info": TEXT},
            "This folder is a server of the Open Reward Standard.", _verifiers, _parse_verifiers,
            rows="rows", runs=True,
        ),
        Format(
            "harbor", "jsonl", {"id": TEXT, "prompt": MESSAGES, "answer": TEXT, "info": TEXT},
            "Each row is a folder of a task of Harbor.", _verifiers, _parse_verifiers,
            tree=harbor_task, runs=True,
        ),
        Format(
            "nemo-gym", "jsonl",
            {
                "responses_create_params": {"input": MESSAGES}, **_TRUTH_ID,
                "worked_response": str,  # the server writes the model's answer as `response`
            },
            "This folder is a resources server.",
            lambda item: {
                "responses_create_params": {"input": item.messages}, "ground_truth": item.truth,
                "id": item.id, "worked_response": item.sample.response,
            },
            lambda row: ParsedExport(
                row["responses_create_params"]["input"], row["ground_truth"],
                {"id": row["id"], "response": row["worked_response"]},
            ),
            rows="resources_servers/MODULE/rows", runs=True,
        ),
        Format(
            "skyrl", "parquet",
            {**_ROUTED, "env_class": TEXT, "reward_spec": {"method": TEXT, "ground_truth": TEXT}},
            "`data.train_data`, with `infinite_rl.adapters.skyrl:InfiniteRLEnv` registered as "
            f"`{REWARD_NAME}`.",
            lambda item: {
                "data_source": item.source, "prompt": item.messages, "env_class": REWARD_NAME,
                "reward_spec": {"method": "rule", "ground_truth": item.truth},
                "extra_info": item.extra,
            },
            lambda row: ParsedExport(
                row["prompt"], row["reward_spec"]["ground_truth"], row["extra_info"]
            ),
        ),
        Format(
            "sharegpt", "jsonl", {"conversations": [{"from": TEXT, "value": TEXT}], **_TRUTH_ID},
            "Supervised fine-tuning with LLaMA-Factory or Axolotl.",
            _sharegpt, _parse_sharegpt, learns=True,
        ),
        Format(
            "sft", "jsonl",
            {"prompt": _PROMPT, "completion": (MESSAGES, TEXT), **_TRUTH_ID},
            "`SFTTrainer(train_dataset=...)` of TRL.",
            _sft, _parse_sft, learns=True, plain=True,
        ),
        *(
            Format(ending, ending, {"prompt": ANY}, "Any trainer, once it is told the columns.")
            for ending in ("jsonl", "parquet")
        ),
    )
}  # fmt: skip


# --- the shape of a row --------------------------------------------------------------------------


def fault_of(value: object, shape: Any, name: str = "") -> str:
    """Why the value does not have the shape; "" if it does. `name` is the value's name.

    A shape is `TEXT` (not blank), `str`, `int`, `ANY` (all texts in the value are valid Unicode), a
    list of one shape (a non-empty list), a mapping of names to shapes (an object with at least
    these), or a tuple of shapes (any of them).
    """
    if isinstance(shape, tuple):
        faults = [fault_of(value, each, name) for each in shape]
        return "" if "" in faults else faults[0]
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return f"{name or 'it'} is no object"
        for key, part in shape.items():
            called = f"{name}.{key}" if name else key
            fault = f"there is no {called}"
            if key not in value or (fault := fault_of(value[key], part, called)):
                return fault
        return ""
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return f"{name} is no list with something in it"
        faults = [fault_of(part, shape[0], f"{name}[{at}]") for at, part in enumerate(value)]
        return next(filter(None, faults), "")
    if shape == ANY:
        return _fault_inside(value, name)
    if shape is int:
        return "" if type(value) is int else f"{name} is no whole number"
    return _fault_of_text(value, name, blank=shape is str)


def _fault_inside(value: object, name: str) -> str:
    if isinstance(value, str):
        return _fault_of_text(value, name, blank=True)
    parts: list[tuple[object, str]] = []
    if isinstance(value, Mapping):
        for key in value:
            if fault := _fault_of_text(key, "a name", blank=True):
                return fault
        parts = [(part, f"{name}.{key}" if name else str(key)) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(part, f"{name}[{at}]") for at, part in enumerate(value)]
    return next(filter(None, (_fault_inside(*part) for part in parts)), "")


def _fault_of_text(value: object, name: str, *, blank: bool) -> str:
    if not isinstance(value, str):
        return f"{name} is no text"
    if not blank and not value.strip():
        return f"{name} is blank"
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a surrogate pair: no tokenizer and no Arrow reads it
        return f"{name} is no valid Unicode at character {error.start}"
    return ""
