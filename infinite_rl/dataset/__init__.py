"""Rows: read, judged, curated and exported; each verb takes rows and gives rows.

    rows.py              read and write rows, in any kind of file
    parquet.py           Parquet files, and the typed copy of a run's rows
    spill.py             lists of rows on disk
    unfinished.py        a file of rows that takes hours to make

    loaders.py           the public benchmarks, GSM8K pinned, and reasoning-gym as rows
    shapes/              the data sets that people train on, by the columns of their files
    checksums.py         pinned files

    scoring.py           rewards applied to rows
    strengthening.py     stronger tests for the coding rows of a file
    ground_truth.py      the ground truth of a row as one string
    prompt_templates.py  the text that a model gets for a row
    solving.py           a model solves rows
    difficulty.py        its pass rate on each row
    truth.py             the share of right golds, by a sample that it solves
    traces.py            a teacher's reasoning and answers, for SFT
    trace_filters.py     the clean-up of these

    mix.py               rows of several sources in one order; order files
    pairs.py             preference pairs: a chosen and a rejected completion of one prompt

    dedup.py             near-duplicates, by MinHash and exact checks
    decontaminate.py     rows that leak a benchmark
    split.py             train, validation and test without leaks
    tokens.py            normalized tokens of a text

Here also: rows as a table.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import NoColumn, UsageError
from ..files.logs import is_header
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER
from . import parquet, rows
from .tokens import PROMPT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_HEADER_CHARS = 10_000
MIN_DISTINCT = 0.3  # the share of distinct tasks below which a run has collapsed
_NUMBERS = ("quality_score", "format_score", "correctness_score", "aux_score")


def load_dataset(source: str | Path) -> pd.DataFrame:
    """Load rows as a table: exact strings ("007", "None", ""), scores as floats.

    `source` is the folder of a run, or any file or folder of rows (see `rows.read`). All columns
    are kept; a row that lacks one has None in it. Safe while a run is writing: an incomplete last
    row is left out.

    Raises:
        UsageError: there is no such file, or no column with a prompt.
        StoreError: the file is damaged.
    """
    import pandas as pd  # imported here: it takes a second

    if rows.ending_of(str(source)) == ".parquet" and Path(source).is_file():
        frame = pd.DataFrame(parquet.read_columns(Path(source)), dtype=object)
        if len(frame) and not {*frame.columns} & {*PROMPT_COLUMNS}:
            raise NoColumn(PROMPT_COLUMNS[0], frame.columns)
    else:
        read, columns = list(rows.read(source)), dict[str, None]()
        for row in read:
            columns.update(dict.fromkeys(row))
        if read and not columns.keys() & PROMPT_COLUMNS:
            raise NoColumn(PROMPT_COLUMNS[0], read[0])
        values = {name: [row.get(name) for row in read] for name in columns or DATASET_COLUMNS}
        frame = pd.DataFrame(values, dtype=object)
    numbers = {name: pd.to_numeric(frame[name], "coerce") for name in _NUMBERS if name in frame}
    table: pd.DataFrame = frame.assign(**numbers)
    return table


def dataset_file(out_dir: str | Path) -> Path:
    """The `dataset.csv` of a folder, or the file itself.

    Raises UsageError if it is missing, or is a file of rows that no run has written.
    """
    path = Path(out_dir)
    path = path if path.is_file() else path / DATASET
    if not path.is_file():
        raise UsageError(f"there is no {path}")
    if path.name != DATASET:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            header = next(csv.reader([file.readline(_HEADER_CHARS)]), [])
        if header and not is_header(header, DATASET_COLUMNS, DATASET_LATER):
            raise UsageError(
                f"{path} was not written by a run, so it has nothing to verify its rows against: "
                "name the folder of a run, or judge the responses with `infinite-rl score`"
            )
    return path
