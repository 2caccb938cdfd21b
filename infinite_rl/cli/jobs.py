"""`infinite-rl submit` and `infinite-rl jobs`: training on SageMaker, or here as there."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import FilePath
from ..errors import UsageError
from ..launch.config import SageMakerConfig
from .terminal import DONE, NOT_DONE, Emit, note, plain
from .verb import Verb

if TYPE_CHECKING:
    from ..launch.aws import Aws
    from ..launch.jobs import State
    from ..launch.submit import SubmitRequest


class _Job(Verb):
    """
    region         AWS region, such as eu-west-1
    launch_config  the launch config (default: ./launch.yaml)
    """

    config_file = ""

    region: str = ""
    launch_config: FilePath | None = None

    def sagemaker(self) -> SageMakerConfig:
        """The config of the flags, the environment's variables and the file."""
        from ..launch.config import read

        keys = SageMakerConfig.kinds()
        flags = {
            key: value
            for key, value in vars(self).items()
            if key in keys and value not in (None, "")
        }
        return read(Path(), flags, self.launch_config)

    def aws(self) -> Aws:
        """AWS in the region of the config."""
        from ..launch.aws import Aws, region
        from ..launch.config import resolve

        return Aws(resolve(self.sagemaker(), ["region"], region=region))


class _Account(_Job):
    """
    account  number of the AWS account, of 12 digits
    role     role that a job runs as: its ARN, or its name within the account
    bucket   S3 bucket for sources, checkpoints, traces and outputs
    """

    account: str = ""
    role: str = ""
    bucket: str = ""


class Submit(_Account):
    """Upload this folder (without what git ignores, and without what looks like a secret) and
    CONFIG to S3, and start a training job on SageMaker. Region, role, bucket and account come from
    flags, from the variables INFINITE_RL_REGION and so on, from launch.yaml, or from AWS itself.
    The job is added to docs/job_log.md.

    config          a YAML file of `train`
    eval_config     a YAML file of `evaluate`
    description     purpose of the job, for docs/job_log.md
    job_name        name of the job (default: annotations-adhoc-YYYYMMDD-HHMMSS)
    build           build the image of ./Dockerfile with docker or podman
    push            push the image; its repository is created if it is missing
    image_tag       tag of the image (default: this package's version)
    wait            wait until the job has ended
    local           run the same program on this machine, in artifacts/jobs/NAME
    gpus            with --local: the GPUs to use, such as 0,1
    instance_type   type of each machine (default: ml.p4de.24xlarge)
    instance_count  machines (default: 1)
    dry_run         print the exact request as JSON, and do nothing

    Examples: infinite-rl submit configs/train/gsm8k_grpo.yaml --dry_run. infinite-rl submit CONFIG
    --build --push --wait. infinite-rl submit CONFIG --local --gpus 0,1.

    Exit code: 0 submitted (with --wait: completed), 1 not, 2 wrong usage; with --local that of the
    run.
    """

    positional = ("config",)

    config: FilePath
    eval_config: FilePath | None = None
    description: str = ""
    job_name: str = ""
    build: bool = False
    push: bool = False
    image_tag: str = ""
    wait: bool = False
    local: bool = False
    gpus: str = ""
    instance_type: str = ""
    instance_count: int | None = None
    dry_run: bool = False

    def run(self, emit: Emit) -> int:
        from ..launch.config import FILE
        from ..launch.submit import SubmitRequest, dry_run, submit

        request = SubmitRequest(
            self.config,
            self.sagemaker(),
            name=self.job_name,
            tag=self.image_tag,
            eval_config=self.eval_config,
            description=self.description,
            private=(Path(FILE), *filter(None, [self.launch_config])),
        )
        self._check()
        if self.local:
            return self._local(request, emit)
        if self.dry_run:
            values = dry_run(request, _now())
            emit(values, json.dumps(values, indent=2, sort_keys=True))
            return DONE
        job, aws = submit(request, _now, build=self.build, push=self.push)
        line, region = f"submitted: {job.name}", aws.config.region
        if self.wait:
            print(line, flush=True)
            return _wait(emit, aws, job.name)
        log = f"its log: infinite-rl jobs logs {job.name} --follow --region {region}"
        emit({"name": job.name, "region": region}, line, log)
        return DONE

    def _check(self) -> None:
        """Raise UsageError for flags that exclude each other."""
        from ..launch.request import check_name

        if self.job_name:
            check_name(self.job_name)
        if self.gpus and not self.local:
            raise UsageError("--gpus needs --local; on SageMaker --instance_type sets the GPUs")
        for key in ("build", "push", "wait", "dry_run"):
            if self.local and getattr(self, key):
                raise UsageError(f"--{key} does not go with --local")
        if self.dry_run and (self.build or self.push or self.wait):
            raise UsageError("--dry_run does nothing: leave --build, --push and --wait out")

    def _local(self, request: SubmitRequest, emit: Emit) -> int:
        from ..launch.local import check_gpus, run

        folder, code = run(request, check_gpus(self.gpus), _now())
        ended = "done" if code == DONE else f"ended with exit code {code}"
        emit({"folder": folder, "exit_code": code}, f"{ended}: {plain(str(folder))}")
        return code


class _Named(_Job):
    """name  name of the job"""

    positional = ("name",)

    name: str


class Status(_Named):
    """Show the status of a job.

    wait  wait until the job has ended

    Example: infinite-rl jobs status NAME.

    Exit code: 0 done, 1 not done, or the job failed or was stopped, 2 wrong usage.
    """

    wait: bool = False

    def run(self, emit: Emit) -> int:
        from ..launch import jobs

        aws = self.aws()
        if self.wait:
            return _wait(emit, aws, self.name)
        state = jobs.status(aws, self.name)
        lines = [_line(state)]
        if state.machines:
            training = timedelta(seconds=state.seconds)
            lines.append(f"on {state.machines}, training for {training} so far")
        if uri := state.hyperparameters.get("checkpoint_uri"):
            lines.append(f"checkpoints: {plain(uri)}")
        emit(state, *lines)
        return NOT_DONE if state.status in (jobs.FAILED, jobs.STOPPED) else DONE


class Logs(_Named):
    """Print the log of a job so far.

    follow  continue until the job has ended

    Example: infinite-rl jobs logs NAME --follow.
    """

    json_form = "a JSON object a line"

    follow: bool = False

    def run(self, emit: Emit) -> int:
        from ..launch import jobs

        aws, empty = self.aws(), True
        if self.follow:
            for host, text in jobs.followed(aws, self.name):
                emit({"host": host, "text": text}, plain(f"{host}: {text}"), flush=True)
            return DONE
        for _, _, host, text in jobs.logs(aws, self.name):
            empty = False
            emit({"host": host, "text": text}, plain(f"{host}: {text}"))
        if empty:
            print(f"nothing yet; {_line(jobs.status(aws, self.name))}")
        return DONE


class Stop(_Named):
    """Stop a job; it has two minutes to save its work.

    wait  wait until the job has ended

    Example: infinite-rl jobs stop NAME.
    """

    wait: bool = False

    def run(self, emit: Emit) -> int:
        from ..launch import jobs

        aws = self.aws()
        state = jobs.stop(aws, self.name)
        if self.wait:
            _wait(emit, aws, self.name)
        else:
            emit(state, _line(state))
        return DONE


class List(_Job):
    """List the newest jobs.

    limit       number of jobs
    containing  only jobs whose names contain this text

    Example: infinite-rl jobs list -n 5.
    """

    aliases = {"limit": "-n"}

    limit: int = 20
    containing: str = ""

    def run(self, emit: Emit) -> int:
        from ..launch import jobs

        aws = self.aws()
        states = jobs.listed(aws, self.limit, self.containing)
        lines = [
            f"{state.created:%Y-%m-%d %H:%M:%S}  {state.status:<10}  {plain(state.name)}"
            for state in states
        ]
        keys, region = ("name", "status", "created", "ended"), aws.config.region
        values = [{key: getattr(state, key) for key in keys} for state in states]
        emit({"region": region, "jobs": values}, *(lines or [f"there are no jobs in {region}"]))
        return DONE


class Policy(_Account):
    """Print the IAM policy that submitting and watching need.

    Example: infinite-rl jobs policy.
    """

    def run(self, emit: Emit) -> int:
        from ..launch.config import resolve
        from ..launch.permissions import policy

        needed = policy(resolve(self.sagemaker(), []))
        emit(needed, json.dumps(needed, indent=2))
        return DONE


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _wait(emit: Emit, aws: Aws, name: str) -> int:
    """Wait for the end of a job, print each change, and return the exit code."""
    from ..launch.jobs import COMPLETED, wait

    def on_change(state: State) -> None:
        note(f"{_now():%H:%M:%S} {_line(state)}")

    try:
        state = wait(aws, name, on_change)
    except KeyboardInterrupt:
        note(f"the job {name} continues: infinite-rl jobs stop {name} ends it")
        raise
    emit(state, _line(state))
    return DONE if state.status == COMPLETED else NOT_DONE


def _line(state: State) -> str:
    """The status of a job in one line."""
    text = f"{state.name}: {state.status}"
    if state.detail and state.detail != state.status:
        text += f" ({state.detail})"
    return plain(" ".join(f"{text}{f', {state.reason}' if state.reason else ''}".split()))
