"""Traces of a teacher for SFT: what a reasoning model thinks and answers, judged and cleaned up.

A teacher shows its thoughts beside its answer (`reasoning_content`) or in the text, in <think>; in
a trace they stand in <think> before the answer. A trace is kept where the answer passes the row's
reward both as it came and as it is after the clean-up, so no filter can make a wrong one right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..types import Completion, RewardFunctionScore
from . import rows
from .rows import Row
from .scoring import score_columns
from .solving import Cost, SolveConfig, Solved, folder_of, solve
from .trace_filters import cleaned
from .unfinished import meanwhile

TRACES = "traces.jsonl"  # in the folder of the answers, the traces there are, until all are
_THINK = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)


@dataclass
class Tracing(Cost):
    """What came of it: rows, those of them that cannot be judged and were not asked, traces that
    were kept, and how many of the others were dropped as "no text", "cut off", "unscored" or
    "wrong"."""

    rows: int = 0
    unasked: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def traces(
    source: rows.Source,
    out: str | Path,
    asking: SolveConfig,
    *,
    keep_all: bool = False,
    calls: str | Path | None = None,
    on_row: Callable[[int], None] = lambda _: None,
) -> Tracing:
    """Write the traces of the teacher that `asking` names to `out`: of each row, its attempts.

    A trace has the row's type, prompt, answer, language and id; `attempt`, its number; `reasoning`
    and `response`, which holds the reasoning in <think> and then the answer; `messages`, what was
    asked and that response, for SFT; the teacher's `model` and `finish_reason`; the columns of a
    score, that of `response`; and `dropped`, "" for one that is kept. The others are those that
    were cut off, have no answer, or whose answer fails; they are written with `keep_all` alone.

    The answers are kept in the folder `calls`, by default `out` + ".calls", whatever happens: the
    same call made again goes on. `out` is written when all rows are done; the traces that there are
    meanwhile are in `TRACES` in that folder.

    Raises:
        UsageError: an argument or a row cannot be used.
        ProviderError: the provider did not answer, or `stop` is set (`Stopped`); what it answered
            before is kept.
        InfiniteRLError: `max_cost` is reached.
    """
    out, tracing = Path(out), Tracing()
    rows.kind_of(out)
    folder = folder_of(out, calls)

    def take(traced: Iterator[list[Row]]) -> None:
        with meanwhile(folder / TRACES, out) as lines:
            for found in traced:
                for trace in found:
                    tracing.dropped[trace["dropped"]] += 1
                    if keep_all or not trace["dropped"]:
                        lines.add(trace)
                tracing.rows, tracing.unasked = tracing.rows + 1, tracing.unasked + (not found)
                on_row(tracing.rows)
        tracing.kept = tracing.dropped.pop("", 0)

    solve(source, folder, asking, tracing, traces_of, take)
    return tracing


def traces_of(solved: Solved) -> list[Row]:
    """The traces of a row, each with why it is dropped."""
    pairs = [_cleaned(each, solved) for each in solved.completions]
    responses = [response for _, response in pairs]
    scores = solved.reward.score_many([(solved.sample, each) for each in responses])
    asked = [{"role": "system", "content": solved.told}] if solved.told else []
    asked.append({"role": "user", "content": solved.sample.prompt})
    return [
        {
            **solved.shared(),
            "attempt": number,
            "reasoning": reasoning,
            "response": response,
            "messages": [*asked, {"role": "assistant", "content": response}],
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            **score_columns(score, solved.sample.type, solved.reward.version),
            "dropped": _why_dropped(completion, before, score),
        }
        for number, (completion, before, (reasoning, response), score) in enumerate(
            zip(solved.completions, solved.scores, pairs, scores, strict=True), 1
        )
    ]


def parted(completion: Completion) -> tuple[str, str, bool]:
    """A teacher's reasoning, its answer, and whether the reasoning came to its end.

    It stands beside the answer, or at the beginning of the text, in <think> or, where the chat
    template opened it, up to </think>.
    """
    text = completion.text.strip()
    opened = _THINK.match(text)
    closings = [mark for mark in _THINK.finditer(text) if mark[0].startswith("</")]
    if opened and opened[0].startswith("</"):
        opened = None
    inside, begin = "", opened.end() if opened else 0
    if closings and (opened or not completion.reasoning):
        inside, text = text[begin : closings[0].start()], text[closings[0].end() :]
    elif opened:
        return _unmarked(completion.reasoning or text[begin:]), "", False
    return _unmarked(completion.reasoning or inside), text.strip(), True


def _unmarked(reasoning: str) -> str:
    """Reasoning without marks in it that would end it too early."""
    return _THINK.sub("", reasoning).strip()


def _cleaned(completion: Completion, solved: Solved) -> tuple[str, str]:
    """The reasoning, and the response that is learnt.

    Of an answer only a value is cleaned up: where a program or a text in a given form is asked for,
    all of it counts.
    """
    reasoning, answer, _ = parted(completion)
    sample = solved.sample
    if not sample.language and sample.type != "instruction":
        answer = cleaned(answer)
    reasoning = cleaned(reasoning, solved.told, answer)
    return reasoning, f"<think>\n{reasoning}\n</think>\n\n{answer}" if reasoning else answer


def _why_dropped(
    completion: Completion, before: RewardFunctionScore, after: RewardFunctionScore
) -> str:
    _, answer, ended = parted(completion)
    if completion.finish_reason == "length" or not ended:
        return "cut off"
    if not answer:
        return "no text"
    if "unscored" in (before.status, after.status):
        return "unscored"
    return "" if before.passed and after.passed else "wrong"
