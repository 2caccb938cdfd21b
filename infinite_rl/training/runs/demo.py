"""A demonstration in minutes: SFT on partly wrong labels, then GRPO with the project's own reward.

Nothing is fetched. The rows are those of the procedural provider that ask for the sum of a number's
digits, where it has four of them and the sum lies from 6 to 29; the tokenizer and a Qwen3 of some
200,000 weights are made here. SFT learns from answers of which three in ten are wrong: of those for
numbers that end in 8 or 9, most leave out the last digit, as a careless annotator might; of the
others, some are any number. So SFT learns to be wrong. GRPO sees no answer, only what the reward
says of the model's own. The numbers that are asked about in test prompts are asked about in no
other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch

from ...adapters.scorer import Scorer
from ...errors import StoreError, UsageError
from ...layout import tagged
from ...procedural.draw import Draw
from ...procedural.math_integers import digits
from ...procedural.templates import write
from ...store import sample_of
from .. import train
from ..core.rollouts import Row, judge
from ..core.sampling import sample
from .config import TrainingConfig

SLIPS = (8, 9)  # last digits that are left out of the sum, in most labels
SLIPPED, NOISE = 0.65, 0.21  # shares of wrong labels: for such numbers, and others; in all 0.3
_ASKED = "the sum of the digits of "
# Sums outside these are rare: too few to be learned in minutes.
_NUMBERS = [number for number in range(1_000, 10_000) if 6 <= sum(map(int, str(number))) < 30]
_PIECES = r"</?answer>|\d|[^\d<]+"  # a digit each, and whole stretches of words

# Is called with the phase, a step, how many there are, and the step's values.
OnStep = Callable[[str, int, int, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Recipe:
    """How long it goes on; `tests` are the numbers kept for test prompts."""

    sft_steps: int = 800
    grpo_steps: int = 500
    rows: int = 24_000
    tests: int = 1_000
    seed: int = 42


QUICK = Recipe(sft_steps=110, grpo_steps=40, rows=4_000, tests=300)


@dataclass(frozen=True)
class Found:
    """What came of it: right greedy answers of the test prompts, and where the runs are."""

    checkpoints: Mapping[str, Path]
    right: Mapping[str, Sequence[bool]]
    prompts: Mapping[str, int]
    wrong_labels: int


@dataclass(frozen=True)
class Rows:
    """Three lists of rows that share no number; SFT's labels are partly wrong."""

    test: list[dict[str, str]]
    sft: list[dict[str, str]]
    grpo: list[dict[str, str]]


def demo(out: str | Path, recipe: Recipe = Recipe(), on_step: OnStep | None = None) -> Found:
    """Run it all, with its model and runs in the folder `out`.

    Raises:
        StoreError: it cannot be written there.
    """
    out, rows = Path(out), make_rows(recipe)
    told = on_step or (lambda *_: None)
    scorer = Scorer()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # at this size more are slower, and their number would change sums
    try:
        model = save_model(out / "model", rows, recipe.seed)
        sft = train(
            rows.sft, None, sft_config(recipe, model, out), on_step=_phase(told, "sft", recipe)
        )
        right = {"sft": greedy(sft, rows.test, scorer)}
        config = grpo_config(recipe, sft, out)
        grpo = train(rows.grpo, scorer, config, on_step=_phase(told, "grpo", recipe))
        right["grpo"] = greedy(grpo, rows.test, scorer)
    finally:
        torch.set_num_threads(threads)
    counts = {name: len(getattr(rows, name)) for name in ("test", "sft", "grpo")}
    passed = judge(scorer, rows.sft, [row["response"] for row in rows.sft])
    return Found({"sft": sft, "grpo": grpo}, right, counts, passed.count(0.0))


def _phase(told: OnStep, name: str, recipe: Recipe) -> Callable[[int, Mapping[str, Any]], None]:
    steps = recipe.sft_steps if name == "sft" else recipe.grpo_steps
    return lambda step, values: told(name, step, steps, values)


def sft_config(recipe: Recipe, model: Path, out: Path) -> TrainingConfig:
    """What SFT is told, which learns from the wrong labels."""
    own = {"batch_size": 48, "learning_rate": 4e-3, "weight_decay": 0.01}
    return _config("sft", recipe.sft_steps, recipe.seed, model, out, own)


def grpo_config(recipe: Recipe, model: Path, out: Path) -> TrainingConfig:
    """What GRPO is told, which begins at a checkpoint of SFT."""
    own = {"batch_size": 32, "learning_rate": 4e-4, "group_size": 8, "max_new_tokens": 6}
    return _config("grpo", recipe.grpo_steps, recipe.seed, model, out, own)


def _config(
    algorithm: str, steps: int, seed: int, model: Path, out: Path, own: Mapping[str, Any]
) -> TrainingConfig:
    return TrainingConfig(
        str(model),
        algorithm=algorithm,
        out=str(out / "runs"),
        prompt_template="plain",
        max_steps=steps,
        warmup_steps=20,
        save_every=steps,
        device="cpu",
        seed=seed,
        **own,
    )


def make_rows(recipe: Recipe) -> Rows:
    """The rows of a recipe; the numbers are dealt out before any row is made."""
    numbers = Random(f"{recipe.seed}/numbers").sample(_NUMBERS, len(_NUMBERS))
    tests = recipe.tests * 3 // 2  # more than are taken: the last ones would be long in coming
    half = (len(numbers) - tests) // 2
    place = {number: "test" if at < tests else "sft" if at < tests + half else "grpo"
             for at, number in enumerate(numbers)}  # fmt: skip
    found: dict[str, dict[str, dict[str, str]]] = {"test": {}, "sft": {}, "grpo": {}}
    wanted = {"test": recipe.tests, "sft": recipe.rows // 2, "grpo": recipe.rows // 2}
    for row in _asked(recipe.seed):
        number = number_of(row)
        if number not in place:
            continue
        part = found[place[number]]
        key = str(number) if place[number] == "test" else row["prompt"]
        if len(part) < wanted[place[number]]:
            part.setdefault(key, row)
        if all(len(found[name]) == wanted[name] for name in found):
            break
    sft = list(found["sft"].values())
    chance = Random(f"{recipe.seed}/labels")
    for row in sft:
        row["response"] = tagged(_label(row, chance))
    return Rows(list(found["test"].values()), sft, list(found["grpo"].values()))


def number_of(row: Row) -> int:
    """The number that a row asks about. Raises UsageError where it asks about none."""
    numbers = re.findall(r"\d+", row["prompt"])
    if len(numbers) != 1:
        raise UsageError(f"no row of the demo: {row['prompt']!r}")
    return int(numbers[0])


def _asked(seed: int) -> Iterator[dict[str, str]]:
    """The provider's tasks of this kind, without end, with the answer alone as the response."""
    index = 0
    while True:
        problem = write(Draw(f"demo/{seed}/{index}"), 1, "integers", digits)
        index += 1
        if _ASKED in problem.prompt.replace("The sum", "the sum"):
            yield {
                "type": "math",
                "prompt": problem.prompt,
                "answer": problem.answer,
                "response": tagged(problem.answer),
            }


def _label(row: Row, chance: Random) -> str:
    """The answer that SFT is shown."""
    right, last = int(row["answer"]), number_of(row) % 10
    slips = last in SLIPS
    if chance.random() >= (SLIPPED if slips else NOISE):
        return str(right)
    return str(right - last if slips else chance.choice([n for n in range(1, 37) if n != right]))


def save_model(folder: Path, rows: Rows, seed: int) -> Path:
    """A tokenizer of the words in the rows, and a small model for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from None
    tokenizer = make_tokenizer([row["prompt"] for row in (*rows.sft, *rows.grpo, *rows.test)])
    model = tiny_model(tokenizer, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_model(tokenizer: Any, seed: int, **changes: Any) -> Any:
    """A Qwen3 of some 200,000 random weights, or of another shape where `changes` says so."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = {
        "hidden_size": 96,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 24,
        "max_position_embeddings": 64,
        "initializer_range": 0.06,
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), **shape | changes))


def make_tokenizer(texts: Sequence[str], pieces: str = _PIECES) -> Any:
    """A tokenizer with a token for each digit, and one for each other piece of the texts.

    `pieces` is a regular expression; with its default they are whole stretches of words.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    found = {piece for text in texts for piece in re.findall(pieces, text)}
    first = ["[PAD]", "[END]", "[UNK]", "<answer>", "</answer>", *"0123456789"]
    every = [*first, *sorted(found - set(first))]
    bare = Tokenizer(models.WordLevel({piece: at for at, piece in enumerate(every)}, "[UNK]"))
    bare.pre_tokenizer = pre_tokenizers.Split(Regex(pieces), "isolated")
    bare.decoder = decoders.Fuse()
    made: Any = PreTrainedTokenizerFast  # its constructor has no types
    return made(tokenizer_object=bare, pad_token="[PAD]", eos_token="[END]", unk_token="[UNK]")


def greedy(checkpoint: Path, rows: Sequence[Row], scorer: Scorer) -> list[bool]:
    """Whether each row's likeliest answer ends and passes, by the project's own reward."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    prompts = [tokenizer.encode(row["prompt"], add_special_tokens=False) for row in rows]
    answers = sample(model, tokenizer, prompts, max_new_tokens=6, temperature=0)
    pairs = [(sample_of(row), each.text) for row, (each,) in zip(rows, answers, strict=True)]
    ended = [each.finish_reason == "stop" for (each,) in answers]
    scores = scorer.judge(pairs)
    return [score.passed and end for score, end in zip(scores, ended, strict=True)]
