"""The dataset card: `README.md` with a YAML header, as `datasets` and the Hugging Face Hub read it.

Fields as in the Hub's documentation, "Dataset Cards" and "Manual configuration" (2026). Names that
come from rows, such as a model's, may hold anything: all punctuation in them is escaped.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from .features import Feature, common, declared, feature_of
from .formats import REWARD_NAME, Format

CARD = "README.md"
MARK = "<!-- made by infinite-rl export -->"

_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_SHOWN, _CHARS = 20, 80  # names listed, and characters of each
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B")
_MEANINGS = {
    "ground_truth": "what a completion is judged against: JSON with `type`, `answer`, `language`",
    "label": "the ground truth: JSON with `type`, `answer`, `language`",
    "answer": "what a completion is judged against",
    "reward_model": "holds `ground_truth`: JSON with `type`, `answer`, `language`",
    "reward_spec": "holds `ground_truth`: JSON with `type`, `answer`, `language`",
    "id": "a hash of the row's content, or the name it came with",
    "response": "a worked response",
    "completion": "a worked response",
    "type": "names the reward",
    "info": "JSON with `type`, `id` and `response`",
    "extra_info": "`id`, `response`, and the row's place",
    "responses_create_params": "holds `input`: the messages of the task",
}


@dataclass(frozen=True)
class About:
    """What the rows do not say: the data set's name, its licence, and the run it comes from.

    `license` is an identifier of the Hub, such as "apache-2.0"; `manifest` is a run's `run.json`.
    """

    name: str
    license: str = "unknown"
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _LICENSE.fullmatch(self.license):
            raise UsageError(f"{self.license!r} is no licence's identifier, such as apache-2.0")


@dataclass
class Lengths:
    """Rows of one kind, and the characters of their prompts and responses."""

    rows: int = 0
    prompt: int = 0
    response: int = 0


@dataclass
class Statistics:
    """What was exported: rows by split, by type and language, by model, by reward; the columns.

    A column's type is that of all its values, as in `features`.
    """

    splits: Counter[str] = field(default_factory=Counter)
    left_out: int = 0  # rows that are not there, since their responses did not pass
    not_passed: int = 0  # rows that are there although theirs did not
    kinds: dict[tuple[str, str], Lengths] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    rewards: Counter[str] = field(default_factory=Counter)
    columns: dict[str, Feature] = field(default_factory=dict)  # with their types

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return self.splits.total()

    def add(self, row: Mapping[str, Any], split: str, made: Mapping[str, Any]) -> None:
        """Count a row of a split; `made` is its new form."""
        self.splits[split] += 1
        self.not_passed += not_passed(row)
        kind = (_text(row, "type"), _text(row, "language"))
        lengths = self.kinds.setdefault(kind, Lengths())
        lengths.rows += 1
        lengths.prompt += len(_text(row, "prompt"))
        lengths.response += len(_text(row, "response"))
        for name, value in made.items():
            self.columns[name] = common(self.columns.get(name, "null"), feature_of(value))
        if model := _text(row, "model"):
            self.models[model] += 1
        if reward := _text(row, "reward"):
            version = _text(row, "reward_version")
            self.rewards[f"{reward} {version}".strip()] += 1


def not_passed(row: Mapping[str, Any]) -> bool:
    """Whether the row's `status` says that its response did not pass."""
    return row.get("status") in ("failed", "unscored")


def card(format_: Format, statistics: Statistics, about: About) -> str:
    """The text of the card."""
    parts = (
        _header(format_, statistics, about),
        MARK,
        f"# {escaped(about.name) or 'Rows'}",
        f"{statistics.rows:,} rows for reinforcement learning with verifiable rewards, in the "
        f"format `{format_.name}`. Made with Infinite RL.",
        _load(statistics),
        "## Columns",
        _table(("column", "what it is"), _columns(statistics)),
        "## Statistics",
        _kinds(statistics),
        "## Provenance",
        _provenance(statistics, about.manifest),
        "## Verify it again",
        _verify(format_, statistics),
        "## Train on it",
        _train(format_),
        "## Upload it",
        _upload(about),
    )
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text on one line that Markdown shows as it is, shortened where it is long."""
    text = "".join(char if char.isprintable() else " " for char in text[: 4 * _CHARS])
    text = " ".join(text.split())
    short = text if len(text) <= _CHARS else text[: _CHARS - 1] + "…"
    return "".join(f"\\{char}" if char in string.punctuation else char for char in short)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _header(format_: Format, statistics: Statistics, about: About) -> str:
    """YAML; its texts are JSON strings, which are YAML as well."""
    tasks = ["text-generation"]
    if not format_.learns:
        tasks.insert(0, "reinforcement-learning")
    name = "".join(char for char in about.name if char.isprintable())[:_CHARS]
    lines = [
        f"license: {json.dumps(about.license)}",
        f"pretty_name: {json.dumps(name, ensure_ascii=False)}",
        f"size_categories: {json.dumps([size_category(statistics.rows)])}",
        f"task_categories: {json.dumps(tasks)}",
        f"tags: {json.dumps(['infinite-rl', 'verifiable-rewards', format_.name])}",
        "configs:",
        "- config_name: default",
        "  data_files:",
    ]
    for split in statistics.splits:
        lines += [f"  - split: {json.dumps(split)}"]
        lines += [f"    path: {json.dumps(f'{split}.{format_.ending}')}"]
    return "\n".join(["---", *lines, *_features(format_, statistics), "---"])


def _features(format_: Format, statistics: Statistics) -> list[str]:
    """The columns' types, for JSONL: `datasets` would guess them from the first 10 MB alone, and
    those of all splits from the first one."""
    lines = declared(statistics.columns) if format_.ending == "jsonl" else []
    return ["dataset_info:", "  features:", *lines] if lines else []


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows: "n<1K", "1K<n<10K", ..., "100M<n<1B", "n>1B"."""
    at = max(0, len(str(rows)) - 3)
    if at >= len(_SIZES):
        return f"n>{_SIZES[-1]}"
    return f"{_SIZES[at - 1]}<n<{_SIZES[at]}" if at else f"n<{_SIZES[0]}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _load(statistics: Statistics) -> str:
    rows = ((f"`{split}`", f"{count:,}") for split, count in statistics.splits.items())
    code = (
        '```python\nfrom datasets import load_dataset\n\nload_dataset("PATH OF THIS FOLDER")\n```'
    )
    return _table(("split", "rows"), rows) + "\n\n" + code


def _columns(statistics: Statistics) -> Iterable[Sequence[str]]:
    names = list(statistics.columns)
    for name in names[:100]:
        yield escaped(name), _MEANINGS.get(name, "")
    if len(names) > 100:
        yield f"and {len(names) - 100} more", ""


def _kinds(statistics: Statistics) -> str:
    found = sorted(statistics.kinds.items(), key=lambda each: -each[1].rows)
    rows = [
        (
            escaped(type_) or "(none)",
            escaped(language),
            f"{each.rows:,}",
            f"{each.prompt / each.rows:,.0f}",
            f"{each.response / each.rows:,.0f}",
        )
        for (type_, language), each in found[:_SHOWN]
    ]
    if len(found) > _SHOWN:
        rows.append((f"and {len(found) - _SHOWN} more kinds", "", "", "", ""))
    head = ("type", "language", "rows", "prompt (mean characters)", "response (mean characters)")
    return _table(head, rows)


def _provenance(statistics: Statistics, manifest: Mapping[str, Any]) -> str:
    facts = []
    for what, counted in (("models", statistics.models), ("rewards", statistics.rewards)):
        if counted:
            facts.append((f"{what}, with their rows", _counted(counted)))
    settings, totals = _object(manifest, "settings"), _object(manifest, "totals")
    for name in ("provider", "model", "verify_model", "seed"):
        if settings.get(name) not in (None, ""):
            facts.append((f"the run's {name}", escaped(str(settings[name]))))
    versions = {**_object(manifest, "versions")}
    versions.pop("platform", None)  # of the machine, which is nobody else's business
    listed = ", ".join(
        f"{escaped(str(name))} {escaped(str(each))}" for name, each in versions.items()
    )
    facts += [("versions", listed)] if listed else []
    facts += [("commit", escaped(str(manifest["git"])))] if manifest.get("git") else []
    for what in ("accepted", "rejected"):
        if counted := _summed(manifest, what):
            facts.append((f"the run {what}", _counted(counted)))
    if isinstance(totals.get("cost"), int | float):
        facts.append(("the run's cost", f"{totals['cost']:.4f} US dollars"))
    if not facts:
        return "The rows do not say which models wrote them."
    return _table(("fact", "as recorded"), facts)


def _object(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = manifest.get(name)
    return found if isinstance(found, Mapping) else {}


def _summed(manifest: Mapping[str, Any], name: str) -> Counter[str]:
    """What all runs of a folder say under `name`."""
    total: Counter[str] = Counter()
    runs = manifest.get("runs")
    for run in runs if isinstance(runs, list) else []:
        for reason, count in _object(run, name).items() if isinstance(run, Mapping) else ():
            total[str(reason)] += count if isinstance(count, int) else 0
    return total


def _counted(counted: Counter[str]) -> str:
    shown = [f"{escaped(name)}: {count:,}" for name, count in counted.most_common(_SHOWN)]
    more = len(counted) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])


def _verify(format_: Format, statistics: Statistics) -> str:
    again = "`infinite-rl verify FOLDER` proves the folder of a run again, wrong answers and all."
    if not (format_.find or statistics.columns.keys() >= {"type", "answer", "response"}):
        return again
    return f"""Each row carries what its answer is judged against, so its worked response can be
judged again; with `pip install "infinite-rl[data]"`, in this folder:

```python
{_CODE.format(name=format_.name)}
```

{again}"""


_CODE = """from infinite_rl import get_reward_functions
from infinite_rl.export import read_export
from infinite_rl.dataset.ground_truth import score
from infinite_rl.dataset.rows import sample_of

rewards = get_reward_functions()
for row in read_export(".", "{name}"):
    sample = sample_of(row)
    print(row.get("id"), score(sample, sample.response, rewards).status)"""


def _train(format_: Format) -> str:
    if format_.learns or not format_.make:
        return format_.use
    return f"{format_.use} The reward is Infinite RL's (`{REWARD_NAME}`), by the ground truth."


def _upload(about: About) -> str:
    choose = "Choose a licence in the header of this file before you do."
    return (
        "With your own account: `hf auth login`, then `hf upload YOUR_NAME/DATASET . --type "
        "dataset` in this folder (older releases: `huggingface-cli upload YOUR_NAME/DATASET . "
        "--repo-type dataset`)." + (f" {choose}" if about.license == "unknown" else "")
    )
