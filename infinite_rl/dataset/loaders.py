"""The public benchmarks as rows, from the files that their authors publish.

name       published by                        type         response
gsm8k      Cobbe et al. 2021, 2110.14168       gsm8k        the solution, "#### 18" at its end
math       Hendrycks et al. 2021, 2103.03874   math         the solution, and its answer in a tag
mbpp       Austin et al. 2021, 2108.07732      program      the program
humaneval  Chen et al. 2021, 2107.03374        humaneval    the continuation of the prompt
ifeval     Zhou et al. 2023, 2311.07911        instruction  "": there is no reference

(The numbers are arXiv's.) `math` is also MATH-500; `mbpp` may be whole or sanitized. Besides,
`pin_gsm8k` makes a pinned split of GSM8K, and `reasoning_gym_rows` generates rows with the package
reasoning-gym.

A row has `id`, `type`, `prompt`, `answer`, `response`, `language`, `source` and `split`. Its type
names the reward that judges it, and its own response passes there in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import StoreError, UnknownName, UsageError, look_up
from ..layout import tagged
from ..reward_functions import reasoning_gym
from ..reward_functions.math.bounds import Unparsed
from ..reward_functions.math.boxes import last_box
from ..storage import fetch
from .checksums import PinManifest, check, check_file, pinned, write_pinned
from .rows import Row, read_some, sample_of
from .tokens import hash_of, normalized_text

VALIDATION = 512  # rows of the pinned GSM8K
FILES = ("train.jsonl", "val.jsonl", "test.jsonl")
_SPLITS = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}
# The first task of each split of MBPP, by https://github.com/google-research/google-research/tree/master/mbpp
_MBPP_SPLITS = ((601, "train"), (511, "validation"), (11, "test"))


def load(name: str, source: str | Path = "", *, split: str = "") -> Iterator[Row]:
    """The rows of a benchmark. `source` is a file, or any other source of `fetch`.

    Without a source they come from the data set of that name on the Hugging Face hub (of `split`,
    by default its test split). `split` also labels the rows of a file whose name does not say it.

    Raises:
        UnknownName: no such benchmark.
        UsageError: there is no such source, it is a folder, or has no row.
        StoreError: a row of it is not one of this benchmark, or the file is pinned and has changed.
    """
    benchmark = look_up("benchmark", name, BENCHMARKS)
    source = source or f"hf:{benchmark.hub}:{split or benchmark.hub_split}"
    split = split or split_in(str(source))
    path = fetch(source)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name one of its files, which says the split as well")
    check_file(path)
    return _rows(name, benchmark, path, split)


def _rows(name: str, benchmark: Benchmark, path: Path, split: str) -> Iterator[Row]:
    for number, published in enumerate(read_some(path)):
        try:
            row = benchmark.row(published)
        except (KeyError, TypeError, ValueError, AttributeError, Unparsed) as error:
            reason = f"{type(error).__name__}: {error}"
            raise StoreError(f"{path}: row {number + 1} is none of {name} ({reason})") from None
        yield identified(row, name, number, split or "test")


def identified(row: Row, name: str, number: int, split: str) -> Row:
    """A row with its `id` and source; `split` and `number` count where it states none itself."""
    split = row.pop("split", "") or split
    key = row.pop("key", "") or f"{split}-{number}"
    return {"id": f"{name}-{key}", **row, "source": name, "split": split}


def split_in(source: str) -> str:
    """The split that a path or URI names: `.../test.jsonl`, `hf:openai/gsm8k:main:train`; or ""."""
    words = re.split(r"[^a-z]+", re.split(r"[/:]", source.lower())[-1])
    if source.startswith("hf:"):
        return source.rpartition(":")[2]
    return next((split for word, split in _SPLITS.items() if word in words), "")


# --- one function a benchmark: from a published row to a row of ours -----------------------------


def _gsm8k(published: Row) -> Row:
    solution = _text(published, "answer")
    if "####" not in solution:
        raise ValueError("its answer has no ####")
    gold = solution.rpartition("####")[2].strip().replace(",", "")
    row = _row("gsm8k", _text(published, "question"), gold, solution)
    return {**row, "key": str(published.get("id") or "")}


def _math(published: Row) -> Row:
    solution = _text(published, "solution")
    answer = published.get("answer") or last_box(solution)
    if answer is None:
        raise ValueError("its solution has no box")
    key = re.sub(r"\W+", "-", published.get("unique_id", "").removesuffix(".json")).strip("-")
    subject = published.get("subject") or published.get("type", "")
    level = str(published.get("level", "")).removeprefix("Level ")
    response = f"{solution}\n\n{tagged(f'${answer}$')}"
    row = _row("math", _text(published, "problem"), answer, response)
    return {**row, "key": key, "subject": subject, "level": level}


def _mbpp(published: Row) -> Row:
    number, tests = int(published["task_id"]), list(published["test_list"])
    full = "text" in published
    setup = published["test_setup_code"] if full else "\n".join(published["test_imports"])
    task = _text(published, "text" if full else "prompt")
    # Only the tests name the function.
    prompt = f"{task}\nYour code should pass these tests:\n\n" + "\n".join(tests)
    answer = json.dumps({"tests": tests, **({"setup": setup} if setup.strip() else {})})
    split = next((split for first, split in _MBPP_SPLITS if number >= first), "prompt")
    row = _row("program", prompt, answer, _text(published, "code").replace("\r\n", "\n"), "python")
    return {**row, "key": str(number), "split": split}


def _humaneval(published: Row) -> Row:
    prompt, name = _text(published, "prompt"), _text(published, "entry_point")
    if "def check" not in (test := _text(published, "test")):
        raise ValueError("its test defines no check: it is not in Python")  # as in HumanEval-X
    answer = json.dumps({"tests": [test], "entry_point": name, "prompt": prompt})
    row = _row("humaneval", prompt, answer, _text(published, "canonical_solution"), "python")
    return {**row, "key": _text(published, "task_id").rpartition("/")[2], "split": "test"}


def _ifeval(published: Row) -> Row:
    names, settings = published["instruction_id_list"], published["kwargs"]
    checks = [
        {"instruction_id": name, "kwargs": {key: v for key, v in each.items() if v is not None}}
        for name, each in zip(names, settings, strict=True)
    ]
    row = _row("instruction", _text(published, "prompt"), json.dumps(checks), "")
    return {**row, "key": str(published["key"]), "split": "test"}


def _row(kind: str, prompt: str, answer: str, response: str, language: str = "") -> Row:
    if not answer.strip():
        raise ValueError("there is no answer")
    return dict(type=kind, prompt=prompt, answer=answer, response=response, language=language)


def _text(published: Mapping[str, Any], column: str) -> str:
    if not isinstance(published[column], str):
        raise TypeError(f"{column} holds no text")
    return str(published[column])


class Benchmark(NamedTuple):
    """How a published row is converted; its hub data set, NAME or NAME:CONFIG, and test split."""

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


# --- GSM8K, pinned -------------------------------------------------------------------------------


def pin_gsm8k(
    folder: str | Path,
    source: str = "",
    *,
    validation: int = VALIDATION,
    seed: int = 0,
    overwrite: bool = False,
) -> PinManifest:
    """Make a folder with GSM8K's train, validation and test split, or check an existing one.

    The files are the same bytes on every machine: `train.jsonl`, `val.jsonl` and `test.jsonl`, each
    row with `question`, `answer` and `id`, a hash of its content, and the manifest of `checksums`.
    The validation rows are drawn from the training set, by the seed and their content, not their
    order. No question occurs twice, and none of the test set in another split.

    `source` has `train.jsonl` and `test.jsonl` as GSM8K's authors publish them: a folder,
    s3://BUCKET/FOLDER, or a data set of the hub with these splits, hf:NAME[:CONFIG]; by default
    GSM8K's own.

    Raises:
        UsageError: there is no such source, or no row would be left for training.
        StoreError: the folder has other content, without `overwrite`; a row is none of GSM8K; a
            file cannot be written.
    """
    folder, source = Path(folder), source or f"hf:{BENCHMARKS['gsm8k'].hub}"
    train, test = dict[str, Row](), dict[str, Row]()  # by question
    for split, rows in (("train", train), ("test", test)):
        hub = source.startswith("hf:")
        path = f"{source}:{split}" if hub else f"{source.rstrip('/')}/{split}.jsonl"
        for row in load("gsm8k", path, split=split):
            question, answer = row["prompt"].strip(), row["response"].strip()
            sample = sample_of({**row, "prompt": question, "response": answer})
            row = {"question": question, "answer": answer, "id": sample.id}
            rows[normalized_text(question)] = row
    train = {question: row for question, row in train.items() if question not in test}
    if not 0 <= validation < len(train):
        raise UsageError(
            f"there are {len(train)} questions: {validation} for validation are too many"
        )
    drawn = sorted(train, key=lambda each: hash_of(f"{seed}:{train[each]['id']}"))[:validation]
    val = {*drawn}
    splits = (
        [row for question, row in train.items() if question not in val],
        [row for question, row in train.items() if question in val],
        [*test.values()],
    )
    files = dict(zip(FILES, splits, strict=True))
    manifest = pinned(files, source, seed)
    if overwrite or not any((folder / name).exists() for name in FILES):
        write_pinned(folder, files, manifest)
    elif check(folder).sha256 != manifest.sha256:
        raise StoreError(
            f"{folder} pins other rows than {source} gives, with {validation} for validation by "
            f"the seed {seed}: --overwrite pins these"
        )
    return manifest


# --- reasoning-gym -------------------------------------------------------------------------------


def reasoning_gym_rows(task: str, count: int, seed: int = 0, **config: Any) -> Iterator[Row]:
    """`count` rows of a task; equal seeds give equal rows. `config` overrides the task's settings.

    Raises:
        UnknownName: no such task.
        UsageError: a task whose scorer is not trusted (see `REFUSED`), an unknown setting, or the
            package is not installed.
    """
    reasoning_gym.load()
    from reasoning_gym.factory import DATASETS, create_dataset

    refused = reasoning_gym.REFUSED
    if task in refused:
        raise UsageError(f"no rows of {task}: {refused[task]}")
    if task not in DATASETS:
        raise UnknownName("task", task, DATASETS.keys() - refused.keys())
    try:
        dataset = create_dataset(task, seed=seed, size=count, **config)
    except (TypeError, ValueError, AssertionError) as error:
        raise UsageError(f"{task} cannot be generated with these settings: {error}") from None

    def row(index: int) -> Row:
        # As another process will read it: a scorer must work with what JSON keeps.
        entry = json.loads(json.dumps(dataset[index]))
        answer = json.dumps({"task": task, "config": config, "entry": entry})
        row = _row("reasoning_gym", entry["question"], answer, tagged(entry["answer"]))
        key = {"id": f"reasoning_gym-{task}-{seed}-{index}"}
        return {**key, **row, "source": f"reasoning_gym:{task}", "split": "train"}

    return map(row, range(count))
