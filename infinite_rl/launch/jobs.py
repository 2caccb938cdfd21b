"""Jobs that were submitted: what they are doing, what they say, how they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..errors import LaunchError, UsageError
from .aws import THROTTLED, Aws, Refused, Unanswered
from .names import check_name

COMPLETED, FAILED, STOPPED = "Completed", "Failed", "Stopped"
ENDED = (COMPLETED, FAILED, STOPPED)
GROUP = "/aws/sagemaker/TrainingJobs"
_POLL_S, _FOLLOW_S = 30.0, 5.0
_PATIENCE = 20  # polls without an answer, one after the other, before waiting is given up
_LATE_MS = 120_000  # a host's lines may come this much after those of another


class NoJob(UsageError):
    """There is no job of that name."""


@dataclass(frozen=True)
class State:
    """How a job is: `status` is SageMaker's word, `detail` its step, `reason` why it failed.

    `seconds` are those of training so far, `told` is what its container was told: see `request`.
    """

    name: str
    status: str
    detail: str = ""
    reason: str = ""
    created: datetime | None = None
    ended: datetime | None = None
    seconds: int = 0
    machines: str = ""
    told: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.status in ENDED

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> State:
        """What `describe_training_job` says."""
        steps = found.get("SecondaryStatusTransitions") or [{}]
        detail = [found.get("SecondaryStatus"), steps[-1].get("StatusMessage")]
        resources = found.get("ResourceConfig", {})
        count, kind = resources.get("InstanceCount"), resources.get("InstanceType")
        return cls(
            found["TrainingJobName"],
            found["TrainingJobStatus"],
            ": ".join(filter(None, detail)),
            found.get("FailureReason", ""),
            found.get("CreationTime"),
            found.get("TrainingEndTime"),
            found.get("TrainingTimeInSeconds", 0),
            f"{count} x {kind}" if kind else "",
            found.get("HyperParameters", {}),
        )


def status(aws: Aws, name: str) -> State:
    """How a job is. Raises NoJob where there is none of that name."""
    check_name(name)
    try:
        return State.of(aws.call("sagemaker", "describe_training_job", TrainingJobName=name))
    except Refused as error:
        raise _unknown(error, name, aws) from None


def stop(aws: Aws, name: str) -> State:
    """Ask for the end of a job; it gets two minutes to save what it has. How it then is.

    Raises:
        UsageError: there is no such job, or it is over.
    """
    before = status(aws, name)
    if before.is_over:
        raise UsageError(f"the job {name} is over: {before.status}")
    try:
        aws.call("sagemaker", "stop_training_job", TrainingJobName=name)
    except Refused as error:
        raise _unknown(error, name, aws) from None
    return status(aws, name)


def listed(aws: Aws, most: int, containing: str = "") -> list[State]:
    """The newest jobs of the account in this region, the newest first."""
    given = {"NameContains": containing} if containing else {}
    found: list[State] = []
    pages = aws.pages(
        *("sagemaker", "list_training_jobs", "TrainingJobSummaries"),
        SortBy="CreationTime",
        SortOrder="Descending",
        **given,
    )
    for each in pages:
        found.append(
            State(
                each["TrainingJobName"],
                each["TrainingJobStatus"],
                created=each.get("CreationTime"),
                ended=each.get("TrainingEndTime"),
            )
        )
        if len(found) == most:
            break
    return found


def logs(aws: Aws, name: str, since_ms: int = 0) -> Iterator[tuple[str, int, str, str]]:
    """A job's lines so far, of all its hosts, by time: (id, milliseconds since 1970, host, text).

    A job that has said nothing has none, and neither has one that is not known.
    """
    check_name(name)
    try:
        for event in aws.pages(
            *("logs", "filter_log_events", "events"),
            logGroupName=GROUP,
            logStreamNamePrefix=f"{name}/",
            startTime=since_ms,
            interleaved=True,  # as AWS itself always does by now
        ):
            job, _, host = event["logStreamName"].partition("/")
            if job == name:
                yield event["eventId"], event["timestamp"], host, event["message"].rstrip("\n")
    except Refused as error:
        if error.code != "ResourceNotFoundException":  # no job has said anything yet
            raise


def followed(
    aws: Aws, name: str, *, sleep: Callable[[float], object] = time.sleep
) -> Iterator[tuple[str, str]]:
    """A job's lines (host, text), those that come later too, until it is over."""
    newest, seen = 0, dict[str, int]()
    while True:
        over = status(aws, name).is_over  # asked first: what was said before the end comes out
        for key, when, host, text in logs(aws, name, max(0, newest - _LATE_MS)):
            if key not in seen:
                seen[key] = when
                newest = max(newest, when)
                yield host, text
        seen = {key: when for key, when in seen.items() if when >= newest - 2 * _LATE_MS}
        if over:
            return
        sleep(_FOLLOW_S)


def wait(
    aws: Aws,
    name: str,
    on_change: Callable[[State], object],
    *,
    sleep: Callable[[float], object] = time.sleep,
) -> State:
    """How a job ended; `on_change` is told each time it is otherwise than before.

    Raises:
        LaunchError: AWS has not answered for ten minutes; the job goes on.
    """
    last: tuple[str, str] | None = None
    silent = 0
    while True:
        try:
            found = status(aws, name)
        except LaunchError as error:
            silent += 1
            if silent == _PATIENCE or not _passes(error):
                raise LaunchError(f"{error}; the job {name} goes on") from None
        except UsageError as error:
            raise UsageError(f"{error}; the job {name} goes on") from None
        else:
            silent = 0
            if (found.status, found.detail) != last:
                on_change(found)
            last = found.status, found.detail
            if found.is_over:
                return found
        sleep(_POLL_S)


def _passes(error: LaunchError) -> bool:
    """Whether a later call may do better."""
    throttled = isinstance(error, Refused) and error.code in THROTTLED
    return throttled or isinstance(error, Unanswered)


def _unknown(error: Refused, name: str, aws: Aws) -> Exception:
    if "not found" in str(error) or "could not find" in str(error).lower():
        return NoJob(f"there is no job {name} in {aws.place.region}")
    return error
