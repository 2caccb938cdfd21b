"""From generation to what every trainer reads, with planted faults: one walk through all verbs."""

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset.decontaminate import Benchmarks, decontaminate
from infinite_rl.dataset.dedup import duplicates, without
from infinite_rl.dataset.difficulty import difficulty
from infinite_rl.dataset.ground_truth import score
from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.pairs import pairs
from infinite_rl.dataset.rows import Row, id_of, read, sample_of, write
from infinite_rl.dataset.solving import SolveConfig
from infinite_rl.dataset.split import LEFT_OUT, split
from infinite_rl.export import FORMATS, export, read_export
from infinite_rl.files.logs import read_rows
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.providers.backoff import RetryPolicy
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.store import DATASET
from infinite_rl.verification.certificate import reprove

GSM8K = Path(__file__).parents[3] / "shared" / "data" / "gsm8k" / "test.jsonl"
NAMES = ("Ada", "Bela", "Chidi", "Dana", "Emre", "Fatou", "Goran", "Hana")
THINGS = ("apples", "bolts", "candles", "drums", "envelopes", "flutes", "gears", "hats")
PLACES = ("the market", "a school", "the harbour", "her aunt", "the library", "a theatre")
ACCURACY = 0.9  # of the scripted solver
# What the model writes, and how often.
KINDS = {"new": 50, "wrong": 12, "at odds": 8, "without form": 10, "near": 10, "leaked": 10}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not GSM8K.exists(), reason="GSM8K is not in ../shared/data"),
]


class Writer:
    """A model most of whose tasks are good. `truth` knows the answers of all prompts."""

    def __init__(self) -> None:
        self.truth: dict[str, str] = {}
        self.planted: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.benchmark = [(row["prompt"], row["answer"]) for row in load("gsm8k", GSM8K)]
        self._bases = [self._problem(random.Random(number)) for number in range(12)]

    def __call__(self, system: str, request: str, seed: int) -> str:
        chance, kind = random.Random(seed), "new"
        if request.startswith("Your last sample was rejected"):
            prompt = max((p for p in self.truth if p in request), key=len)
        else:
            kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
            prompt = self._prompt(kind, chance)
            self.planted[kind].add(prompt)
        gold = self.truth[prompt]
        if kind == "wrong":
            gold = str(int(gold) + chance.choice((-10, -1, 1, 100)))
        shown = {"at odds": tagged("7"), "without form": gold}.get(kind, tagged(gold))
        return render(prompt, gold, f"So it is {shown}")

    def _prompt(self, kind: str, chance: random.Random) -> str:
        if kind == "near":
            base = chance.choice(self._bases)
            others = (base, f"Please solve this. {base}", base.replace("and l", "but l"))
            prompt, gold = chance.choice(others), self.truth[base]
        elif kind == "leaked":
            prompt, gold = chance.choice(self.benchmark)
        else:
            return self._problem(chance)
        self.truth[prompt] = gold
        return prompt

    def _problem(self, chance: random.Random) -> str:
        name, thing, place = (chance.choice(words) for words in (NAMES, THINGS, PLACES))
        boxes, each, gone = (chance.randint(low, 60) for low in (20, 10, 2))
        prompt = (
            f"{name} carries {boxes} crates with {each} {thing} in each of them to {place}, "
            f"and loses {gone} {thing} on the way. How many {thing} arrive there?"
        )
        self.truth[prompt] = str(boxes * each - gone)
        return prompt


def solver(truth: Mapping[str, str], responses: Mapping[str, str]) -> ScriptedProvider:
    """Solves nine prompts of ten; what it knows is the answer, or the whole response."""

    def solve(system: str, request: str, seed: int) -> str:
        known = max((prompt for prompt in {*truth, *responses} if prompt in request), key=len)
        if random.Random(seed).random() > ACCURACY:
            return tagged(str(seed % 1000))
        return responses.get(known) or tagged(truth[known])

    return ScriptedProvider(solve, model="solver")


def made(folder: Path) -> tuple[Writer, Path, Path]:
    """80 procedural rows, and 60 of a model whose work is not all sound."""
    writer, own, model = Writer(), folder / "own", folder / "model"
    done = generate_dataset("", 80, own, provider="procedural", num_threads=2)
    assert done.complete
    done = generate_dataset(
        *("", 60, model),
        provider=ScriptedProvider(writer, model="writer"),
        task_dist="0,1",
        max_retries=50,
        verify=4,
        verify_model=solver(writer.truth, {}),
        retry=RetryPolicy(first_wait_s=0.001),
    )
    assert done.complete
    assert done.rejected["wrong"] >= 10  # at odds with itself, or without an answer in a tag
    assert done.rejected["disagreement"] >= 5 and done.rejected["duplicate"]
    return writer, own, model


def test_the_way_from_a_model_to_every_trainer(tmp_path: Path) -> None:
    writer, own, model = made(tmp_path)
    rewards = get_reward_functions()

    for folder in (own, model):  # verify
        assert not [row.fault for row in reprove(read_rows(folder / DATASET), rewards) if row.fault]
    kept = {row["prompt"]: row["answer"] for row in read(model)}
    assert all(writer.truth[prompt] == answer for prompt, answer in kept.items())
    assert not kept.keys() & writer.planted["wrong"] and len(writer.planted["wrong"]) >= 5

    both = [*read(own), *read(model)]
    single = list(without(both, duplicates(both)))
    near = [row for row in single if row["prompt"] in writer.planted["near"]]
    assert len({writer.truth[row["prompt"]] for row in near}) == len(near)
    assert len(both) - len(single) == len(kept.keys() & writer.planted["near"]) - len(near) > 0

    clean = list(decontaminate(single, Benchmarks({"gsm8k": GSM8K})))
    leaked = {row["prompt"] for row in single} & writer.planted["leaked"]
    assert {row["prompt"] for row in single} - {row["prompt"] for row in clean} == leaked != set()

    rated = rate(clean, writer, tmp_path)
    sides = list(split(rated, {"train": 0.8, "validation": 0.1, "test": 0.1}))
    assert Counter(row["split"] for row in sides).keys() == {"train", "validation", "test"}

    preferences = list(pairs([model, tmp_path / "attempts.jsonl"]))
    assert len(preferences) >= 25
    assert {pair["source"] for pair in preferences} >= {"rectified", "samples"}
    assert all(pair["chosen_score"] > pair["rejected_score"] for pair in preferences)

    for name in FORMATS:
        export(sides, name, tmp_path / name)
        assert_read_back(sides, list(read_export(tmp_path / name, name)), rewards)


def rate(rows: list[Row], writer: Writer, folder: Path) -> list[Row]:
    """The rows with their difficulty: as hard as the solver is inaccurate."""
    write(rows, folder / "clean.jsonl")
    responses = {row["prompt"]: row["response"] for row in rows}
    difficulty(
        folder / "clean.jsonl",
        folder / "rated.jsonl",
        SolveConfig(solver(writer.truth, responses)),
        keep=folder / "attempts.jsonl",
    )
    rated = list(read(folder / "rated.jsonl"))
    assert len(rated) == len(rows)
    assert abs(sum(row["pass_rate"] for row in rated) / len(rated) - ACCURACY) < 0.05
    return rated


def assert_read_back(rows: list[Row], found: list[Row], rewards: Mapping[str, Any]) -> None:
    """What an export holds is judged as the rows are: on the right answer, and on a wrong one."""
    known = {id_of(row): row for row in rows if row["split"] != LEFT_OUT}
    assert {id_of(row) for row in found} == known.keys()
    for row in found[::3]:
        for completion in (known[id_of(row)]["response"], tagged("neither a number nor code")):
            native = score(sample_of(known[id_of(row)]), completion, rewards)
            assert score(sample_of(row), completion, rewards) == native
