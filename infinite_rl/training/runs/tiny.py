"""A tiny model that takes any prompt, and tiny rows of each benchmark: recipes run offline.

    OUT/config.json, model.safetensors, tokenizer.json ...    the model
    OUT/rows/gsm8k.jsonl, math.jsonl, mbpp.jsonl, instructions.jsonl
                                                              rows to train on
    OUT/benchmarks/gsm8k.jsonl, math500.jsonl, mbpp.jsonl, humaneval.jsonl, ifeval.jsonl
                                                              test items, as their authors publish

The model is a Qwen3 of 400,000 weights with room for 8,192 tokens. Its tokenizer has a token
for each byte, for each digit and for the common words of these rows, and a chat template, so it
takes any text. It has learnt a part of the rows by SFT: it knows the form of an answer and finds
some, so that GRPO has rewards to learn from. The items ask for sums and the like of one-digit
numbers; no pair of numbers of a test item occurs in the rows. They test that a recipe runs, not
what a model knows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ...dataset.loaders import BENCHMARKS, identified
from ...dataset.rows import Row, write
from ...errors import UsageError, store_errors
from .. import train
from .config import TrainingConfig

ROWS, ITEMS = "rows", "benchmarks"
STEPS, COUNT, TESTS = 150, 400, 40  # of SFT, of rows of a set, of items
_VOCABULARY = 1_024
_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_PAIRS = [*product(range(1, 10), repeat=2)]
_PEOPLE = ("Mia", "Tom", "Ada", "Ben", "Zoe", "Ali", "Eva", "Leo")
_THINGS = ("apples", "books", "coins", "pens", "cards", "shells", "stamps", "eggs")
_SUMS = (
    "{who} has {a} {what} and buys {b} more. How many {what} does {who} have now?",
    "There are {a} {what} on a table. {who} puts {b} {what} beside them. How many are there?",
    "{who} finds {a} {what} in the morning and {b} {what} in the evening. How many is that?",
)


def make_tiny(out: Path, *, steps: int = STEPS, seed: int = 42) -> dict[str, int]:
    """Make the model, the rows and the items in the folder `out`; the number of rows by file.

    `steps` are those of SFT; 0 leaves the weights random.

    Raises:
        UsageError: the folder has something else.
        StoreError: it is not writable.
    """
    if out.is_dir() and any(out.iterdir()) and not (out / ITEMS).is_dir():
        raise UsageError(f"{out} has other files: name a new folder")
    with store_errors(f"cannot write to {out}"):
        (out / ITEMS).mkdir(parents=True, exist_ok=True)
    counts = {}
    for name, (benchmark, *_) in _SETS.items():
        items = make_items(benchmark, COUNT, test=False, seed=seed)
        source = BENCHMARKS[benchmark]
        rows = [identified(source.row(each), name, n, "train") for n, each in enumerate(items)]
        counts[f"{ROWS}/{name}.jsonl"] = write(rows, out / ROWS / f"{name}.jsonl")
    with store_errors(f"cannot write to {out}"):
        _save_model(out, seed)
    if steps:
        _fine_tune(out, steps, seed)
    for name, benchmark in _TESTS.items():  # last: see `is_complete`
        items = make_items(benchmark, TESTS, test=True, seed=seed)
        counts[f"{ITEMS}/{name}.jsonl"] = write(items, out / ITEMS / f"{name}.jsonl")
    return counts


def is_complete(out: Path) -> bool:
    """Whether `make_tiny` made all of a folder: false if it was killed."""
    return all((out / ITEMS / f"{name}.jsonl").is_file() for name in _TESTS)


def make_items(benchmark: str, count: int, *, test: bool, seed: int) -> list[Row]:
    """Items of a benchmark in the columns that its authors publish."""
    pairs = [pair for pair in _PAIRS if ((pair[0] + 2 * pair[1]) % 5 == 0) is test]
    items = []
    for number in range(count):
        draw = Random(f"{seed}/{benchmark}/{test}/{number}")
        a, b = draw.choice(pairs)
        items.append(_MAKERS[benchmark](_Drawn(draw, number, a, b, test)))
    return items


class _Drawn(NamedTuple):
    """What an item is made of: its number, two numbers to calculate with, and other choices."""

    draw: Random
    number: int
    a: int
    b: int
    test: bool


def _gsm8k(drawn: _Drawn) -> Row:
    draw, _, a, b, _ = drawn
    names = {"who": draw.choice(_PEOPLE), "what": draw.choice(_THINGS), "a": a, "b": b}
    solution = f"{a} + {b} = {a + b}\n#### {a + b}"
    return {"question": draw.choice(_SUMS).format(**names), "answer": solution}


def _math(drawn: _Drawn) -> Row:
    draw, _, a, b, _ = drawn
    sign, value = draw.choice([("+", a + b), ("-", a - b), (r"\cdot", a * b)])
    answer = {"solution": f"It is $\\boxed{{{value}}}$.", "answer": str(value)}
    return {"problem": f"What is ${a} {sign} {b}$?", **answer, "subject": "Sums", "level": 1}


def _mbpp(drawn: _Drawn) -> Row:
    _, number, a, b, test = drawn
    example = test and number < 5  # by its id one of the published prompt's, which are 2 to 10
    task_id = (2 if example else 11) + number if test else 601 + number
    a, b = (number, -b) if example else (a, b)
    task = f"Write a function to add {a} to the product of a number and {b}."
    tests = [f"assert add({n}) == {a + n * b}" for n in (0, 1, 7)]
    code = f"def add(n):\n    return {a} + n * {b}"
    return {"task_id": task_id, "prompt": task, "code": code, "test_list": tests,
            "test_imports": []}  # fmt: skip


def _humaneval(drawn: _Drawn) -> Row:
    _, number, a, b, _ = drawn
    prompt = f'def add(n):\n    """Return {a} more than {b} times n."""\n'
    check = "".join(f"    assert candidate({n}) == {a + n * b}\n" for n in (0, 1, 7))
    return {"task_id": f"HumanEval/{number}", "prompt": prompt, "entry_point": "add",
            "canonical_solution": f"    return {a} + n * {b}\n",
            "test": f"def check(candidate):\n{check}"}  # fmt: skip


def _ifeval(drawn: _Drawn) -> Row:
    draw, number, a, b, _ = drawn
    what = f"{draw.choice(_PEOPLE)}'s {a} {draw.choice(_THINGS)} and {b} others"
    kinds: list[tuple[str, str, Mapping[str, Any]]] = [
        ("Use no commas.", "punctuation:no_comma", {}),
        ("Use lower case only.", "change_case:english_lowercase", {}),
        ("Use at most 20 words.", "length_constraints:number_words",
         {"relation": "less than", "num_words": 21}),
    ]  # fmt: skip
    text, name, values = draw.choice(kinds)
    prompt = f"Write a line about {what}. {text}\n"
    return {"key": number, "prompt": prompt, "instruction_id_list": [name], "kwargs": [values]}


_MAKERS: Mapping[str, Callable[[_Drawn], Row]] = {
    "gsm8k": _gsm8k, "math": _math, "mbpp": _mbpp, "humaneval": _humaneval, "ifeval": _ifeval,
}  # fmt: skip
# The files of rows: the benchmark of their form; SFT's prompt template and its number of rows.
_SETS = {
    "gsm8k": ("gsm8k", "qwen", COUNT),
    "math": ("math", "qwen", COUNT),
    "mbpp": ("mbpp", "mbpp", COUNT // 8),
    "instructions": ("ifeval", "plain", 0),  # they have no response
}
_TESTS = {name: name for name in _MAKERS if name != "math"} | {"math500": "math"}


def _save_model(out: Path, seed: int) -> None:
    from .demo import tiny_model  # loads torch

    texts = (
        json.dumps(item, ensure_ascii=False)
        for benchmark in _MAKERS
        for item in make_items(benchmark, COUNT, test=False, seed=seed)
    )
    example = Path(__file__).parents[2] / "examples" / "MATH.md"
    tokenizer = _tokenizer([*texts, example.read_text(encoding="utf-8")])
    shape = {"hidden_size": 128, "intermediate_size": 256, "head_dim": 64}
    shape |= {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8_192}
    tiny_model(tokenizer, seed, **shape).save_pretrained(out)
    tokenizer.save_pretrained(out)


def _tokenizer(texts: list[str]) -> Any:
    """Byte-level BPE in which each digit is a token, with the special tokens of ChatML."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    bare.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bare.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=_VOCABULARY,
            special_tokens=special,
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    untyped: Any = PreTrainedTokenizerFast
    tokenizer = untyped(
        tokenizer_object=bare, pad_token=special[0], eos_token=special[2], model_max_length=8_192
    )
    tokenizer.chat_template = _CHATML
    return tokenizer


def _fine_tune(out: Path, steps: int, seed: int) -> None:
    """Replace the random weights by those that SFT has made of them."""
    from .demo import one_thread  # loads torch

    sets = [
        {"name": name, "path": str(out / ROWS / f"{name}.jsonl"), "prompt_template": template,
         "count": count}
        for name, (_, template, count) in _SETS.items()
        if count
    ]  # fmt: skip
    values: dict[str, Any] = {"model": str(out), "out": str(out / "runs")}
    values |= {"algorithm": "sft", "datasets": sets}
    values |= {"max_steps": steps, "warmup_steps": min(20, steps - 1), "batch_size": 16}
    values |= {"learning_rate": 4e-3, "tokens_per_batch": 8_192, "save_every": steps}
    config = TrainingConfig.of({**values, "device": "cpu", "seed": seed})
    with one_thread():
        last = train(None, None, config)
    with store_errors(f"cannot write to {out}"):
        shutil.copyfile(last / "model.safetensors", out / "model.safetensors")
        shutil.rmtree(out / "runs")
