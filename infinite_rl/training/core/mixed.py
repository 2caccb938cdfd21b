"""The rows of a run, of one data set or of several: each with its id and a reward that is known.

Of several sets each row has, beside its own columns, `mix_id` (as of `dataset.mix`: "gsm8k/7"),
`mix_dataset` (the set's name; the second of one name is "gsm8k#2") and, where its set has one,
`mix_style` and `mix_reward`, the options of its reward that are not the run's. The reward that
judges it is the one that its column `type` names.

All is checked here, before a model is loaded: a run must not end at its first bad row.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any

from ...adapters.scorer import Scorer
from ...dataset.loaders import load
from ...dataset.mix import ID_COLUMN, Mixture, Source, mix, read_order
from ...dataset.prompt_templates import PROMPT_TEMPLATES
from ...dataset.rows import Row, read, read_some
from ...errors import UsageError, look_up
from ...storage import fetch
from ...store import sample_of
from ..runs.config import Dataset, TrainingConfig

DATASET, STYLE, REWARD = "mix_dataset", "mix_style", "mix_reward"

logger = logging.getLogger(__name__)


def rows_of(config: TrainingConfig, scorer: Scorer | None = None) -> list[Row]:
    """The rows that a config names, of its `data` or of its `datasets` in their mixture.

    The rows of a mixture are checked by the `scorer` that will judge them; without one, as for SFT
    and for rewards of the caller's own, they need none of the project's.

    Raises:
        UsageError: the config names no rows, or there are none; a set's reward has no such option,
            or not of such a value; a row of a mixture has no reward,
            or one that is not known or cannot judge it (the message names the set and the row); an
            order has ids that no row has (the message tells how many).
        StoreError: rows cannot be fetched or read.
        RuntimeMissing, SandboxError: nothing can be judged.
    """
    if not config.datasets:
        if not config.data:
            raise UsageError("data is missing: the file of rows, or datasets")
        return list(read(fetch(config.data)))
    sources = [_source(each, scorer) for each in config.mixture]
    found = mix(sources, config.mix, seed=config.seed)  # type: ignore[arg-type]  # a mode
    _tell(found)
    return [{**row, DATASET: row[ID_COLUMN].partition("/")[0]} for row in found]


def id_of(row: Mapping[str, Any]) -> str:
    """What a row is called in events: by its place in the mixture, or its own id, if it has one."""
    return str(row.get(ID_COLUMN) or row.get("id") or "")


def scorer_of_row(scorer: Scorer, row: Mapping[str, Any]) -> Scorer:
    """The scorer with what the row's data set says of it otherwise."""
    own = row.get(REWARD)
    return scorer.but(own) if isinstance(own, Mapping) else scorer


def by_dataset(
    groups: Iterable[tuple[Mapping[str, Any], Sequence[float | None]]],
) -> dict[str, float]:
    """How the answers fared, by data set, of prompts' rows and the rewards of their groups.

    "reward/gsm8k" is the mean of its rewards, "unequal/gsm8k" the share of its groups whose rewards
    are not all equal, from which alone something is learned. What has no verdict counts for
    neither; a set without any is not there. Rows of no mixture give nothing.
    """
    rewards, unequal = defaultdict[str, list[float]](list), defaultdict[str, list[bool]](list)
    for row, given in groups:
        judged = [each for each in given if each is not None]
        if DATASET in row and judged:
            name = str(row[DATASET])  # rows of the caller's own may hold anything there
            rewards[name] += judged
            unequal[name].append(len(set(judged)) > 1)
    means = {f"reward/{name}": fmean(each) for name, each in rewards.items()}
    return means | {f"unequal/{name}": fmean(each) for name, each in unequal.items()}


def _source(dataset: Dataset, scorer: Scorer | None) -> Source:
    with _about(f"dataset {dataset.name}"):
        if dataset.prompt_template:
            look_up("prompt template", dataset.prompt_template, PROMPT_TEMPLATES)
        order = read_order(fetch(dataset.order)) if dataset.order else None
        scorer = scorer.but(dataset.reward) if scorer else None
        rows = _of_split(dataset, _loaded(dataset))
    checked = _checked(dataset, rows, scorer)
    return Source(checked, dataset.weight, dataset.count or None, dataset.name, order)


def _loaded(dataset: Dataset) -> Iterator[Row]:
    if dataset.benchmark:
        split = "" if dataset.path else dataset.split  # a file's rows say their own, or its name
        return load(dataset.benchmark, dataset.path, split=split)
    return read_some(fetch(dataset.path))


def _of_split(dataset: Dataset, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of the set's split; all where it names none, or the hub was asked for it."""
    if not (dataset.split and dataset.path):
        yield from rows
        return
    splits = Counter[str]()
    for row in rows:
        split = str(row.get("split") or "")
        splits[split] += 1
        if split == dataset.split:
            yield row
    if dataset.split not in splits:
        found = ", ".join(f"{name or 'none'} ({count})" for name, count in splits.most_common(9))
        raise UsageError(f"no row is of the split {dataset.split}: they are of {found}")


def _checked(dataset: Dataset, rows: Iterable[Row], scorer: Scorer | None) -> Iterator[Row]:
    """The rows, each with its type, once its reward has judged an empty answer to it."""
    without = list[str]()  # why there will be no verdict, of the rows that no answer gets one for
    with _about(f"dataset {dataset.name}"):
        for number, row in enumerate(rows, 1):
            own = {"type": dataset.type} if dataset.type and not row.get("type") else {}
            style = {STYLE: dataset.prompt_template} if dataset.prompt_template else {}
            reward = {REWARD: dict(dataset.reward)} if dataset.reward else {}
            given = {**row, **own, **style, **reward}
            called = repr(str(row["id"])[:60]) if "id" in row else "without an id"
            with _about(f"row {number} ({called})"):
                sample = sample_of(given)
                score = scorer.judge_one(sample, "") if scorer else None
            if score and score.status == "unscored":
                without.append(f"row {number}: {score.error_msg}")
            yield given
    if without:
        told = (dataset.name, len(without), without[0][:300])
        logger.warning("dataset %s: %d rows cannot be judged, the first is %s", *told)


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Say of what the caller's mistake is."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None


def _tell(found: Mixture) -> None:
    for each in found.coverage:
        logger.info("%s: %d of %d rows", each.name, each.distinct, each.rows)
