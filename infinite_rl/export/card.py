"""The dataset card: `README.md` with a YAML header, as `datasets` and the Hugging Face Hub read it.

Fields as in the Hub's documentation, "Dataset Cards" and "Manual configuration" (2026). Names from
rows, such as a model's, are untrusted: all punctuation in them is escaped.

The header declares the columns' types in the words of `datasets`. A `Feature` is the name of a type
("string", "int64", "float64", "bool"; "null" without a value), a tuple of one feature for lists, a
mapping of names for objects, and "" if values have no such type in common.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib.resources import files
from pathlib import PurePosixPath
from string import Template
from typing import Any, TypeAlias

from ..errors import UsageError
from ..reward_functions import REWARDS
from .formats import REWARD_NAME, Format
from .own_rewards import OwnReward, rewards_beside
from .packages import use_text

CARD = "README.md"
MARK = "<!-- made by infinite-rl export -->"

OWN_REWARD = "`infinite-rl export --rewards TYPE=FILE.py:CLASS` takes it along"

Feature: TypeAlias = "str | tuple[Feature] | dict[str, Feature]"

# The identifiers of the Hub's documentation, "Licenses", that fit data sets.
LICENSES = (
    *("afl-3.0", "agpl-3.0", "apache-2.0", "artistic-2.0", "bsd", "bsd-2-clause", "bsd-3-clause"),
    *("bsl-1.0", "c-uda", "cc", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-nc-2.0"),
    *("cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0"),
    *("cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0"),
    *("cc0-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "ecl-2.0"),
    *("epl-1.0", "epl-2.0", "etalab-2.0", "eupl-1.1", "eupl-1.2", "gfdl", "gpl", "gpl-2.0"),
    *("gpl-3.0", "isc", "lgpl", "lgpl-2.1", "lgpl-3.0", "llama3", "mit", "mpl-2.0", "ms-pl"),
    *("ncsa", "odbl", "odc-by", "ofl-1.1", "openrail", "osl-3.0", "other", "pddl", "postgresql"),
    *("unknown", "unlicense", "wtfpl", "zlib"),
)
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_SHOWN, _CHARS = 20, 80  # names listed, and characters of each
_TYPES = {str: "string", int: "int64", float: "float64", bool: "bool", type(None): "null"}
_NUMBERS = ("int64", "float64")
_MAX_DEPTH, _MAX_NAMES = 10, 100  # objects with more names are maps, which have no type
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B")


@dataclass(frozen=True)
class About:
    """What the rows do not contain: the data set's name, its licence, and the run that made it.

    `license` is an identifier of the Hub, such as "apache-2.0"; `manifest` is a run's `run.json`.
    """

    name: str
    license: str = "unknown"
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _LICENSE.fullmatch(self.license):
            raise UsageError(f"{self.license!r} is no licence's identifier, such as apache-2.0")


@dataclass
class Statistics:
    """What was exported: rows by split, by type and language, by model, by reward; the columns.

    `kinds` has by type and language the rows, and the characters of prompts and of responses; `own`
    the rewards of one's own that go along, by the type of their rows.
    """

    splits: Counter[str] = field(default_factory=Counter)
    left_out: int = 0  # rows dropped because their responses did not pass
    not_passed: int = 0  # rows that are there although theirs did not
    unverified: int = 0  # rows with a response and without a `status`
    kinds: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    rewards: Counter[str] = field(default_factory=Counter)
    columns: dict[str, Feature] = field(default_factory=dict)  # with their types
    own: Mapping[str, OwnReward] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return self.splits.total()

    def add(self, row: Mapping[str, Any], split: str, exported: Mapping[str, Any]) -> None:
        """Count a row of a split, with its exported columns."""
        self.splits[split] += 1
        self.not_passed += not_passed(row)
        self.unverified += bool(_text(row, "response")) and row.get("status") in (None, "")
        kind = (_text(row, "type"), _text(row, "language"))
        sizes = (1, len(_text(row, "prompt")), len(_text(row, "response")))
        sums = self.kinds.setdefault(kind, [0, 0, 0])
        sums[:] = map(sum, zip(sums, sizes, strict=True))
        for name, value in exported.items():
            self.columns[name] = common(self.columns.get(name, "null"), feature_of(value))
        if model := _text(row, "model"):
            self.models[model] += 1
        if reward := _text(row, "reward"):
            self.rewards[f"{reward} {_text(row, 'reward_version')}".strip()] += 1


def own_types(statistics: Statistics) -> list[str]:
    """The types of the rows whose reward is neither of this package nor goes along."""
    return sorted({kind for kind, _ in statistics.kinds} - REWARDS.keys() - statistics.own.keys())


def not_passed(row: Mapping[str, Any]) -> bool:
    """Whether the row's `status` says that its response did not pass."""
    return row.get("status") in ("failed", "unscored")


def card(format_: Format, statistics: Statistics, about: About, inside: str = "") -> str:
    """The text of the card: `card.md`, filled in. The rows are in the folder `inside`."""
    tasks = [*([] if format_.learns else ["reinforcement-learning"]), "text-generation"]
    name = "".join(char for char in about.name if char.isprintable())[:_CHARS]
    splits = [(f"`{split}`", f"{count:,}") for split, count in statistics.splits.items()]
    can_verify = format_.find or statistics.columns.keys() >= {"type", "answer", "response"}
    reward = f" The reward is Infinite RL's (`{REWARD_NAME}`), by the ground truth."
    unverified = (
        f"**Not verified: {statistics.unverified:,} responses.** Their rows have no `status`: "
        "nothing judged them. `infinite-rl score` does.\n\n"
    )
    if own := own_types(statistics):
        names = ", ".join(map(escaped, own))
        reward += f" Rows of these types need a reward of your own: {names}; {OWN_REWARD}."
    where, own_there = rewards_beside(inside), bool(statistics.own)
    if own_there:
        reward += f' The adapter takes the folder of your rewards: `rewards="PATH/{where}"`.'
    choose = " Choose a licence in the header of this file before you do."
    return _part(
        "card.md",
        license=json.dumps(about.license),
        pretty_name=json.dumps(name, ensure_ascii=False),
        size=json.dumps(size_category(statistics.rows)),
        tasks=json.dumps(tasks),
        format=format_.name,
        files="\n".join(_files(format_, statistics, inside)),
        title=escaped(about.name) or "Rows",
        rows=f"{statistics.rows:,}",
        splits=_table(("split", "rows"), splits),
        columns=_table(("column", "what it is"), _columns(statistics)),
        kinds=_kinds(statistics),
        provenance=unverified * bool(statistics.unverified)
        + _provenance(statistics, about.manifest, where),
        verify=_part(
            "card_verify.md",
            format=format_.name,
            load="from infinite_rl.reward_functions.exported import rewards_in\n" * own_there,
            own=f'extra=rewards_in("{where}")' * own_there,
        )
        + "\n"
        if can_verify
        else "",
        train=use_text(format_.name, about.name)
        or format_.use + (reward if format_.make and not format_.learns else ""),
        licence_hint=choose if about.license == "unknown" else "",
    )


def exported_as(text: str) -> tuple[str, str]:
    """The format and the name of the export that a card describes; "" for what it does not say.

    Of a name longer than 80 characters, the card has the first 80.
    """
    import yaml

    try:
        header = yaml.safe_load(text.split("---\n", 2)[1])
        return str(header["tags"][-1]), str(header["pretty_name"])
    except (yaml.YAMLError, LookupError, TypeError, RecursionError):  # edited by hand
        return "", ""


def _part(name: str, **values: str) -> str:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return Template(text).substitute(values)


def escaped(text: str) -> str:
    """Text on one line with all punctuation escaped for Markdown, shortened if it is long."""
    text = "".join(char if char.isprintable() else " " for char in text[: 4 * _CHARS])
    text = " ".join(text.split())
    short = text if len(text) <= _CHARS else text[: _CHARS - 1] + "…"
    return "".join(f"\\{char}" if char in string.punctuation else char for char in short)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _files(format_: Format, statistics: Statistics, inside: str) -> Iterator[str]:
    """Lines of YAML: the file of each split, and the columns' types. JSON strings are YAML, too."""
    for split in statistics.splits:
        yield f"  - split: {json.dumps(split)}"
        name = f"{split}/*/tests/row.jsonl" if format_.tree else f"{split}.{format_.ending}"
        yield f"    path: {json.dumps(str(PurePosixPath(inside, name)))}"
    # For JSONL: `datasets` would guess the types from the first 10 MB of the first split alone.
    if format_.ending == "jsonl" and (features := declared(statistics.columns)):
        yield from ("dataset_info:", "  features:", *features)


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows: "n<1K", "1K<n<10K", ..., "100M<n<1B", "n>1B"."""
    at = max(0, len(str(rows)) - 3)
    if at >= len(_SIZES):
        return f"n>{_SIZES[-1]}"
    return f"{_SIZES[at - 1]}<n<{_SIZES[at]}" if at else f"n<{_SIZES[0]}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _columns(statistics: Statistics) -> Iterable[Sequence[str]]:
    names, lines = list(statistics.columns), _part("columns.txt").splitlines()
    meanings = dict(line.split(" = ", 1) for line in lines)
    for name in names[:100]:
        yield escaped(name), meanings.get(name, "")
    if len(names) > 100:
        yield f"and {len(names) - 100} more", ""


def _kinds(statistics: Statistics) -> str:
    kinds = sorted(statistics.kinds.items(), key=lambda each: -each[1][0])
    table = []
    for (type_, language), (rows, prompts, responses) in kinds[:_SHOWN]:
        means = f"{prompts / rows:,.0f}", f"{responses / rows:,.0f}"
        table.append((escaped(type_) or "(none)", escaped(language), f"{rows:,}", *means))
    if len(kinds) > _SHOWN:
        table.append((f"and {len(kinds) - _SHOWN} more kinds", "", "", "", ""))
    head = ("type", "language", "rows", "prompt (mean characters)", "response (mean characters)")
    return _table(head, table)


def _provenance(statistics: Statistics, manifest: Mapping[str, Any], where: str) -> str:
    facts = [
        (
            f"the reward of {escaped(each.name)}",
            f"`{where}/{each.file}`, class {escaped(each.kind)}, SHA-256 {each.sha256}",
        )
        for each in statistics.own.values()
    ]
    for what, counted in (("models", statistics.models), ("rewards", statistics.rewards)):
        if counted:
            facts.append((f"{what}, with their rows", _counted(counted)))
    settings, totals = _object(manifest, "settings"), _object(manifest, "totals")
    for name in ("provider", "model", "verify_model", "seed"):
        if settings.get(name) not in (None, ""):
            facts.append((f"the run's {name}", escaped(str(settings[name]))))
    versions = ", ".join(
        f"{escaped(str(name))} {escaped(str(each))}"
        for name, each in _object(manifest, "versions").items()
        if name != "platform"  # describes the machine
    )
    facts += [("versions", versions)] if versions else []
    facts += [("commit", escaped(str(manifest["git"])))] if manifest.get("git") else []
    for what in ("accepted", "rejected"):
        if counted := _summed(manifest, what):
            facts.append((f"the run {what}", _counted(counted)))
    if isinstance(totals.get("cost"), int | float):
        facts.append(("the run's cost", f"{totals['cost']:.4f} US dollars"))
    nothing = "The rows do not say which models wrote them."
    return _table(("fact", "as recorded"), facts) if facts else nothing


def _object(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = manifest.get(name)
    return value if isinstance(value, Mapping) else {}


def _summed(manifest: Mapping[str, Any], name: str) -> Counter[str]:
    """The counts under `name`, summed over all runs of a folder."""
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


# --- the columns' types --------------------------------------------------------------------------


def feature_of(value: object, deepest: int = _MAX_DEPTH) -> Feature:
    """The type of one JSON value."""
    if not deepest or (type(value) is int and not -(2**63) <= value < 2**63):
        return ""
    if isinstance(value, list):
        nothing: Feature = "null"
        return _listed(reduce(common, (feature_of(each, deepest - 1) for each in value), nothing))
    if isinstance(value, dict):
        return _fields_type({name: feature_of(each, deepest - 1) for name, each in value.items()})
    return _TYPES.get(type(value), "")


def common(one: Feature, other: Feature) -> Feature:
    """The type that holds the values of both."""
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return _listed(common(one[0], other[0]))
    if isinstance(one, dict) and isinstance(other, dict):
        names = {**one, **other}
        return _fields_type(
            {name: common(one.get(name, "null"), other.get(name, "null")) for name in names}
        )
    return "float64" if one in _NUMBERS and other in _NUMBERS else ""


def declared(columns: Mapping[str, Feature]) -> list[str]:
    """The columns as YAML, a line each; nothing if one has no type, or an odd name."""
    if not _declarable(dict(columns)):
        return []
    return [f"  - {json.dumps(each, ensure_ascii=False)}" for each in _fields(columns)]


def _declarable(feature: Feature) -> bool:
    """Whether the type can be declared: `datasets` has none for objects without any name."""
    if isinstance(feature, tuple):
        return _declarable(feature[0])
    if isinstance(feature, dict):
        plain = (name.isprintable() and len(name) <= _CHARS for name in feature)
        return bool(feature) and all(plain) and all(map(_declarable, feature.values()))
    return bool(feature)


def _listed(inner: Feature) -> Feature:
    return "" if inner == "" else (inner,)


def _fields_type(fields: dict[str, Feature]) -> Feature:
    return "" if "" in fields.values() or len(fields) > _MAX_NAMES else fields


def _fields(fields: Mapping[str, Feature]) -> list[dict[str, object]]:
    return [{"name": name, **_kind(feature)} for name, feature in fields.items()]


def _kind(feature: Feature) -> dict[str, object]:
    """The type as `Features` of `datasets` writes it: a list's element type has no key."""
    if isinstance(feature, str):
        return {"dtype": feature}
    if isinstance(feature, dict):
        return {"struct": _fields(feature)}
    inner = _kind(feature[0])
    return {"list": inner.get("dtype") or inner.get("struct") or inner}
