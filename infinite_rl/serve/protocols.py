"""The routes: the JSON of a request to jobs for the workers, and their results to an answer.

| route | speaks |
|---|---|
| `/score` | our own: rows and completions to scores |
| `/run_code` | SandboxFusion's `RunCodeRequest` and `RunCodeResponse` |
| `/openrlhf` | OpenRLHF's remote reward (`_fetch_rewards_via_http` in openrlhf/utils/agent.py) |
| `/slime` | the reward model `remote_rm` of slime (slime/rollout/rm_hub) |

What could not be judged has no number: /score has null, /run_code the status "SandboxError", and
the last two, whose trainers know numbers only, answer with an error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..adapters.openrlhf import response_of
from ..dataset.ground_truth import unpack
from ..dataset.scoring import SCORE_COLUMNS, Job, Judging, job_of
from ..errors import InfiniteRLError, RuntimeMissing, UnknownName, UsageError, nearest, shown
from ..sandbox.runtimes import Limits, runtime_file, runtime_named
from ..types import STATUSES, Program
from .config import MIB, ServeConfig
from .dispatcher import Result

Body: TypeAlias = Mapping[str, Any]
_NUMBERS = ("format_score", "correctness_score", "aux_score", "quality_score")
# SandboxFusion's names of the languages that have a runtime of ours.
_LANGUAGES = {"python": "python", "nodejs": "javascript", "typescript": "typescript",
              "cpp": "cpp", "c": "c", "sql": "sql"}  # fmt: skip
_LARGEST = 1e300
_NEARLY = 0.8  # the similarity of a misspelt key to the right one
_LONGEST_OUTPUT = 1_000_000  # characters of what a program prints
_STATES = {"timeout": "TimeLimitExceeded"}


class NotJudged(InfiniteRLError):
    """A trainer that knows numbers only cannot be told of completions without a verdict."""


@dataclass(frozen=True)
class Context:
    """What all requests share: the settings, and the path of each reward by its name."""

    config: ServeConfig
    rewards: Mapping[str, str]

    @property
    def judging(self) -> Judging:
        """How completions are judged."""
        return Judging(timeout=self.config.timeout)

    @property
    def warm_up(self) -> Job:
        """The job with which a worker starts."""
        return {"paths": dict(self.rewards), "how": self.judging.how}


@dataclass(frozen=True)
class Protocol:
    """A route: the jobs of a body, and the answer from them and their results, in order.

    `keys` are those that a body must have, `optional` those that it may have. `not_judged` is the
    answer where there is no verdict, if it is no error of HTTP.
    """

    keys: tuple[str, ...]
    jobs: Callable[[Body, Context], list[Job]]
    answer: Callable[[Sequence[Job], Sequence[Result], Context], Any]
    not_judged: Callable[[str], Any] | None = None
    optional: tuple[str, ...] = ("deadline",)
    is_borrowed: bool = True

    def check_keys(self, body: Body) -> None:
        """Raise UsageError for a key that would be ignored.

        A client of a borrowed protocol may send keys that other servers know, so there only what
        is nearly an optional key is refused: one that must be there is missed anyway.
        """
        allowed = {*self.keys, *self.optional}
        for key in sorted(body.keys() - allowed):
            if not self.is_borrowed:
                raise UnknownName("key", key, allowed)
            if near := nearest(key, self.optional, _NEARLY):
                raise UsageError(f"unknown key {shown(key)}{near}")


def parsed(data: bytes | bytearray) -> Body:
    """Parse a body. Raises UsageError if it is no JSON object."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        body = json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:  # also of what is no UTF-8
        raise UsageError(f"the body is no JSON: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(body, dict):
        raise UsageError(f"the body must be a JSON object, not {shown(body)}")
    return body


def kind_of(job: Job) -> str:
    """Name what the jobs of a request are, for estimates of their time."""
    return str(job["program"][0] if "program" in job else job["sample"]["type"])


def score_of(job: Job, result: Result) -> dict[str, Any]:
    """Return the score columns of a completion; without a verdict its numbers are None."""
    score: dict[str, Any] = result.value
    if result.fault:
        score = dict.fromkeys(SCORE_COLUMNS, "") | {
            "status": "unscored",
            "reward": job["sample"]["type"],
            "error_msg": f"cannot judge: {result.fault}",
        }
    return score if score["status"] != "unscored" else score | dict.fromkeys(_NUMBERS)


def _texts(body: Body, key: str) -> list[str]:
    values = body.get(key)
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise UsageError(f"{key!r} must be a list of texts, not {shown(values)}")
    return values


def _text(body: Body, key: str, default: str | None = None) -> str:
    value = body.get(key, default)
    if not isinstance(value, str):
        raise UsageError(f"{key!r} must be text, not {shown(value)}")
    return value


def number_in(body: Body, key: str, default: float) -> float:
    """Return the number under a key. Raises UsageError if it is none, or is not finite."""
    value = body.get(key, default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and abs(value) < _LARGEST):  # a larger integer is no float
        raise UsageError(f"{key!r} must be a number, not {shown(value)}")
    return float(value)


def _job(row: Any, completion: Any, number: int, context: Context) -> Job:
    if not isinstance(row, dict):
        raise UsageError(f"row {number} must be an object with its columns, not {shown(row)}")
    if not isinstance(row.get("type", ""), str):
        raise UsageError(f"'type' of row {number} must be text, not {shown(row['type'])}")
    judging = context.judging
    job = job_of({**row, judging.completion: completion}, number, judging, context.rewards)
    return {**job, "path": context.rewards[job["sample"]["type"]]}


# --- /score --------------------------------------------------------------------------------------


def _score_jobs(body: Body, context: Context) -> list[Job]:
    rows, completions = body.get("rows"), _texts(body, "completions")
    if not isinstance(rows, list) or len(rows) != len(completions):
        count = len(rows) if isinstance(rows, list) else shown(rows)
        raise UsageError(
            f"'rows' must be a list with one row for each of the {len(completions)} completions, "
            f"not {count}"
        )
    pairs = enumerate(zip(rows, completions, strict=True), 1)
    return [_job(row, text, number, context) for number, (row, text) in pairs]


def _scores(
    jobs: Sequence[Job],
    results: Sequence[Result],
    context: Context,  # noqa: ARG001 -- all answers have one form
) -> Any:
    scores = [score_of(*pair) for pair in zip(jobs, results, strict=True)]
    counts = Counter(score["status"] for score in scores)
    return {"scores": scores, "counts": {each: counts[each] for each in STATUSES}}


# --- trainers that know numbers only -------------------------------------------------------------


def _rewards(scores: Sequence[Mapping[str, Any]], context: Context) -> list[float]:
    """The trainer's number for each score. Raises NotJudged where there is none."""
    config, rewards = context.config, []
    without = [score for score in scores if score["status"] == "unscored"]
    if without and config.unscored_reward is None:
        raise NotJudged(
            f"{len(without)} of {len(scores)} completions have no verdict, so no reward: "
            f"{without[0]['error_msg']} (--unscored_reward sets a number for them)"
        )
    for score in scores:
        if score["status"] == "unscored":
            rewards.append(float(config.unscored_reward or 0.0))
        else:
            share = score["correctness_score"] if config.partial else score["status"] == "passed"
            rewards.append(float(share))
    return rewards


def _openrlhf_jobs(body: Body, context: Context) -> list[Job]:
    queries, prompts, labels = (_texts(body, key) for key in ("query", "prompts", "labels"))
    if not len(queries) == len(prompts) == len(labels):
        raise UsageError("'query', 'prompts' and 'labels' differ in length")
    return [
        _job(_truth(label), response_of(query, prompt), number, context)
        for number, (query, prompt, label) in enumerate(
            zip(queries, prompts, labels, strict=True), 1
        )
    ]


def _truth(label: str) -> dict[str, str]:
    sample = unpack(label)
    return {"type": sample.type, "answer": sample.answer, "language": sample.language}


def _openrlhf_answer(jobs: Sequence[Job], results: Sequence[Result], context: Context) -> Any:
    scores = [score_of(*pair) for pair in zip(jobs, results, strict=True)]
    rewards = _rewards(scores, context)
    logs = {
        "passed": [float(score["status"] == "passed") for score in scores],
        "format": [score["format_score"] or 0.0 for score in scores],
        "unscored": [float(score["status"] == "unscored") for score in scores],
    }
    return {"rewards": rewards, "scores": rewards, "extra_logs": logs}


def _slime_jobs(body: Body, context: Context) -> list[Job]:
    # The prompt is no part of the response; special tokens may end it.
    response = response_of(_text(body, "response"), "")
    return [_job(_truth(_text(body, "label")), response, 1, context)]


def _slime_answer(jobs: Sequence[Job], results: Sequence[Result], context: Context) -> Any:
    score = score_of(jobs[0], results[0])
    (reward,) = _rewards([score], context)
    return {"score": reward, **score}


# --- /run_code -----------------------------------------------------------------------------------


def _run_jobs(body: Body, context: Context) -> list[Job]:
    config = context.config
    code, language = _text(body, "code"), _text(body, "language")
    stdin = body.get("stdin") or ""
    timeout = number_in(body, "run_timeout", 10)
    memory_mb = number_in(body, "memory_limit_MB", -1)
    if not isinstance(stdin, str):
        raise UsageError(f"'stdin' must be text or null, not {shown(stdin)}")
    if not timeout > 0:
        raise UsageError(f"'run_timeout' must be positive, not {timeout!r}")
    if any(body.get(key) for key in ("files", "fetch_files", "args")):
        raise NotJudged("programs have no files and no arguments here")
    if language not in _LANGUAGES:
        raise NotJudged(f"no runtime for {shown(language)}; known: {', '.join(_LANGUAGES)}")
    try:
        runtime = runtime_named(_LANGUAGES[language])
        runtime_file(runtime)
    except (RuntimeMissing, UnknownName) as missing:
        raise NotJudged(str(missing)) from None
    limits = Limits(
        timeout_s=min(timeout, config.deadline),
        memory_bytes=int(min(memory_mb if memory_mb > 0 else 1e9, config.memory_mb) * MIB),
        output_chars=_LONGEST_OUTPUT,
    )
    return [{"program": [runtime.name, vars(Program(code, stdin)), vars(limits)]}]


def _run_answer(
    jobs: Sequence[Job],  # noqa: ARG001
    results: Sequence[Result],
    context: Context,  # noqa: ARG001
) -> Any:
    if results[0].fault:
        return sandbox_error(results[0].fault)
    run = results[0].value
    is_right = run["status"] == "ok"
    if run["doubt"] and not is_right:  # it may be right where it runs natively
        return sandbox_error(run["doubt"])
    command = {
        "status": _STATES.get(run["status"], "Finished"),
        "execution_time": run["duration_s"],
        "return_code": None if run["status"] == "timeout" else run["exit_code"],
        "stdout": run["stdout"],
        "stderr": run["stderr"],
    }
    return _run_response("Success" if is_right else "Failed", "", command)


def sandbox_error(message: str) -> dict[str, Any]:
    """Return the answer of /run_code where a program could not be run, by no fault of its own."""
    return _run_response("SandboxError", message, None)


def _run_response(status: str, message: str, run: dict[str, Any] | None) -> dict[str, Any]:
    return {
        **{"status": status, "message": message, "compile_result": None, "run_result": run},
        **{"executor_pod_name": None, "files": {}},
    }


PROTOCOLS: Mapping[str, Protocol] = {
    "/score": Protocol(("rows", "completions"), _score_jobs, _scores, is_borrowed=False),
    "/run_code": Protocol(
        *(("code", "language"), _run_jobs, _run_answer, sandbox_error),
        optional=(
            *("stdin", "run_timeout", "compile_timeout", "memory_limit_MB"),
            *("files", "fetch_files", "args", "deadline"),
        ),
    ),
    "/openrlhf": Protocol(("query", "prompts", "labels"), _openrlhf_jobs, _openrlhf_answer),
    "/slime": Protocol(("prompt", "response", "label"), _slime_jobs, _slime_answer),
}
