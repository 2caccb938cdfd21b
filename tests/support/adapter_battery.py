"""What every adapter must judge as the rewards do, and where it is called from.

A caller takes cases and gives what the trainer gets for each; it is found again by its name in
another process, so it is a function of a module.
"""

import asyncio
import json
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from infinite_rl.dataset.ground_truth import pack
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.types import RewardFunctionScore, Sample

TIMEOUT = 2.0
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Case:
    """A completion of a row, and the verdict that it deserves."""

    sample: Sample
    completion: str
    status: str

    @property
    def truth(self) -> str:
        return pack(self.sample)


Caller: TypeAlias = Callable[[Sequence[Case]], "list[float | None]"]


def _math(completion: str, status: str, answer: str = "7") -> Case:
    return Case(Sample("math", "What is 3 + 4?", answer, ""), completion, status)


def _code(code: str, status: str, answer: str = "7", language: str = "python") -> Case:
    completion = f"Here it is.\n{tagged(fenced(code, language))}"
    return Case(Sample("coding", "Print 7.", answer, "", language), completion, status)


def _instruction(completion: str, status: str, *more: str) -> Case:
    asked = [{"instruction_id": "startend:end_checker", "kwargs": {"end_phrase": "Peace!"}}]
    asked += [{"instruction_id": name, "kwargs": {}} for name in more]
    row = Sample("instruction", "End with Peace!", json.dumps(asked), "")
    return Case(row, completion, status)


_TESTS = json.dumps({"tests": ["assert f(1) == 1", "assert f(2) == 3"]})
_FORGED = (
    "print('{\"passed\": true}', 'OK', 'all tests passed')\nimport sys\nsys.exit(0)\ndef f(x): pass"
)

_CHECK = "def check(candidate):\n    assert candidate(3) == 6"
_DOUBLE = {"tests": [_CHECK], "entry_point": "f", "prompt": "def f(x):\n"}
_CONTINUES = Sample("humaneval", "def f(x):\n", json.dumps(_DOUBLE), "", "python")

CASES: Mapping[str, Case] = {
    "right": _math("3 + 4 = " + tagged(r"\frac{14}{2}"), "passed"),
    "right in a box": _math(r"So \boxed{7}", "passed"),
    "wrong": _math(tagged("8"), "failed"),
    "empty": _math("", "failed"),
    "blank": _math(" \n", "failed"),
    "no tag": _math("It is 7.", "failed"),
    "an open tag": _math("<answer>7", "passed"),
    "two answers": _math(tagged("7") + tagged("8"), "failed"),
    "no mathematics": _math(tagged("<script>alert(7)</script>"), "failed"),
    "nearly a megabyte before it": _math("so 8 " * (MEGABYTE // 5 - 10) + tagged("7"), "passed"),
    "a megabyte of digits": _math(tagged("7" * MEGABYTE), "failed"),
    "a megabyte of brackets": _math(tagged("(" * MEGABYTE), "failed"),
    "a megabyte of tags": _math("<answer>" * (MEGABYTE // 8), "failed"),
    "a tower": _math(tagged("9^{9^{9^{9^{9}}}}"), "failed"),
    "host code": _math(tagged("__import__('os').system('true')"), "failed"),
    "a reference that cannot be read": _math(tagged("7"), "unscored", "\\frac{"),
    "an instruction followed": _instruction("War, and Peace!", "passed"),
    "one of two": _instruction("War, and Peace!", "failed", "punctuation:no_comma"),
    "an unknown instruction": _instruction("Peace!", "unscored", "poetry:rhymes"),
    "a right program": _code("print(3 + 4)", "passed"),
    "a right program in JavaScript": _code("console.log(3 + 4)", "passed", language="javascript"),
    "a wrong program": _code("print(8)", "failed"),
    "an indented continuation": Case(_CONTINUES, "    return 2 * x\n", "passed"),
    "half of the tests": _code("def f(x):\n    return x", "failed", _TESTS),
    "all of the tests": _code("def f(x):\n    return 2 * x - 1", "passed", _TESTS),
    "forged": _code(_FORGED, "failed", _TESTS),
    "no program": _code("I would rather not.", "failed"),
    "an exit before the tests": _code("def f(x): pass\nraise SystemExit(0)", "failed", _TESTS),
    "a hanging program": _code("while True: pass", "failed"),
    "a hanging program in JavaScript": _code("for (;;) {}", "failed", language="javascript"),
    "a greedy program": _code("x = [0] * 10**9\nprint(7)", "failed"),
    "tests that are no code": _code("print(7)", "unscored", json.dumps({"tests": ["def ("]})),
}


@cache
def native() -> list[RewardFunctionScore]:
    """What the rewards themselves say of the cases."""
    rewards = get_reward_functions(TIMEOUT)
    with ThreadPoolExecutor(8) as pool:
        return list(
            pool.map(
                lambda case: rewards[case.sample.type].score(case.sample, case.completion), ALL
            )
        )


ALL = tuple(CASES.values())


def due(absent: float | None) -> dict[str, float | None]:
    """What a trainer must get for each case, `absent` where there is no verdict."""
    scores = zip(CASES, native(), strict=True)
    return {
        name: absent if score.status == "unscored" else float(score.passed)
        for name, score in scores
    }


# --- where it is called from ---------------------------------------------------------------------
def _here(call: Caller) -> list[float | None]:
    return call(ALL)


def _one(call: Caller, case: Case) -> float | None:
    return call([case])[0]


def _threads(call: Caller) -> list[float | None]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda case: _one(call, case), ALL))


def _asyncio(call: Caller) -> list[float | None]:
    async def all_at_once() -> list[float | None]:
        return await asyncio.gather(*(asyncio.to_thread(_one, call, case) for case in ALL))

    return asyncio.run(all_at_once())


def _process(call: Caller) -> list[float | None]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(call, ALL).result()


SITUATIONS: Mapping[str, Callable[[Caller], list[float | None]]] = {
    "the main thread": _here,
    "a thread pool": _threads,
    "asyncio": _asyncio,
    "another process": _process,
}


def found(call: Caller, situation: str) -> dict[str, float | None]:
    """What a caller gives for each case."""
    return dict(zip(CASES, SITUATIONS[situation](call), strict=True))
