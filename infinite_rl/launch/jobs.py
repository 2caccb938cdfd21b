"""Submitted jobs: their state, their logs, and their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..errors import LaunchError, UsageError
from .aws import THROTTLED, Aws, Refused, Unanswered
from .request import check_name

COMPLETED, FAILED, STOPPED = "Completed", "Failed", "Stopped"
GROUP = "/aws/sagemaker/TrainingJobs"
_POLL_S, _FOLLOW_S = 30.0, 5.0
_MAX_SILENT_POLLS = 20  # in a row, before waiting is given up
_LATE_MS = 120_000  # a host's log lines may arrive this much after those of another


class NoJob(UsageError):
    """There is no job of that name."""


@dataclass(frozen=True)
class State:
    """The state of a job: `status` and `detail` are SageMaker's words, `reason` is of a failure.

    `seconds` are those of training so far; for `hyperparameters` see `request`.
    """

    name: str
    status: str
    detail: str = ""
    reason: str = ""
    created: datetime | None = None
    ended: datetime | None = None
    seconds: int = 0
    machines: str = ""
    hyperparameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.status in (COMPLETED, FAILED, STOPPED)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> State:
        """The state in an answer of `describe_training_job`, or in an item of a list."""
        steps = answer.get("SecondaryStatusTransitions") or [{}]
        detail = [answer.get("SecondaryStatus"), steps[-1].get("StatusMessage")]
        resources = answer.get("ResourceConfig", {})
        count, instance_type = resources.get("InstanceCount"), resources.get("InstanceType")
        return cls(
            answer["TrainingJobName"],
            answer["TrainingJobStatus"],
            ": ".join(filter(None, detail)),
            answer.get("FailureReason", ""),
            answer.get("CreationTime"),
            answer.get("TrainingEndTime"),
            answer.get("TrainingTimeInSeconds", 0),
            f"{count} x {instance_type}" if instance_type else "",
            answer.get("HyperParameters", {}),
        )


def status(aws: Aws, name: str) -> State:
    """The state of a job. Raises NoJob if there is none of that name."""
    return State.of(_of_job(aws, "describe_training_job", name))


def stop(aws: Aws, name: str) -> State:
    """Stop a job, which gets two minutes to save its work; return its state after that.

    Raises:
        UsageError: there is no such job, or it has ended.
    """
    before = status(aws, name)
    if before.is_over:
        raise UsageError(f"the job {name} is over: {before.status}")
    _of_job(aws, "stop_training_job", name)
    return status(aws, name)


def _of_job(aws: Aws, method: str, name: str) -> Any:
    try:
        return aws.call("sagemaker", method, TrainingJobName=check_name(name))
    except Refused as error:
        if "not found" in str(error) or "could not find" in str(error).lower():
            raise NoJob(f"there is no job {name} in {aws.config.region}") from None
        raise


def listed(aws: Aws, limit: int, containing: str = "") -> list[State]:
    """The newest jobs of the account in this region, the newest first."""
    args = {"NameContains": containing} if containing else {}
    args |= {"SortBy": "CreationTime", "SortOrder": "Descending"}
    jobs: list[State] = []
    for each in aws.pages("sagemaker", "list_training_jobs", "TrainingJobSummaries", **args):
        jobs.append(State.of(each))
        if len(jobs) == limit:
            break
    return jobs


def logs(aws: Aws, name: str, since_ms: int = 0) -> Iterator[tuple[str, int, str, str]]:
    """A job's log lines of all hosts, by time: (id, milliseconds since 1970, host, text).

    A job without log lines yields none, and so does an unknown one.
    """
    args: dict[str, Any] = {"startTime": since_ms, "interleaved": True}
    args |= {"logGroupName": GROUP, "logStreamNamePrefix": f"{check_name(name)}/"}
    try:
        for event in aws.pages("logs", "filter_log_events", "events", **args):
            job, _, host = event["logStreamName"].partition("/")
            if job == name:
                yield event["eventId"], event["timestamp"], host, event["message"].rstrip("\n")
    except Refused as error:
        if error.code != "ResourceNotFoundException":  # no job has logged anything yet
            raise


def followed(
    aws: Aws, name: str, *, sleep: Callable[[float], object] = time.sleep
) -> Iterator[tuple[str, str]]:
    """Yield a job's log lines (host, text), and later ones as they come, until it has ended."""
    newest, seen = 0, dict[str, int]()
    while True:
        is_over = status(aws, name).is_over  # before the lines, so that the last ones are read
        for key, when, host, text in logs(aws, name, max(0, newest - _LATE_MS)):
            if key not in seen:
                seen[key] = when
                newest = max(newest, when)
                yield host, text
        seen = {key: when for key, when in seen.items() if when >= newest - 2 * _LATE_MS}
        if is_over:
            return
        sleep(_FOLLOW_S)


def wait(
    aws: Aws,
    name: str,
    on_change: Callable[[State], object],
    *,
    sleep: Callable[[float], object] = time.sleep,
) -> State:
    """Wait for a job's end, and return its state; `on_change` is called with each new state.

    Raises:
        LaunchError: AWS has not answered for ten minutes; the job continues.
    """
    last: tuple[str, str] | None = None
    silent = 0
    while True:
        try:
            state = status(aws, name)
        except (LaunchError, UsageError) as error:
            throttled = isinstance(error, Refused) and error.code in THROTTLED
            silent += 1
            if silent == _MAX_SILENT_POLLS or not (throttled or isinstance(error, Unanswered)):
                kind = UsageError if isinstance(error, UsageError) else LaunchError
                raise kind(f"{error}; the job {name} continues") from None
        else:
            silent = 0
            if (state.status, state.detail) != last:
                on_change(state)
            last = state.status, state.detail
            if state.is_over:
                return state
        sleep(_POLL_S)
