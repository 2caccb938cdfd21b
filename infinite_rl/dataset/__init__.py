"""Rows: read, judged, curated and handed on; each verb takes rows and gives rows.

    rows.py           rows in and rows out, in any kind of file
    parquet.py        those with typed columns
    shelf.py          rows as lines of JSON, and rows that wait on the disk
    unfinished.py     a file of rows that takes hours to make

    loaders.py        the public benchmarks as rows
    gsm8k_splits.py   GSM8K, fetched once and pinned
    pins.py           files that must stay what they were
    puzzles.py        rows of the tasks of reasoning-gym

    scoring.py        rewards applied to rows
    ground_truth.py   what a completion is judged against, as one string
    prompt_styles.py  a row as a model is given it
    solving.py        a model solves rows
    difficulty.py     how often it does
    traces.py         what a teacher thinks and answers, for SFT
    cleanup.py        what of that is not learnt

    mix.py            rows of several sources in one order
    order.py          order files
    pairs.py          a chosen and a rejected completion of one prompt

    dedup.py          one row of those that ask for the same
    decontaminate.py  no row that gives a benchmark away
    split.py          train, validation and test that do not know each other
    near.py           which rows ask for the same
    distinct.py       how many tasks there are, whatever their words and numbers
    bands.py          which may, by their MinHash
    words.py          texts as tokens

What `generate` made is read as a table, and summed up, by the functions here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..files.csv_log import read_rows
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = ("quality_score", "format_score", "correctness_score", "aux_score")


def load_dataset(out_dir: str | Path) -> pd.DataFrame:
    """The rows of a `dataset.csv`: exact strings ("007", "None", ""), scores as floats.

    `out_dir` is its folder, or the file itself. Safe while a run is writing: a row that
    is not whole yet is left out.

    Raises:
        UsageError: there is no such file.
        StoreError: it is foreign or damaged.
    """
    import pandas as pd  # imported here: reading a table should be all that costs a second

    rows = list(read_rows(dataset_file(out_dir), DATASET_COLUMNS, DATASET_LATER))
    frame = pd.DataFrame(rows, columns=list(DATASET_COLUMNS), dtype=object)
    numbered: pd.DataFrame = frame.astype({name: float for name in _NUMBERS})
    return numbered


def dataset_file(out_dir: str | Path) -> Path:
    """The `dataset.csv` of a folder, or the file itself. Raises UsageError if it is missing."""
    path = Path(out_dir)
    path = path if path.is_file() else path / DATASET
    if not path.is_file():
        raise UsageError(f"there is no {path}")
    return path


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """One line per type, language and model: its rows and their mean quality and lengths."""
    sizes = frame.assign(
        prompt_chars=frame["prompt"].str.len(), response_chars=frame["response"].str.len()
    )
    groups = sizes.groupby(["type", "language", "model"], sort=True)
    summary: pd.DataFrame = groups.agg(
        rows=("id", "size"),
        quality=("quality_score", "mean"),
        prompt_chars=("prompt_chars", "median"),
        response_chars=("response_chars", "median"),
    ).reset_index()
    return summary
