"""GRPO on a mixture at scale: sums, programs and instructions, each judged by its own reward.

    python -m benchmarks.mixed [--engine asyncio] [--steps 50] [--out FOLDER] [--warm CHECKPOINT]

Nothing is fetched. The rows have the form in which GSM8K, MBPP and IFEval are published, and are
simple enough for a model of some 200,000 weights, which SFT has warmed up with labels of which a
third is wrong, so that most groups of answers have unequal rewards. The engine runs with two
rollout and two reward workers: in turns (no staleness), at once (staleness 1), and at once with the
filter off. Beside it runs the engine `local`: it must learn from the very same prompts. With the
engine `ray` the process of a rollout worker is killed after a third of the updates, and that of a
reward worker after two thirds.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import torch

from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.rows import write
from infinite_rl.prompt_styles import STYLES, prompt_text
from infinite_rl.store import sample_of
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.run_folder import read_events, read_rollouts
from infinite_rl.training.timeline import draw, pictures, read, summary

SETS = {"gsm8k": "question_answer", "mbpp": "mbpp", "ifeval": "plain"}  # and their styles
EACH, BATCH, WRONG = 128, 8, 0.33
WORDS = re.findall(
    r"\w+",
    "apple bread cloud door east fish green house iron juice kite lamp moon north oak paper queen "
    "river stone tree under violet water yard zebra",
)
PIECES = r"\d|[A-Za-z_]+|\s+|[^\w\s]"
Row = dict[str, Any]


def main() -> None:
    """Make the rows and the model, run all, print what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", default="asyncio", help="asyncio or ray (default %(default)s)")
    parser.add_argument("--steps", type=int, default=50, help="updates (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=400, help="steps of SFT")
    parser.add_argument("--warm", type=Path, help="what a run before made, instead of SFT")
    parser.add_argument("--out", type=Path, help="where all goes (default: away at the end)")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        out = asked.out or Path(folder)
        labelled = make(out)
        warm = asked.warm or warmed(out, labelled, asked.warm_up)
        scale = {"engine": asked.engine, "rollout_workers": 2, "reward_workers": 2}
        runs: dict[str, dict[str, Any]] = {
            "local": {"engine": "local"},
            "in turns": scale,
            "at once": {**scale, "max_staleness": 1},
            "at once, filter off": {**scale, "max_staleness": 1, "keep_equal_groups": True},
        }
        found = {}
        for name, changes in runs.items():
            config = told(out, warm, steps=asked.steps, **changes)
            kill = killer(config) if config.engine == "ray" else None
            found[name] = train(None, None, config, on_step=kill).parent.parent
            print(line(name, found[name]), flush=True)
        same = used(found["local"]) == used(found["at once, filter off"])
        print(
            f"\nlocal and {asked.engine} without the filter learned from the same prompts: {same}"
        )


# --- rows and model -------------------------------------------------------------------------------


def published(chance: Random) -> Mapping[str, list[Row]]:
    """The rows as the authors of the benchmarks would write them."""
    sums = [(a, b) for a in range(1, 13) for b in range(1, 13)]
    tasks = [(word, n) for word in ("Add", "Multiply by") for n in range(2, 99)]
    pairs = [(a, b) for a in WORDS for b in WORDS if a != b]
    return {
        "gsm8k": [
            {"question": f"{a} + {b}", "answer": f"#### {a + b}"}
            for a, b in chance.sample(sums, EACH)
        ],
        "mbpp": [program(601 + at, *task) for at, task in enumerate(chance.sample(tasks, EACH))],
        "ifeval": [
            {
                "key": at,
                "prompt": f"Say {one} and {other}.\n",
                "instruction_id_list": ["keywords:existence", "punctuation:no_comma"],
                "kwargs": [{"keywords": [one, other]}, {}],
            }
            for at, (one, other) in enumerate(chance.sample(pairs, EACH))
        ],
    }


def program(number: int, word: str, n: int) -> Row:
    sign = "+" if word == "Add" else "*"
    return {
        "task_id": number,
        "text": f"{word} {n}.",
        "code": f"def f(x):\n    return x {sign} {n}",
        "test_list": [f"assert f(3) == {3 + n if sign == '+' else 3 * n}"],
        "test_setup_code": "",
    }


def label(row: Row, chance: Random) -> str:
    """What SFT is shown: in a third of the rows something else than the answer."""
    wrong = chance.random() < WRONG
    if row["source"] == "gsm8k":
        return f"#### {chance.randrange(2, 25) if wrong else row['answer']}"
    if row["source"] == "mbpp":
        code: str = row["response"]
        return re.sub(r"\d+$", str(chance.randrange(2, 99)), code) if wrong else code
    words = re.findall("[a-z]+", row["prompt"])[1::2]
    return f"{chance.choice(WORDS)} {words[1]}" if wrong else " ".join(words)


def make(out: Path) -> dict[str, list[Row]]:
    """Write the rows; returns those for SFT, with their labels, by set."""
    chance = Random("mixed")
    found = {}
    for name, rows in published(chance).items():
        write(rows, out / f"{name}.jsonl")
        found[name] = [
            {**row, "response": label(row, chance)}
            for row in load(name, out / f"{name}.jsonl")
            for _ in range(4)
        ]
    return found


def warmed(out: Path, labelled: Mapping[str, Sequence[Row]], steps: int) -> Path:
    """A checkpoint of a model that has learned from the labels."""
    texts: list[str] = []
    for name, rows in labelled.items():
        write(rows, out / "sft" / f"{name}.jsonl")
        for row in rows:
            said = prompt_text(SETS[name], row)
            texts += [said.text, said.rest(STYLES[SETS[name]].shown(sample_of(row)))]
    save_model(out / "model", texts)
    datasets = [
        {"name": name, "path": str(out / "sft" / f"{name}.jsonl"), "style": style}
        for name, style in SETS.items()
    ]
    config = TrainingConfig(
        str(out / "model"), algorithm="sft", datasets=datasets, out=str(out / "runs"),
        steps=steps, batch_size=48, learning_rate=4e-3, warmup=20, save_every=steps, device="cpu",
    )  # fmt: skip
    return train(None, None, config)


def save_model(folder: Path, texts: Sequence[str]) -> None:
    """A tokenizer with a token for each word and digit of the texts, and a small Qwen3 for it."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    pieces = sorted(
        {piece for text in texts for piece in re.findall(PIECES, text)} | {*"0123456789"}
    )
    words = {piece: at for at, piece in enumerate(["<pad>", "<end>", *pieces])}
    bare = Tokenizer(models.WordLevel(words, "<pad>"))
    bare.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), "isolated")
    bare.decoder = decoders.Fuse()
    made: Any = PreTrainedTokenizerFast  # its constructor has no types
    made(tokenizer_object=bare, pad_token="<pad>", eos_token="<end>").save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(words), hidden_size=96, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=24, max_position_embeddings=128,
        initializer_range=0.06, tie_word_embeddings=True, bos_token_id=None, eos_token_id=1,
        pad_token_id=0,
    )  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)


# --- runs -----------------------------------------------------------------------------------------


def told(out: Path, warm: Path, **changes: Any) -> TrainingConfig:
    """The config of all runs, and what one of them is told otherwise."""
    datasets = [
        {"name": name, "benchmark": name, "path": str(out / f"{name}.jsonl"), "style": style}
        for name, style in SETS.items()
    ]
    values = {
        **{"model": str(warm), "datasets": datasets, "mode": "weighted", "out": str(out / "runs")},
        **{"batch_size": BATCH, "group_size": 8, "max_new_tokens": 24, "learning_rate": 2e-4},
        **{"save_every": 25, "device": "cpu"},
    }
    return TrainingConfig.of({**values, **changes})


def killer(config: TrainingConfig) -> Callable[[int, Mapping[str, Any]], None]:
    """Kills a worker of each kind on the way."""
    before = set(Path(config.out).glob("*"))
    when = {config.steps // 3: "rollout-0", config.steps * 2 // 3: "reward-1"}

    def on_step(step: int, _: Mapping[str, Any]) -> None:
        if worker := when.get(step):
            (run,) = set(Path(config.out).glob("*")) - before
            placed = [each for each in read_events(run, "placed") if each["worker"] == worker]
            os.kill(placed[-1]["pid"], signal.SIGKILL)

    return on_step


def used(run: Path) -> Counter[str]:
    """How often each prompt was learned from."""
    records = [each for each in read_rollouts(run) if each.get("fate", "used") == "used"]
    return Counter(row for _, row in {(each["step"], each["row"]) for each in records})


def line(name: str, run: Path) -> str:
    """What came of a run."""
    events = list(read_events(run, "train"))
    said = [f"\n{name}"]
    for part, some in (("first", events[:10]), ("last", events[-10:])):
        means = [
            f"{each} {mean(some, f'reward/{each}'):.2f} ({mean(some, f'unequal/{each}'):.0%})"
            for each in SETS
        ]
        said.append(f"  {part} ten updates, reward (groups unequal): {', '.join(means)}")
    shares = [mean(events, f"unequal/{each}") for each in SETS]
    said.append(f"  groups of unequal rewards in all updates: {fmean(shares):.0%}")
    prompts = used(run)
    said.append(f"  prompts learned from: {prompts.total()}, different: {len(prompts)}")
    if name != "local":
        said += times(name, run)
    return "\n".join(said)


def mean(events: Sequence[Mapping[str, Any]], name: str) -> float:
    return fmean(event[name] for event in events if name in event)


def times(name: str, run: Path) -> list[str]:
    """Where the time went."""
    timeline = read(run)
    draw(timeline, pictures(run), name)
    found = summary(timeline)
    idle = ", ".join(f"{role} {share:.0%}" for role, share in found["idle"].items())
    overlap = found["overlap"]["of_training"]
    return [
        f"  {found['seconds']:.0f} s; idle: {idle}",
        f"  time of learning in which others sampled: {overlap:.0%}",
        f"  fates: {found['fates']['all']}; died: {died(run) or 'nobody'}",
    ]


def died(run: Path) -> str:
    return ", ".join(f"{each['worker']} ({each['why']})" for each in read_events(run, "lost"))


if __name__ == "__main__":
    main()
