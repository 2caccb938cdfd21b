"""Teacher traces for SFT: the reasoning and the answer of a model, judged and cleaned.

A teacher returns its reasoning beside the answer (`reasoning_content`) or in the text, in <think>;
a trace has it in <think> before the answer. A trace is accepted if the answer passes the row's
reward both before and after the clean-up, so that no filter can make a wrong one right.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Literal

from ..errors import UsageError, look_up
from ..reward_functions import get_reward_functions
from ..solver_prompts import default_system_prompt, is_value
from ..types import Completion, RewardFunctionScore
from ..workers.pool import in_order
from . import rows
from .rows import Row
from .scoring import score_columns
from .solving import Cost, SolveConfig, Solved, solve
from .trace_filters import cleaned

TRACES = "traces.jsonl"  # in the folder of the completions: finished traces, until all are
_THINK = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)


@dataclass
class Tracing(Cost):
    """The number of rows, those of them that cannot be judged and were not requested, accepted
    traces, and dropped ones by reason: "no text", "cut off", "unscored" or "wrong"."""

    rows: int = 0
    unasked: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, traced: list[Row], *, keep_all: bool) -> list[Row]:
        """Count the traces of a row, and return those to write."""
        self.rows += 1
        self.unasked += not traced
        reasons = Counter(trace["dropped"] for trace in traced)
        self.kept += reasons.pop("", 0)
        self.dropped += reasons
        return [trace for trace in traced if keep_all or not trace["dropped"]]


def traces(
    source: rows.Source,
    out: str | Path,
    config: SolveConfig,
    *,
    keep_all: bool = False,
    calls: str | Path | None = None,
    on_row: Callable[[int], None] = lambda _: None,
) -> Tracing:
    """Write the traces of a teacher to `out`, one row per attempt.

    A trace has the row's type, prompt, answer, language and id; `attempt`, its number; `reasoning`
    and `response`, the reasoning in <think> and then the answer; `messages`, the request and that
    response, for SFT; the teacher's `model` and `finish_reason`; the score columns of `response`;
    and `dropped`, "" for an accepted one. Traces that are truncated, without answer or wrong are
    written only with `keep_all`.

    Completions are stored in the folder `calls`, by default `out` + ".calls": the same call
    resumes. `out` is written when all rows are done; until then the traces are in `TRACES` in that
    folder.

    Raises:
        UsageError: an argument or a row is invalid.
        ProviderError: the provider failed, or `stop` is set (`Stopped`); earlier completions are
            stored.
        InfiniteRLError: `max_cost` is reached.
    """
    tracing = Tracing()

    take = partial(tracing.add, keep_all=keep_all)
    solve(source, Path(out), TRACES, config, tracing, traces_of, take, calls=calls, on_row=on_row)
    return tracing


def are_attempts(source: rows.Source) -> bool:
    """Whether rows are attempts with their completions: `solutions.jsonl` of a generation run, or
    the attempts that `difficulty` keeps. Raises as `rows.read_some`."""
    return next(rows.read_some(source)).keys() >= {"attempt", "completion"}


def traces_of_attempts(
    source: rows.Source,
    out: str | Path,
    *,
    system: str | None = None,
    keep_all: bool = False,
    timeout: float = 5,
    threads: int = 8,
    on_row: Callable[[int], None] = lambda _: None,
) -> Tracing:
    """Write the traces of attempts that exist (see `are_attempts`); no model is asked.

    The columns are those of `traces`, and the completions are judged again. Attempts at one task
    follow each other in `source`, and are one of the `rows` counted.

    Raises:
        UsageError: a row is invalid, or has no completion.
        StoreError: a file is not readable or not writable.
    """
    tracing, rewards = Tracing(), get_reward_functions(timeout)

    def traced(attempts: list[Row]) -> list[Row]:
        sample = rows.sample_of(attempts[0])
        reward = look_up("reward", attempts[0].get("reward") or sample.type, rewards)
        completions = tuple(map(_completion, attempts))
        scores = reward.score_many([(sample, each.text) for each in completions])
        prompt = default_system_prompt(sample) if system is None else system
        return traces_of(Solved(attempts[0], sample, reward, prompt, completions, tuple(scores)))

    def kept() -> Iterator[Row]:
        groups = (list(group) for _, group in groupby(rows.read_some(source), _task))
        with ThreadPoolExecutor(threads, thread_name_prefix="traces") as pool:
            for each in in_order(lambda group: pool.submit(traced, group), groups):
                yield from tracing.add(each, keep_all=keep_all)
                on_row(tracing.rows)

    rows.write(kept(), out)
    return tracing


def _task(attempt: Row) -> list[object]:
    return [attempt.get(name) for name in ("type", "language", "prompt", "answer")]


def _completion(attempt: Row) -> Completion:
    if not isinstance(text := attempt.get("completion"), str):
        raise UsageError(f"an attempt at {str(attempt.get('prompt'))[:80]!r} has no completion")
    model, reasoning = (str(attempt.get(name) or "") for name in ("model", "reasoning"))
    finished: Literal["stop", "length"] = "stop"
    if attempt.get("finish_reason") == "length":
        finished = "length"
    return Completion(text, model, finished, reasoning=reasoning)


def traces_of(solved: Solved) -> list[Row]:
    """Return the traces of a row, each with the reason why it is dropped, or ""."""
    pairs = [_cleaned(each, solved) for each in solved.completions]
    scores = solved.reward.score_many([(solved.sample, response) for _, response in pairs])
    request = [{"role": "system", "content": solved.system}] if solved.system else []
    request.append({"role": "user", "content": solved.sample.prompt})
    return [
        {
            **solved.columns(),
            "attempt": number,
            "reasoning": reasoning,
            "response": response,
            "messages": [*request, {"role": "assistant", "content": response}],
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            **score_columns(score, solved.reward.task_name, solved.reward.version),
            "dropped": _why_dropped(completion, before, score),
        }
        for number, (completion, before, (reasoning, response), score) in enumerate(
            zip(solved.completions, solved.scores, pairs, scores, strict=True), 1
        )
    ]


def split_reasoning(completion: Completion) -> tuple[str, str, bool]:
    """Return the reasoning, the answer, and whether the reasoning is complete.

    The reasoning is beside the answer, or at the start of the text, in <think> or, if the chat
    template opened it, up to </think>.
    """
    text = completion.text.strip()
    opened = _THINK.match(text)
    closings = [mark for mark in _THINK.finditer(text) if mark[0].startswith("</")]
    if opened and opened[0].startswith("</"):
        opened = None
    inside, begin, complete = "", opened.end() if opened else 0, True
    if closings and (opened or not completion.reasoning):
        inside, text = text[begin : closings[0].start()], text[closings[0].end() :]
    elif opened:
        inside, text, complete = text[begin:], "", False
    # A tag inside of the reasoning would end it too early.
    return _THINK.sub("", completion.reasoning or inside).strip(), text.strip(), complete


def _cleaned(completion: Completion, solved: Solved) -> tuple[str, str]:
    """Return the reasoning and the response for SFT.

    Only an answer that is a value is cleaned: of a program, or a text in a given form, all counts.
    """
    reasoning, answer, _ = split_reasoning(completion)
    sample = solved.sample
    if is_value(sample):
        answer = cleaned(answer)
    reasoning = cleaned(reasoning, solved.system, answer)
    return reasoning, f"<think>\n{reasoning}\n</think>\n\n{answer}" if reasoning else answer


def _why_dropped(
    completion: Completion, before: RewardFunctionScore, after: RewardFunctionScore
) -> str:
    _, answer, complete = split_reasoning(completion)
    if completion.finish_reason == "length" or not complete:
        return "cut off"
    if not answer:
        return "no text"
    if "unscored" in (before.status, after.status):
        return "unscored"
    return "" if before.passed and after.passed else "wrong"
