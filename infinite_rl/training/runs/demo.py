"""A demonstration in minutes: SFT on partly wrong labels, then GRPO with the project's own reward.

Nothing is downloaded. The rows are those of the procedural provider that ask for the digit sum of a
four-digit number, with sums from 6 to 29; the tokenizer and a Qwen3 of some 200,000 weights are
created here. In the labels of SFT three in ten are wrong: for numbers that end in 8 or 9 most leave
out the last digit, as a careless annotator might, and some of the others are random. So SFT learns
to be wrong. GRPO sees no label, only the reward of the model's own completions. No number of a test
prompt occurs in another prompt.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import torch

from ...adapters.scorer import Scorer
from ...errors import UsageError, store_errors
from ...layout import tagged
from ...procedural.draw import Draw
from ...procedural.math_integers import digits
from ...procedural.templates import write
from ...store import sample_of
from .. import train
from ..core.rollouts import Row, compute_rewards
from ..core.sampling import sample
from .config import TrainingConfig

SLIPS = (8, 9)  # last digits that most labels leave out of the sum
SLIPPED, NOISE = 0.65, 0.21  # fractions of wrong labels: such numbers, and others; 0.3 in all
_QUESTION = "the sum of the digits of "
# Sums outside are rare: too few to be learned in minutes.
_NUMBERS = [number for number in range(1_000, 10_000) if 6 <= sum(map(int, str(number))) < 30]
_PIECES = r"</?answer>|\d|[^\d<]+"  # single digits, and whole stretches of words

OnStep = Callable[[str, int, int, Mapping[str, Any]], None]  # phase, step, steps, metrics


@dataclass(frozen=True)
class Recipe:
    """The size of the demo; `tests` are the numbers reserved for test prompts."""

    sft_steps: int = 800
    grpo_steps: int = 500
    rows: int = 24_000
    tests: int = 1_000
    seed: int = 42


QUICK = Recipe(sft_steps=110, grpo_steps=100, rows=4_000, tests=300)


@dataclass(frozen=True)
class DemoResult:
    """Checkpoints, and whether each test prompt's greedy answer is right, by phase."""

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


def demo(out: str | Path, recipe: Recipe = Recipe(), on_step: OnStep | None = None) -> DemoResult:
    """Run the demo, with its model and runs in the directory `out`.

    Raises:
        StoreError: `out` is not writable.
    """
    out, rows, scorer = Path(out), make_rows(recipe), Scorer()

    def phase(name: str, steps: int) -> Callable[[int, Mapping[str, Any]], None]:
        return lambda step, values: on_step(name, step, steps, values) if on_step else None

    with one_thread():
        model = save_model(out / "model", rows, recipe.seed)
        config = sft_config(recipe, model, out)
        sft = train(rows.sft, None, config, on_step=phase("sft", recipe.sft_steps))
        right = {"sft": greedy(sft, rows.test, scorer)}
        config = grpo_config(recipe, sft, out)
        grpo = train(rows.grpo, scorer, config, on_step=phase("grpo", recipe.grpo_steps))
        right["grpo"] = greedy(grpo, rows.test, scorer)
    counts = {name: len(getattr(rows, name)) for name in ("test", "sft", "grpo")}
    rewards = compute_rewards(scorer, rows.sft, [row["response"] for row in rows.sft])
    return DemoResult({"sft": sft, "grpo": grpo}, right, counts, rewards.count(0.0))


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: for a tiny model more are slower, and their number changes sums."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def sft_config(recipe: Recipe, model: Path, out: Path) -> TrainingConfig:
    """The config of SFT, which learns from the wrong labels."""
    values = {"batch_size": 48, "learning_rate": 4e-3, "weight_decay": 0.01}
    return _config("sft", recipe.sft_steps, recipe, model, out, values)


def grpo_config(recipe: Recipe, model: Path, out: Path) -> TrainingConfig:
    """The config of GRPO, which begins with a checkpoint of SFT."""
    values = {"batch_size": 32, "learning_rate": 4e-4, "group_size": 8, "max_new_tokens": 6}
    return _config("grpo", recipe.grpo_steps, recipe, model, out, values)


def _config(
    algorithm: str, steps: int, recipe: Recipe, model: Path, out: Path, values: Mapping[str, Any]
) -> TrainingConfig:
    common = {"prompt_template": "plain", "warmup_steps": 20, "device": "cpu", "seed": recipe.seed}
    own = {"algorithm": algorithm, "max_steps": steps, "save_every": steps, **values}
    return TrainingConfig.of({"model": str(model), "out": str(out / "runs"), **common, **own})


def make_rows(recipe: Recipe) -> Rows:
    """The rows of a recipe; the numbers are split before any row is made."""
    numbers = Random(f"{recipe.seed}/numbers").sample(_NUMBERS, len(_NUMBERS))
    tests = recipe.tests * 3 // 2  # more than needed: the last ones would take long to come up
    half = (len(numbers) - tests) // 2
    part_of = {number: "test" if index < tests else "sft" if index < tests + half else "grpo"
               for index, number in enumerate(numbers)}  # fmt: skip
    sizes = {"test": recipe.tests, "sft": recipe.rows // 2, "grpo": recipe.rows // 2}
    parts: dict[str, dict[str, dict[str, str]]] = {name: {} for name in sizes}
    for row in _problems(recipe.seed):
        number = number_of(row)
        name = part_of.get(number, "")
        if name and len(parts[name]) < sizes[name]:
            parts[name].setdefault(str(number) if name == "test" else row["prompt"], row)
        if all(len(parts[name]) == size for name, size in sizes.items()):
            break
    chance = Random(f"{recipe.seed}/labels")
    for row in parts["sft"].values():
        row["response"] = tagged(_label(row, chance))
    return Rows(**{name: list(rows.values()) for name, rows in parts.items()})


def number_of(row: Row) -> int:
    """The number in a row's prompt. Raises UsageError if there is not exactly one."""
    numbers = re.findall(r"\d+", row["prompt"])
    if len(numbers) != 1:
        raise UsageError(f"no row of the demo: {row['prompt']!r}")
    return int(numbers[0])


def _problems(seed: int) -> Iterator[dict[str, str]]:
    """The provider's tasks of this kind, without end, with the bare answer as the response."""
    for index in count():
        problem = write(Draw(f"demo/{seed}/{index}"), 1, "integers", digits)
        if _QUESTION in problem.prompt.replace("The sum", "the sum"):
            answer = {"answer": problem.answer, "response": tagged(problem.answer)}
            yield {"type": "math", "prompt": problem.prompt, **answer}


def _label(row: Row, chance: Random) -> str:
    """The label of SFT."""
    right, last = int(row["answer"]), number_of(row) % 10
    slips = last in SLIPS
    if chance.random() >= (SLIPPED if slips else NOISE):
        return str(right)
    return str(right - last if slips else chance.choice([n for n in range(1, 37) if n != right]))


def save_model(folder: Path, rows: Rows, seed: int) -> Path:
    """Save a tokenizer of the words in the rows, and a small model for it."""
    with store_errors(f"cannot write to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer([row["prompt"] for row in (*rows.sft, *rows.grpo, *rows.test)])
    tiny_model(tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_model(tokenizer: Any, seed: int, **changes: Any) -> Any:
    """A Qwen3 of some 200,000 random weights; `changes` are keywords of its config."""
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
    """A tokenizer with a token for each digit and for each other piece of the texts.

    `pieces` is a regular expression; the default pieces are whole stretches of words.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {piece for text in texts for piece in re.findall(pieces, text)}
    first = ["[PAD]", "[END]", "[UNK]", "<answer>", "</answer>", *"0123456789"]
    vocabulary = [*first, *sorted(words - set(first))]
    bare = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(vocabulary)}, "[UNK]"))
    bare.pre_tokenizer = pre_tokenizers.Split(Regex(pieces), "isolated")
    bare.decoder = decoders.Fuse()
    untyped: Any = PreTrainedTokenizerFast
    return untyped(tokenizer_object=bare, pad_token="[PAD]", eos_token="[END]", unk_token="[UNK]")


def greedy(checkpoint: Path, rows: Sequence[Row], scorer: Scorer) -> list[bool]:
    """Whether each row's greedy completion ends and passes, by the project's own reward."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    prompts = [tokenizer.encode(row["prompt"], add_special_tokens=False) for row in rows]
    sampled = sample(model, tokenizer, prompts, max_new_tokens=6, temperature=0)
    scores = scorer.judge(
        (sample_of(row), each.text) for row, (each,) in zip(rows, sampled, strict=True)
    )
    return [
        score.passed and each.finish_reason == "stop"
        for score, (each,) in zip(scores, sampled, strict=True)
    ]
