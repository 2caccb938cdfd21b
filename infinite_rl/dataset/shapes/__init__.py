"""The data sets that people train on as rows: one row of `SHAPES` a published form of rows.

    parts.py     what they share: texts, tests, solutions, limits
    contests.py  programs that read stdin, and functions that are called
    tested.py    functions that are tested by code
    maths.py     questions with one answer
    sql.py       questions to a database
    verl.py      verl's rows of any of these

A shape is recognized by the columns of a file's first row. A published row that cannot become one
of ours is left out, and the reason is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ...errors import NoColumn, StoreError, UsageError, look_up
from ...reward_functions.math.bounds import Unparsed
from ...storage import fetch
from ..loaders import BENCHMARKS, identified, split_in
from ..rows import Row, read_some
from . import contests, maths, sql, tested
from .parts import Skipped
from .verl import verl

_MOST_REASONS = 5  # in an error


class Shape(NamedTuple):
    """How a published row is converted, the columns that it has, those that it lacks, its set.

    `hub` is NAME:SPLIT or NAME:CONFIG:SPLIT on the Hugging Face hub.
    """

    row: Callable[[Row], Row]
    columns: frozenset[str]
    lacks: frozenset[str] = frozenset()
    hub: str = ""

    def missing(self, row: Mapping[str, object]) -> frozenset[str]:
        """The columns that a row lacks for this shape."""
        return self.columns - row.keys()

    def fits(self, row: Mapping[str, object]) -> bool:
        """Whether a row has this shape."""
        return not self.missing(row) and self.lacks.isdisjoint(row)


def _shape(row: Callable[[Row], Row], columns: str, hub: str = "", *, lacks: str = "") -> Shape:
    return Shape(row, frozenset(columns.split()), frozenset(lacks.split()), hub)


def _benchmark(name: str, columns: str, *, lacks: str = "") -> Shape:
    benchmark = BENCHMARKS[name]
    return _shape(benchmark.row, columns, f"{benchmark.hub}:{benchmark.hub_split}", lacks=lacks)


# One row a shape.
SHAPES: Mapping[str, Shape] = {
    "gsm8k": _benchmark("gsm8k", "question answer", lacks="final_answer test_cases inputs"),
    "math": _benchmark("math", "problem solution level", lacks="source idx"),
    "mbpp": _benchmark("mbpp", "task_id test_list code"),
    "humaneval": _benchmark("humaneval", "task_id prompt canonical_solution test entry_point"),
    "ifeval": _benchmark("ifeval", "instruction_id_list kwargs prompt"),
    "apps": _shape(
        *(contests.apps, "problem_id question input_output solutions", "codeparrot/apps:test")
    ),
    "taco": _shape(
        *(contests.taco, "question input_output solutions raw_tags", "BAAI/TACO:test"),
        lacks="problem_id",
    ),
    "codecontests": _shape(
        contests.code_contests,
        "name description public_tests private_tests generated_tests",
        "deepmind/code_contests:test",
    ),
    "codecontests_plus": _shape(
        contests.code_contests_plus,
        "description checker correct_submissions",
        "ByteDance-Seed/Code-Contests-Plus:1x:train",
    ),
    "livecodebench": _shape(
        contests.livecodebench,
        "question_content public_test_cases private_test_cases metadata",
        "livecodebench/code_generation_lite:test",
    ),
    "deepcoder": _shape(
        contests.deepcoder,
        "problem tests",
        "agentica-org/DeepCoder-Preview-Dataset:primeintellect:train",
    ),
    "rstar_coder": _shape(
        *(contests.rstar_coder, "question inputs outputs"),
        "microsoft/rStar-Coder:seed_testcase:train",
    ),
    "hardtests": _shape(
        contests.hardtests, "pid question_content", "sigcp/hardtests_problems:train"
    ),
    "codeforces": _shape(
        contests.codeforces,
        "description official_tests generated_checker input_mode",
        "open-r1/codeforces:test",
    ),
    "opencodereasoning2": _shape(
        *(contests.open_code_reasoning, "question_id r1_generation solution"),
        "nvidia/OpenCodeReasoning-2:train:python",
    ),
    "kodcode": _shape(tested.kodcode, "question solution test_info", "KodCode/KodCode-V1:train"),
    "acecode": _shape(tested.acecode, "question test_cases", "TIGER-Lab/AceCode-87K:train"),
    "bigcodebench": _shape(
        tested.bigcodebench,
        "task_id complete_prompt instruct_prompt canonical_solution test",
        "bigcode/bigcodebench:v0.1.4",
    ),
    "bigmath": _shape(
        *(maths.big_math, "problem answer domain", "SynthLabsAI/Big-Math-RL-Verified:train"),
        lacks="solution",
    ),
    "deepmath": _shape(
        *(maths.deep_math, "question final_answer r1_solution_1"), "zwhe99/DeepMath-103K:train"
    ),
    "numinamath": _shape(
        *(maths.numina, "problem solution source", "AI-MO/NuminaMath-CoT:test"), lacks="tests"
    ),
    "olympiadbench": _shape(
        maths.olympiad_bench,
        "question final_answer answer_type",
        "Hothan/OlympiadBench:OE_TO_maths_en_COMP:train",
    ),
    "minerva": _shape(maths.minerva, "problem solution idx", "math-ai/minervamath:test"),
    "bird": _shape(sql.bird, "question db_id SQL evidence"),
    "spider": _shape(sql.spider, "question db_id query", "xlangai/spider:validation"),
    "verl": _shape(verl, "data_source prompt reward_model"),
}
# Other columns of a set that is asked for by its name.
_BY_NAME = {"minerva": _shape(maths.minerva, "question answer")}


def load_shape(
    source: str | Path = "",
    name: str = "",
    *,
    split: str = "",
    reasons: Counter[str] | None = None,
    keep: Collection[str] = (),
) -> Iterator[Row]:
    """The rows of a file, a folder or another source of `fetch`, in a shape of `SHAPES`.

    Without `name` the shape is recognized by the columns; without a source the rows are those of
    the set on the hub. Why rows are left out, and what others lack, is counted in `reasons`. The
    rows also have the published columns `keep`, such as a model's completions.

    Raises:
        UnknownName: no such shape.
        UsageError: no shape has these columns, or not the named one; no row; no such source; a
            column of `keep` is missing.
        StoreError: no row is left, or the file is damaged.
    """
    shape = look_up("shape", name, SHAPES) if name else None
    if not source:
        if shape is None or not shape.hub:
            raise UsageError(f"{name or 'a shape'} has no set on the hub: name a file")
        source = f"hf:{shape.hub}"
    split = split or split_in(str(source))
    path = fetch(source)
    published = read_some(path)
    first = next(published)
    if shape is None:
        name, shape = shape_of(first, path)
    elif not shape.fits(first):
        other = _BY_NAME.get(name, shape)
        if other.missing(first):
            missing = ", ".join(sorted(shape.missing(first))) or "nothing, but has others"
            raise UsageError(f"{path} is none of {name}: it lacks {missing}")
    for column in keep:
        if column not in first:
            raise NoColumn(column, first, str(path))
    counted = Counter[str]() if reasons is None else reasons
    rows = _rows(name, shape, chain([first], published), split, counted, path)
    return _with_columns(rows, keep)


@dataclass(frozen=True)
class ShapedRows:
    """What `load_shape` returns, read anew in each iteration."""

    source: str
    name: str = ""
    keep: Collection[str] = ()
    reasons: Counter[str] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[Row]:
        self.reasons.clear()
        return load_shape(self.source, self.name, reasons=self.reasons, keep=self.keep)


def _with_columns(rows: Iterator[tuple[Row, Row]], keep: Collection[str]) -> Iterator[Row]:
    """The rows with these columns of the published ones."""
    for published, row in rows:
        yield {**row, **{name: published[name] for name in keep if name in published}}


def shape_of(row: Mapping[str, object], where: str | Path = "the row") -> tuple[str, Shape]:
    """The shape whose columns a row has. Raises UsageError, which names the nearest."""
    fitting = [(name, shape) for name, shape in SHAPES.items() if shape.fits(row)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " or ".join(name for name, _ in fitting)
        raise UsageError(f"{where} may be of {names}: --as says of which")
    shares = {
        name: len(shape.columns & row.keys()) / len(shape.columns) for name, shape in SHAPES.items()
    }
    near = max(shares, key=lambda each: shares[each])
    missing = ", ".join(sorted(SHAPES[near].missing(row)))
    hint = f": known are {', '.join(SHAPES)}"
    if shares[near] and missing:
        hint = f": the nearest is {near}, which also has {missing}"
    raise UsageError(f"{where} has no known shape (its columns: {', '.join(row)}){hint}")


def _rows(
    name: str, shape: Shape, rows: Iterator[Row], split: str, reasons: Counter[str], path: Path
) -> Iterator[tuple[Row, Row]]:
    left = 0
    for number, published in enumerate(rows):
        try:
            row = shape.row(published)
        except Skipped as reason:
            reasons[f"left out: {reason}"] += 1
            continue
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, Unparsed) as error:
            reasons[f"left out: it is none of {name} ({type(error).__name__}: {error})"] += 1
            continue
        left += 1
        if note := row.pop("note", ""):
            reasons[f"without a response: {note}"] += 1
        yield published, identified(row, name, number, split or "train")
    if not left:
        most = "; ".join(f"{n} {text}" for text, n in reasons.most_common(_MOST_REASONS))
        raise StoreError(f"{path}: no row of {name} is left: {most}")
