"""The steps of a submission, in an order that leaves nothing half done.

First come all checks on this machine: the configs, the names, the source's archive. Then those that
only AWS can answer. The configs are written to S3 by a conditional write, which only the first
writer wins: it owns the job's name. The job is created last. A failure before that removes the
configs and adds no line to the job log; the archive stays, because jobs share it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..config import read_yaml
from ..errors import InfiniteRLError, LaunchError, UsageError
from ..redact import redact
from ..storage.s3 import S3Uri
from . import image, job_log
from .aws import Aws, Refused, Unanswered, account, region
from .config import FILE, SageMakerConfig, resolve
from .jobs import NoJob, status
from .request import EVAL, TRAIN, Job, configs_uri, create_training_job, default_name, source_uri
from .source import ARCHIVE, Source, archived, named_paths

if TYPE_CHECKING:
    from ..training.runs.config import TrainingConfig

logger = logging.getLogger(__name__)

_NAME_TRIES = 10  # default names, a second apart, if others submit at the same time


@dataclass(frozen=True)
class SubmitRequest:
    """What a user submits.

    `folder` is what the job runs in, `config` a training config on this machine, `name` the job's
    name ("": the default one), `tag` the image's. `private` files are never sent.
    """

    config: Path
    sagemaker: SageMakerConfig
    folder: Path = Path()
    name: str = ""
    tag: str = ""
    eval_config: Path | None = None
    description: str = ""
    private: Sequence[Path] = (Path(FILE),)  # its `environment` may hold keys

    def resolved(self) -> SageMakerConfig:
        """The config with what AWS's profile and STS say. Raises UsageError for missing keys."""
        needed = ("region", "role", "bucket", "account")
        return resolve(self.sagemaker, needed, region=region, account=account)


@dataclass(frozen=True)
class Prepared:
    """What a submission sends: the configs' texts by name, and the source.

    `checkpoint_uri` and `trace_uri` come from the training config, "" by default.
    """

    configs: Mapping[str, bytes]
    source: Source
    checkpoint_uri: str
    trace_uri: str

    def job(self, name: str, address: str) -> Job:
        """The job of that name with that image. Raises UsageError for a wrong name or image."""
        is_evaluated = EVAL in self.configs
        uris = self.checkpoint_uri, self.trace_uri
        return Job(name, address, self.source.digest, is_evaluated, *uris)


@contextmanager
def prepared(request: SubmitRequest) -> Iterator[Prepared]:
    """Check and yield all that a submission sends; the archive exists within the block.

    Raises:
        UsageError: a config is wrong, holds a secret, or names a path that a job would not have.
        StoreError: a file cannot be read.
    """
    from ..evaluation.config import EvaluationConfig
    from ..training.runs.config import TrainingConfig

    files = {TRAIN: request.config}
    train = TrainingConfig.read(request.config)
    _check_inputs(request, train)
    if request.eval_config:
        EvaluationConfig.read(request.eval_config, defaults={"model": "each checkpoint"})
        files[EVAL] = request.eval_config
    paths: list[Path] = []
    for path in files.values():
        values = read_yaml(path)
        for key, value in values.items():
            if redact({key: value}) != {key: value}:
                raise UsageError(
                    f"{path} holds a secret under {key!r}, which everybody with access to the "
                    "bucket could read: remove it, and set a variable in `environment` of "
                    "launch.yaml"
                )
        paths += named_paths(values, request.folder)
    configs = {name: path.read_bytes() for name, path in files.items()}
    with archived(request.folder, paths, request.private) as source:
        unit, scale = ("MB", 1e6) if source.size >= 1e6 else ("kB", 1e3)
        logger.info("source: %d files, %.1f %s", source.files, source.size / scale, unit)
        for name, reason in source.held_back.items():
            logger.info("not sent: %s (%s)", name, reason)
        yield Prepared(configs, source, train.checkpoint_uri, train.trace_uri)


def _check_inputs(request: SubmitRequest, train: TrainingConfig) -> None:
    """Raise UsageError if the job would fail once its machines have started."""
    if not train.data and not train.datasets:
        raise UsageError(f"{request.config}: data is missing: the file of rows, or datasets")
    names = [train.data, *(name for each in train.mixture for name in (each.path, each.order))]
    for name in filter(None, names):
        is_local = ":" not in name and not name.startswith("/opt/ml/")
        if is_local and not (request.folder / name).exists():
            raise UsageError(f"{request.config}: there is no {name} in {request.folder.resolve()}")
    if request.sagemaker.instance_count > 1 and train.engine != "ray":
        raise UsageError(
            f"{request.config}: the engine {train.engine} uses one machine, and the job would have "
            f"{request.sagemaker.instance_count}: set engine: ray"
        )


def dry_run(request: SubmitRequest, now: datetime) -> dict[str, Any]:
    """The exact request that a submission would send, without the secrets of its environment.

    Nothing changes anywhere. STS is asked for the account if the config does not have it.
    """
    with prepared(request) as sent:
        config = request.resolved()
        job = _job(request, config, sent, now)
        redacted: dict[str, Any] = redact(create_training_job(job, config))
        return redacted


def submit(
    request: SubmitRequest, now: Callable[[], datetime], *, build: bool, push: bool
) -> tuple[Job, Aws]:
    """Submit a job, and add it to the folder's job log; also return the connection to AWS.

    Raises:
        UsageError: an input or a permission is wrong or missing; the message says what to do.
        StoreError: a file cannot be read, or the job log cannot be written.
        LaunchError: AWS or the container engine failed.
    """
    with prepared(request) as sent:
        config = request.resolved()
        aws = Aws(config)
        job = _job(request, config, sent, now())
        job_log.check_writable(request.folder)
        owner = account(config)
        if owner != config.account:
            raise UsageError(
                f"these credentials are of the account {owner}, and the job's is {config.account}: "
                "use another AWS profile, account or role"
            )
        _provide_image(request, job, aws, build, push)
        _upload_source(aws, sent.source)
        job = _claim_and_create(request, aws, sent, now())
    machines = f"{config.instance_count} x {config.instance_type}"
    tag, digest = job.image.rpartition("/")[2], job.source[:12]
    texts = (job.name, str(request.config), machines, tag, digest, request.description)
    try:
        job_log.append(request.folder, job_log.row(now(), texts))
    except InfiniteRLError as error:
        raise type(error)(f"the job {job.name} is submitted, but {error}") from None
    return job, aws


def _job(request: SubmitRequest, config: SageMakerConfig, sent: Prepared, now: datetime) -> Job:
    name = request.name or default_name(now)
    return sent.job(name, image.address(config, request.tag or image.default_tag()))


def _provide_image(request: SubmitRequest, job: Job, aws: Aws, build: bool, push: bool) -> None:
    if named := request.sagemaker.image:
        if build or push:
            raise UsageError(
                "--build and --push make the image of the repository, and another image is named: "
                f"remove `image` ({named})"
            )
        if request.tag:
            raise UsageError("--image_tag is of the repository's image, and another image is named")
    if build or push:
        engine = image.engine()
        if build:
            image.build(engine, job.image, request.folder)
        if push:
            image.push(engine, job.image, aws)
    if not push and not named:
        image.check_pushed(aws, request.tag or image.default_tag())


def _upload_source(aws: Aws, source: Source) -> None:
    """Send the archive, unless S3 has one with that content."""
    target = S3Uri.parse(f"{source_uri(aws.config, source.digest)}/{ARCHIVE}")
    page = aws.call("s3", "list_objects_v2", Bucket=target.bucket, Prefix=target.key, MaxKeys=1)
    if any(each["Key"] == target.key for each in page.get("Contents", ())):
        logger.info("the source is in S3 already")
        return
    logger.info("sending the source to %s", target)
    with source.path.open("rb") as file:
        aws.call("s3", "upload_fileobj", Fileobj=file, **target.args)


def _claim_and_create(request: SubmitRequest, aws: Aws, sent: Prepared, now: datetime) -> Job:
    """Create the job. If another has its default name, try that of the next second."""
    for seconds in range(_NAME_TRIES):
        job = _job(request, aws.config, sent, now + timedelta(seconds=seconds))
        try:
            with ExitStack() as undo:
                _claim(aws, job, sent, undo, resume=bool(request.name))
                _create(aws, job, undo.pop_all())
                return job
        except _NameTaken:
            if request.name:
                raise
    raise LaunchError(f"{_NAME_TRIES} other jobs are being submitted: run this again")


class _NameTaken(UsageError):
    """Another job has the name."""

    def __init__(self, name: str, where: str = "") -> None:
        super().__init__(f"the name {name} is taken{where}: choose another --job_name")


def _claim(aws: Aws, job: Job, sent: Prepared, undo: ExitStack, *, resume: bool) -> None:
    """Write the configs, which claims the name; `undo` collects what removes them.

    With `resume`, an earlier submission with the same content that created no job is resumed.
    """
    metadata = {"by": uuid4().hex, "source": job.source}
    for name, body in sent.configs.items():
        uri = f"{configs_uri(aws.config, job.name)}/{name}"
        target, once = S3Uri.parse(uri).args, {"IfNoneMatch": "*"} if name == TRAIN else {}
        try:
            aws.call("s3", "put_object", **target, **once, Body=body, Metadata=metadata)
        except Refused as error:
            if error.code not in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise
            owner = aws.call("s3", "head_object", **target).get("Metadata", {})
            is_ours = owner.get("by") == metadata["by"]  # boto3 has repeated the call
            if not is_ours and (not resume or _job_exists(aws, job.name)):
                raise _NameTaken(job.name, f" ({uri})") from None
            if not is_ours and (owner.get("source") != job.source or _read(aws, target) != body):
                raise UsageError(
                    f"the name {job.name} belongs to a submission that created no job, with "
                    f"another config or source ({uri}): remove that, or choose another --job_name"
                ) from None
            if not is_ours:
                logger.info("resuming a submission of %s that created no job", job.name)
        undo.callback(_remove, aws, target)


def _job_exists(aws: Aws, name: str) -> bool:
    with suppress(NoJob):
        status(aws, name)
        return True
    return False


def _read(aws: Aws, target: Mapping[str, str]) -> bytes:
    with aws.errors_of("s3"):
        body: bytes = aws.call("s3", "get_object", **target)["Body"].read()
    return body


def _remove(aws: Aws, target: Mapping[str, str]) -> None:
    with suppress(InfiniteRLError):  # the error before this one says more
        aws.call("s3", "delete_object", **target)


def _create(aws: Aws, job: Job, undo: ExitStack) -> None:
    """Create the job. Its configs are removed only if it certainly does not exist.

    Raises:
        InfiniteRLError: it was not created, or its state is unknown, which the message says.
    """
    request = create_training_job(job, aws.config)
    try:
        aws.call("sagemaker", "create_training_job", **request)
        return
    except InfiniteRLError as error:
        fault = _fault_of(aws, job, request, error)
    if fault is not None:
        undo.close()
        raise fault


def _fault_of(
    aws: Aws, job: Job, request: Mapping[str, Any], error: InfiniteRLError
) -> InfiniteRLError | None:
    """Why a call that failed has created no job; None if it has created it all the same.

    Raises:
        LaunchError: the job may or may not exist.
    """
    code = error.code if isinstance(error, Refused) else ""
    is_taken = code in ("ResourceInUse", "ResourceInUseException")
    if not is_taken and not isinstance(error, Unanswered):
        return error
    try:
        state = status(aws, job.name)
    except NoJob:
        return error
    except InfiniteRLError:
        raise LaunchError(
            f"{error}. The job may exist all the same: infinite-rl jobs status {job.name}"
        ) from None
    is_ours = dict(state.hyperparameters) == request["HyperParameters"]
    return _NameTaken(job.name) if is_taken and not is_ours else None
