"""`infinite-rl submit`: a training config and this folder to SageMaker, or to this machine."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import arguments
from .terminal import DONE, NOT_DONE, plain, show_logs, tell

if TYPE_CHECKING:
    from ..launch.aws import Aws
    from ..launch.jobs import State
    from ..launch.submit import SubmitRequest

# The keys of a place that have a flag; `launch.yaml` has them all.
_KEYS = ("region", "account", "role", "bucket", "instance_type", "instance_count")


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "submit",
        help="train on SageMaker: send this folder and a config, and start a job",
        description="Send the folder that this is run in (without what git ignores, and without "
        "what looks like a secret) and CONFIG to S3, and start a training job on SageMaker. "
        "Region, role, bucket and account come from flags, from the variables "
        "INFINITE_RL_REGION and so on, from launch.yaml, or from AWS itself. The job is added to "
        "docs/job_log.md.",
        epilog="Examples: infinite-rl submit configs/train/gsm8k_grpo.yaml --dry_run. infinite-rl "
        "submit CONFIG --build --push --wait. infinite-rl submit CONFIG --local --gpus 0,1. Exit "
        "code: 0 submitted, with --wait: completed, 1 not, 2 wrong usage; with --local, the run's.",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file of `train`")
    what = parser.add_argument
    what("--eval_config", type=Path, metavar="PATH", help="a YAML file of `evaluate`")
    arguments.option(parser, "--description", "", "what the job is for, for docs/job_log.md")
    name = "what the job is called (default: annotations-adhoc-YYYYMMDD-HHMMSS)"
    arguments.option(parser, "--job_name", "", name)
    switch = arguments.switch
    switch(parser, "--build", "build the image of ./Dockerfile, by docker or podman")
    switch(parser, "--push", "push the image; its repository is made where it is missing")
    arguments.option(parser, "--image_tag", "", "of the image (default: this package's version)")
    switch(parser, "--wait", "until the job has ended")
    switch(parser, "--dry_run", "print the exact request as JSON, and do nothing")
    arguments.for_machines(parser)
    switch(parser, "--local", "run the same program on this machine, in artifacts/jobs/NAME")
    arguments.option(parser, "--gpus", "", "with --local, the GPUs to use, such as 0,1")
    place(parser, _KEYS)
    parser.set_defaults(verb=run)


def place(parser: argparse.ArgumentParser, keys: tuple[str, ...]) -> None:
    """The flags that say where jobs are; `placed` reads them."""
    from ..launch.config import SageMakerConfig

    for key in keys:
        kind, text = SageMakerConfig.kinds()[key], SageMakerConfig.explained()[key]
        text += f" (default: {default})" if (default := getattr(SageMakerConfig, key)) else ""
        arguments.option(parser, f"--{key}", None, text, kind)
    parser.add_argument(
        "--launch_config", type=Path, metavar="PATH", help="another file than ./launch.yaml"
    )


def placed(given: argparse.Namespace) -> Any:
    """The place that flags, variables and the file say."""
    from ..launch.config import read

    flags = {key: getattr(given, key, None) for key in _KEYS}
    return read(Path(), flags, given.launch_config)


def run(given: argparse.Namespace) -> int:
    from ..launch.config import FILE
    from ..launch.submit import SubmitRequest

    show_logs()
    logging.getLogger("infinite_rl.launch").setLevel(logging.INFO)
    asked = SubmitRequest(
        given.config,
        placed(given),
        name=given.job_name,
        tag=given.image_tag,
        eval_config=given.eval_config,
        description=given.description,
        private=(Path(FILE), *filter(None, [given.launch_config])),
    )
    _check(given)
    if given.local:
        return _local(given, asked)
    if given.dry_run:
        from ..launch.submit import dry_run

        request = dry_run(asked, _now())
        tell(given, request, json.dumps(request, indent=2, sort_keys=True))
        return DONE
    return _submitted(given, asked)


def _check(given: argparse.Namespace) -> None:
    """Raise UsageError for flags that do not go together."""
    from ..launch.request import check_name

    if given.job_name:
        check_name(given.job_name)
    if given.gpus and not given.local:
        raise UsageError("--gpus goes with --local; on SageMaker --instance_type says the GPUs")
    for flag in ("build", "push", "wait", "dry_run"):
        if given.local and getattr(given, flag):
            raise UsageError(f"--{flag} does not go with --local")
    if given.dry_run and (given.build or given.push or given.wait):
        raise UsageError("--dry_run does nothing: leave --build, --push and --wait out")


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _local(given: argparse.Namespace, asked: SubmitRequest) -> int:
    from ..launch.local import check_gpus, run

    folder, code = run(asked, check_gpus(given.gpus), _now())
    ended = "done" if code == DONE else f"ended with exit code {code}"
    values = {"folder": folder, "exit_code": code}
    tell(given, values, f"{ended}: {plain(str(folder))}")
    return code


def _submitted(given: argparse.Namespace, asked: SubmitRequest) -> int:
    from ..launch.submit import submit

    job, aws = submit(asked, _now, build=given.build, push=given.push)
    said, region = f"submitted: {job.name}", aws.config.region
    if given.wait:
        print(said, flush=True)
        return waited(given, aws, job.name)
    how = f"what it says: infinite-rl jobs logs {job.name} --follow --region {region}"
    tell(given, {"name": job.name, "region": region}, said, how)
    return DONE


def waited(given: argparse.Namespace, aws: Aws, name: str) -> int:
    """Wait for the end of a job, and say how it goes; the exit code."""
    from ..launch.jobs import COMPLETED, wait

    def say(state: State) -> None:
        print(f"{_now():%H:%M:%S} {line(state)}", file=sys.stderr, flush=True)

    try:
        state = wait(aws, name, say)
    except KeyboardInterrupt:
        print(f"the job {name} goes on: infinite-rl jobs stop {name} ends it", file=sys.stderr)
        raise
    tell(given, state, line(state))
    return DONE if state.status == COMPLETED else NOT_DONE


def line(state: State) -> str:
    """How a job is, in one line."""
    said = f"{state.name}: {state.status}"
    if state.detail and state.detail != state.status:
        said += f" ({state.detail})"
    return plain(" ".join(f"{said}{f', {state.reason}' if state.reason else ''}".split()))
