"""The public benchmarks as rows, from the files that their authors publish.

name       published by                        type         response
gsm8k      Cobbe et al. 2021, 2110.14168       gsm8k        the solution, "#### 18" at its end
math       Hendrycks et al. 2021, 2103.03874   math         the solution, and its answer in a tag
mbpp       Austin et al. 2021, 2108.07732      mbpp         the program
humaneval  Chen et al. 2021, 2107.03374        humaneval    what continues the prompt
ifeval     Zhou et al. 2023, 2311.07911        instruction  "": there is no reference

(The numbers are arXiv's.) `math` is also MATH-500; `mbpp` may be whole or sanitized.

A row has `id`, `type`, `prompt`, `answer`, `response`, `language`, `source` and `split`. Its type
names the reward that judges it, and its own response passes there in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StoreError, UsageError, look_up
from ..layout import tagged
from ..reward_functions.math.bounds import Unparsed
from ..reward_functions.math.extract import last_box
from ..storage import fetch
from .pins import check_file
from .rows import Row, read_some

_SPLITS = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}
# Where each split of MBPP begins, by https://github.com/google-research/google-research/tree/master/mbpp
_MBPP_SPLITS = ((601, "train"), (511, "validation"), (11, "test"))


def load(name: str, source: str | Path = "", *, split: str = "") -> Iterator[Row]:
    """The rows of a benchmark. `source` is a file, or whatever else `fetch` takes.

    Without a source they come from the data set of that name on the Hugging Face hub (of `split`,
    or else of its test split). `split` is also what the rows of a file are marked with that does
    not say it by its name.

    Raises:
        UnknownName: no such benchmark.
        UsageError: there is no such source, it is a folder, or has no row.
        StoreError: a row of it is not one of this benchmark, or the file is pinned and has changed.
    """
    benchmark = look_up("benchmark", name, BENCHMARKS)
    source = source or f"hf:{benchmark.hub}:{split or benchmark.hub_split}"
    named = split or _split_in(str(source))
    path = fetch(source)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name one of its files, which says the split as well")
    check_file(path)
    return _rows(name, benchmark, path, named)


def _rows(name: str, benchmark: Benchmark, path: Path, split: str) -> Iterator[Row]:
    for number, given in enumerate(read_some(path)):
        try:
            row = benchmark.row(given)
        except (KeyError, TypeError, ValueError, AttributeError, Unparsed) as error:
            reason = f"{type(error).__name__}: {error}"
            raise StoreError(f"{path}: row {number + 1} is none of {name} ({reason})") from None
        split_of_row = row.pop("split", "") or split or "test"
        key = row.pop("key", "") or f"{split_of_row}-{number}"
        yield {"id": f"{name}-{key}", **row, "source": name, "split": split_of_row}


def _split_in(source: str) -> str:
    """The split that a place names: `.../test.jsonl`, `hf:openai/gsm8k:main:train`; else ""."""
    words = re.split(r"[^a-z]+", re.split(r"[/:]", source.lower())[-1])
    if source.startswith("hf:"):
        return source.rpartition(":")[2]
    return next((split for word, split in _SPLITS.items() if word in words), "")


# --- one function a benchmark: a row as it is published, to a row of ours ------------------------


def _gsm8k(given: Row) -> Row:
    solution = _text(given, "answer")
    if "####" not in solution:
        raise ValueError("its answer has no ####")
    gold = solution.rpartition("####")[2].strip().replace(",", "")
    row = _row("gsm8k", _text(given, "question"), gold, solution)
    return {**row, "key": str(given.get("id") or "")}


def _math(given: Row) -> Row:
    solution = _text(given, "solution")
    answer = given.get("answer") or last_box(solution)
    if answer is None:
        raise ValueError("its solution has no box")
    key = re.sub(r"\W+", "-", given.get("unique_id", "").removesuffix(".json")).strip("-")
    subject, level = given.get("subject") or given.get("type", ""), str(given.get("level", ""))
    row = _row("math", _text(given, "problem"), answer, f"{solution}\n\n{tagged(f'${answer}$')}")
    return {**row, "key": key, "subject": subject, "level": level.removeprefix("Level ")}


def _mbpp(given: Row) -> Row:
    number, tests = int(given["task_id"]), list(given["test_list"])
    setup = given["test_setup_code"] if "text" in given else "\n".join(given["test_imports"])
    told = _text(given, "text" if "text" in given else "prompt")
    # The name of the function asked for is in the tests alone.
    prompt = f"{told}\nYour code should pass these tests:\n\n" + "\n".join(tests)
    answer = json.dumps({"tests": tests, **({"setup": setup} if setup.strip() else {})})
    split = next((split for first, split in _MBPP_SPLITS if number >= first), "prompt")
    row = _row("mbpp", prompt, answer, _text(given, "code").replace("\r\n", "\n"), "python")
    return {**row, "key": str(number), "split": split}


def _humaneval(given: Row) -> Row:
    prompt, name = _text(given, "prompt"), _text(given, "entry_point")
    if "def check" not in (test := _text(given, "test")):
        raise ValueError("its test defines no check: it is not in Python")  # as in HumanEval-X
    answer = json.dumps({"tests": [test], "entry_point": name, "prompt": prompt})
    row = _row("humaneval", prompt, answer, _text(given, "canonical_solution"), "python")
    return {**row, "key": _text(given, "task_id").rpartition("/")[2], "split": "test"}


def _ifeval(given: Row) -> Row:
    names, settings = given["instruction_id_list"], given["kwargs"]
    checks = [
        {"instruction_id": name, "kwargs": {key: v for key, v in each.items() if v is not None}}
        for name, each in zip(names, settings, strict=True)
    ]
    row = _row("instruction", _text(given, "prompt"), json.dumps(checks), "")
    return {**row, "key": str(given["key"]), "split": "test"}


def _row(kind: str, prompt: str, answer: str, response: str, language: str = "") -> Row:
    if not answer.strip():
        raise ValueError("there is no answer")
    return dict(type=kind, prompt=prompt, answer=answer, response=response, language=language)


def _text(given: Mapping[str, Any], column: str) -> str:
    if not isinstance(given[column], str):
        raise TypeError(f"{column} holds no text")
    return str(given[column])


@dataclass(frozen=True)
class Benchmark:
    """How a row is read; where all are on the hub, NAME or NAME:CONFIG, and their test split."""

    row: Callable[[Row], Row]
    hub: str
    hub_split: str = "test"


# One row a benchmark.
BENCHMARKS: Mapping[str, Benchmark] = {
    "gsm8k": Benchmark(_gsm8k, "openai/gsm8k:main"),
    "math": Benchmark(_math, "HuggingFaceH4/MATH-500"),
    "mbpp": Benchmark(_mbpp, "google-research-datasets/mbpp:sanitized"),
    "humaneval": Benchmark(_humaneval, "openai/openai_humaneval"),
    "ifeval": Benchmark(_ifeval, "google/IFEval", "train"),
}
