"""Rows of every kind, and completions of them: right, wrong, malformed, empty and unscored."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from infinite_rl.adapters.scorer import scorer
from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.rows import Row, sample_of
from infinite_rl.layout import tagged
from infinite_rl.procedural import make_problem
from infinite_rl.reward_functions.logic import read_puzzle, solve

_FILES = {
    "gsm8k": "gsm8k/test.jsonl",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
    "mbpp": "mbpp/sanitized-mbpp.json",
    "ifeval": "ifeval/input_data.jsonl",
}
_NAMES = "Ann Bob Cid Dan Eve Ivo".split()  # noqa: SIM905 -- as a line of words
_WORDS = "lantern harbour ladder window garden kettle bridge orchard".split()  # noqa: SIM905
# IFEval has no references. Each of these plain texts follows all instructions of some rows.
_LONG = " ".join(["the ship sails on"] * 110)
_REPLIES = (
    "A plain reply without commas.",
    "a plain reply in small letters.",
    "A PLAIN REPLY IN CAPITALS.",
    '"A plain reply."',
    "<<Title>>\n\nA reply with [name] and [place] and [date] *first* *second* *third*.\n\nP.S.!",
    '{"reply": "plain"}',
    f"<<title>>\n\n{_LONG}.",
    "* One\n* Two\n* Three",
    "My answer is yes.",
    "One.\n***\nTwo.\n***\nThree.",
)
_SLOW = ("mbpp-123",)  # its reference needs about 10 s
_NO_CODE = json.dumps({"tests": ["def ("]})
_UNREADABLE = {
    "math": "\\frac{",
    "coding": _NO_CODE,
    "program": _NO_CODE,
    "humaneval": json.dumps({"tests": ["def ("], "entry_point": "f", "prompt": "def f():\n"}),
    "sql": "{",
    "logic": json.dumps({"variables": {"Ann": [1, 2]}, "constraints": ["Ann > 0"]}),
    "instruction": json.dumps([{"instruction_id": "poetry:rhymes", "kwargs": {}}]),
    "gsm8k": "\\frac{",
}
COMPLETIONS = ("right", "wrong", "malformed", "empty", "unscored")


def make_rows(count: int, data: Path | None) -> list[Row]:
    """`count` rows whose kinds take turns. `data` has the files of public benchmarks, if given."""
    kinds = [*map(_procedural, ("math", "python", "javascript", "sql")), _logic(), _instruction()]
    if data:
        kinds += [_published(name, data / path) for name, path in _FILES.items()]
    rows = itertools.islice(itertools.chain.from_iterable(zip(*kinds, strict=False)), count)
    drawn = [{**row, "id": f"{row['kind']}-{number}"} for number, row in enumerate(rows)]
    if len(drawn) < count:
        raise SystemExit(f"the files of {data} give no more than {len(drawn)} rows")
    return drawn


def make_completions(rows: list[Row]) -> list[Row]:
    """A row for each row, whose `response` is a completion of the kind `completion`."""
    kinds = len({row["kind"] for row in rows})
    completions = []
    for number, row in enumerate(rows):
        completion = COMPLETIONS[number // kinds % len(COMPLETIONS)]
        changed = {"response": row["response"], "answer": row["answer"]}
        if completion == "wrong":
            changed["response"] = rows[(number + kinds) % len(rows)]["response"]
        elif completion == "malformed":
            changed["response"] = _malformed(row["response"], number // kinds // len(COMPLETIONS))
        elif completion == "empty":
            changed["response"] = ""
        elif completion == "unscored":
            changed["answer"] = _UNREADABLE[row["type"]]
        completions.append({**row, **changed, "completion": completion})
    return completions


def _malformed(text: str, way: int) -> str:
    return (
        text[: len(text) // 2],
        text.replace("<answer>", "<answer><answer>"),
        f"\x00\x1b[31m{text}\u202e\ufeff",
        text.replace("\n", "\r\n"),
        "é\u0301🙂" * 2000 + text.replace("</answer>", "</answer"),
        " \n\t",
    )[way % 6]


def _row(kind: str, type_: str, prompt: str, answer: str, response: str, language: str = "") -> Row:
    columns = {"type": type_, "prompt": prompt, "answer": answer, "response": response}
    return {"kind": kind, **columns, "language": language}


def _procedural(kind: str) -> Iterator[Row]:
    type_ = kind if kind in ("math", "sql") else "coding"
    for seed in itertools.count():
        problem = make_problem(kind, seed)
        language = kind if type_ == "coding" else ""
        yield _row(kind, type_, problem.prompt, problem.answer, problem.response, language)


def _logic() -> Iterator[Row]:
    """Who is in which place: clues that are true, until they have one solution."""
    for seed in itertools.count():
        chance = random.Random(f"logic/{seed}")
        names = chance.sample(_NAMES, chance.randint(3, 5))
        positions = dict(
            zip(names, chance.sample(range(1, len(names) + 1), len(names)), strict=True)
        )
        constraints = [f"different({', '.join(names)})"]
        variables = dict.fromkeys(names, sorted(positions.values()))
        puzzle = {"variables": variables, "constraints": constraints}
        while len(solve(read_puzzle(json.dumps(puzzle)), 2)) > 1:
            one, other = chance.sample(names, 2)
            before = positions[one] < positions[other]
            clues = (f"{one} {'<' if before else '>'} {other}", f"{one} != {positions[other]}")
            constraints.append(chance.choice(clues))
        stated = "\n".join(constraints)
        prompt = f"Each has a place from 1 to {len(names)}:\n\n{stated}\n\nWho has which?"
        response = "\n".join(f"{name}: {position}" for name, position in positions.items())
        yield _row("logic", "logic", prompt, json.dumps(puzzle), tagged(response))


def _instruction() -> Iterator[Row]:
    for seed in itertools.count():
        chance = random.Random(f"instruction/{seed}")
        words = chance.sample(_WORDS, chance.randint(2, 5))
        end = f"Remember the {chance.choice(_WORDS)} of {chance.randint(1900, 2020)}."
        instructions = {
            "keywords:existence": {"keywords": words},
            "detectable_format:number_bullet_lists": {"num_bullets": len(words)},
            "punctuation:no_comma": {},
            "startend:end_checker": {"end_phrase": end},
        }
        answer = json.dumps(
            [{"instruction_id": i, "kwargs": each} for i, each in instructions.items()]
        )
        prompt = f"A list of {len(words)} bullets without commas, with {words}, and last: {end}"
        response = "\n".join(f"* There is a {word} in the story." for word in words)
        yield _row("instruction", "instruction", prompt, answer, tagged(f"{response}\n\n{end}"))


def _published(name: str, path: Path) -> Iterator[Row]:
    judge = scorer()
    for row in load(name, path):
        responses: Iterable[str] = [row["response"]]
        if not row["response"]:
            sample = sample_of(row)
            responses = (each for each in _REPLIES if judge.judge_one(sample, each).passed)
        if row["id"] not in _SLOW and (response := next(iter(responses), "")):
            language = row.get("language", "")
            yield _row(name, row["type"], row["prompt"], row["answer"], response, language)
