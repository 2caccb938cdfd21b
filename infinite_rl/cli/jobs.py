"""`infinite-rl jobs`: the jobs that were submitted, and what may be done with them."""

from __future__ import annotations

import argparse
import json
from datetime import timedelta
from typing import TYPE_CHECKING

from . import arguments
from .submit import line, place, placed, waited
from .terminal import DONE, NOT_DONE, plain, tell

if TYPE_CHECKING:
    from ..launch.aws import Aws

_EXAMPLES = (
    "Examples: infinite-rl jobs list. infinite-rl jobs status NAME. infinite-rl jobs logs NAME "
    "--follow. infinite-rl jobs stop NAME. infinite-rl jobs policy."
)

_CODES = (
    "Exit code: 0 done, 1 not done, 2 wrong usage; of status, 1 for a job that failed or was "
    "stopped."
)


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "jobs",
        help="jobs on SageMaker: status, logs, stop, list, and the permissions they need",
        description="Watch and end training jobs on SageMaker.",
        epilog=f"{_EXAMPLES} {_CODES}",
    )
    kinds = parser.add_subparsers(required=True, metavar="WHAT")
    one = _add(kinds, "status", "how a job is", status)
    one.add_argument("name", metavar="NAME", help="the job's")
    arguments.switch(one, "--wait", "until it has ended")
    logs_of = _add(kinds, "logs", "what a job has said so far", logs)
    logs_of.add_argument("name", metavar="NAME", help="the job's")
    arguments.switch(logs_of, "--follow", "go on until the job has ended")
    ended = _add(kinds, "stop", "end a job; it gets two minutes to save what it has", stop)
    ended.add_argument("name", metavar="NAME", help="the job's")
    arguments.switch(ended, "--wait", "until it has ended")
    all_jobs = _add(kinds, "list", "the newest jobs", listed)
    arguments.option(all_jobs, "-n", 20, "how many", int)
    arguments.option(all_jobs, "--containing", "", "only those with this in their names")
    _add(kinds, "policy", "print the IAM policy that submitting and watching need", policy)


def _add(kinds: arguments.Verbs, name: str, what: str, verb: object) -> argparse.ArgumentParser:
    parser = kinds.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=f"Example: infinite-rl jobs {name}{'' if name in ('list', 'policy') else ' NAME'}. "
        f"{_CODES}",
    )
    keys = ("region",) if name != "policy" else ("region", "account", "role", "bucket")
    place(parser, keys)
    form = "a JSON object a line" if name == "logs" else "one JSON object"
    arguments.for_machines(parser, form)
    parser.set_defaults(verb=verb)
    return parser


def _aws(given: argparse.Namespace) -> Aws:
    from ..launch.aws import Aws, region
    from ..launch.config import resolve

    return Aws(resolve(placed(given), ["region"], region=region))


def status(given: argparse.Namespace) -> int:
    from ..launch import jobs

    aws = _aws(given)
    if given.wait:
        return waited(given, aws, given.name)
    state = jobs.status(aws, given.name)
    lines = [line(state)]
    if state.machines:
        lines.append(f"on {state.machines}, training for {timedelta(seconds=state.seconds)} so far")
    if where := state.hyperparameters.get("checkpoint_uri"):
        lines.append(f"checkpoints: {plain(where)}")
    tell(given, state, *lines)
    return NOT_DONE if state.status in (jobs.FAILED, jobs.STOPPED) else DONE


def logs(given: argparse.Namespace) -> int:
    from ..launch import jobs

    aws = _aws(given)
    found = None
    if given.follow:
        for host, text in jobs.followed(aws, given.name):
            tell(given, {"host": host, "text": text}, plain(f"{host}: {text}"), flush=True)
        return DONE
    for _, _, host, text in jobs.logs(aws, given.name):
        tell(given, {"host": host, "text": text}, found := plain(f"{host}: {text}"))
    if found is None:
        print(f"nothing yet; {line(jobs.status(aws, given.name))}")
    return DONE


def stop(given: argparse.Namespace) -> int:
    from ..launch import jobs

    aws = _aws(given)
    state = jobs.stop(aws, given.name)
    if given.wait:
        waited(given, aws, given.name)
    else:
        tell(given, state, line(state))
    return DONE


def listed(given: argparse.Namespace) -> int:
    from ..launch import jobs

    aws = _aws(given)
    found = jobs.listed(aws, given.n, given.containing)
    lines = [
        f"{state.created:%Y-%m-%d %H:%M:%S}  {state.status:<10}  {plain(state.name)}"
        for state in found
    ]
    jobs_there = [
        {"name": state.name, "status": state.status, "created": state.created, "ended": state.ended}
        for state in found
    ]
    nothing = f"there are no jobs in {aws.config.region}"
    tell(given, {"region": aws.config.region, "jobs": jobs_there}, *(lines or [nothing]))
    return DONE


def policy(given: argparse.Namespace) -> int:
    from ..launch.config import resolve
    from ..launch.permissions import policy as needed

    found = needed(resolve(placed(given), []))
    tell(given, found, json.dumps(found, indent=2))
    return DONE
