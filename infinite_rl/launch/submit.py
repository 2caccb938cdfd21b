"""The steps of a submission, in the order in which nothing is left half made.

First all that can be wrong here: the configs, the names, the source's archive. Then what only AWS
knows. The configs are written to S3 in a way that only the first writer succeeds with: who has
written them has the job's name. The job comes last. What fails before there is one takes the
configs away again and leaves no line in the job log; an archive that is there already is shared.
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

from ..errors import InfiniteRLError, LaunchError, UsageError
from ..redact import redact
from ..settings import read_yaml
from . import config, image, job_log, source
from .aws import Aws, Refused, Unanswered
from .config import FILE, SageMakerConfig
from .jobs import NoJob, status
from .names import default_name
from .request import EVAL, TRAIN, Job, config_uri, create_training_job, source_uri
from .source import ARCHIVE, Source

if TYPE_CHECKING:
    from ..training.runs.config import TrainingConfig

logger = logging.getLogger(__name__)

NEEDED = ("region", "role", "bucket", "account")
_TRIES = 10  # default names, a second apart, where others submit at the same time


@dataclass(frozen=True)
class SubmitRequest:
    """What a submission is told.

    `folder` is what the job runs in, `config` a training config of this machine, `name` the job's
    ("": the default one), `tag` the image's. `private` are files that are never sent.
    """

    config: Path
    place: SageMakerConfig
    folder: Path = Path()
    name: str = ""
    tag: str = ""
    eval_config: Path | None = None
    description: str = ""
    private: Sequence[Path] = (Path(FILE),)  # its `environment` may hold keys


@dataclass(frozen=True)
class Prepared:
    """What is known before AWS is asked: the configs' texts by their names, and the source.

    `checkpoint_uri` and `trace_uri` are the places that the training config names, "" for none.
    """

    configs: Mapping[str, bytes]
    source: Source
    checkpoint_uri: str
    trace_uri: str

    def job(self, name: str, image: str) -> Job:
        """The job of that name that runs the image. Raises UsageError for a wrong name or image."""
        evaluated = EVAL in self.configs
        return Job(name, image, self.source.digest, evaluated, self.checkpoint_uri, self.trace_uri)


@contextmanager
def prepared(asked: SubmitRequest) -> Iterator[Prepared]:
    """All that a submission sends, checked; the archive is there while the block runs.

    Raises:
        UsageError: a config is wrong, holds a secret, or names what would not be there in a job.
        StoreError: something cannot be read.
    """
    from ..evaluation.config import EvaluationConfig
    from ..training.runs.config import TrainingConfig

    files = {TRAIN: asked.config}
    train = TrainingConfig.read(asked.config)
    _check_rows(asked, train)
    if asked.eval_config:
        EvaluationConfig.read(asked.eval_config, defaults={"model": "each checkpoint"})
        files[EVAL] = asked.eval_config
    named: list[Path] = []
    for path in files.values():
        values = read_yaml(path)
        _refuse_secrets(path, values)
        named += source.named(values, asked.folder)
    configs = {name: path.read_bytes() for name, path in files.items()}
    with source.archived(asked.folder, named, asked.private) as found:
        logger.info("source: %d files, %s", found.files, size(found.size))
        for name, reason in found.held_back.items():
            logger.info("not sent: %s (%s)", name, reason)
        yield Prepared(configs, found, train.checkpoint_uri, train.trace_uri)


def _check_rows(asked: SubmitRequest, train: TrainingConfig) -> None:
    """Raise UsageError where the job would end once its machines have started."""
    named = [train.data] if train.data else []
    for each in train.mixture:
        named += [each.path, each.order]
    if not train.data and not train.datasets:
        raise UsageError(f"{asked.config}: data is missing: the file of rows, or datasets")
    for name in filter(None, named):
        here = ":" not in name and not name.startswith("/opt/ml/")
        if here and not (asked.folder / name).exists():
            raise UsageError(f"{asked.config}: there is no {name} in {asked.folder.resolve()}")
    if asked.place.instance_count > 1 and train.engine != "ray":
        raise UsageError(
            f"{asked.config}: the engine {train.engine} uses one machine, and the job would have "
            f"{asked.place.instance_count}: engine: ray"
        )


def size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


def resolved(asked: SubmitRequest) -> SageMakerConfig:
    """The place with what AWS's profile and STS know. Raises UsageError for what is missing."""
    from .aws import account, region

    return config.resolve(asked.place, NEEDED, region=region, account=account)


def dry_run(asked: SubmitRequest, now: datetime) -> dict[str, Any]:
    """The exact request that a submission would make, without the secrets of its environment.

    Nothing is changed anywhere. AWS's STS is asked for the account, where nothing else says it.
    """
    with prepared(asked) as found:
        where = resolved(asked)
        request: dict[str, Any] = redact(create_training_job(_job(asked, where, found, now), where))
        return request


def submit(
    asked: SubmitRequest, now: Callable[[], datetime], *, build: bool, push: bool
) -> tuple[Job, Aws]:
    """Submit a job, and add it to the folder's job log; also what AWS was asked through.

    Raises:
        UsageError: something is wrong or missing, a permission too; the message says what to do.
        StoreError: something cannot be read, or the job's line not written.
        LaunchError: AWS or the container engine did not do its part.
    """
    with prepared(asked) as found:
        where = resolved(asked)
        aws = Aws(where)
        job = _job(asked, where, found, now())
        job_log.check_writable(asked.folder)
        _check_account(aws)
        _image(asked, job, aws, build, push)
        _upload_source(aws, found.source)
        job = _created(asked, aws, found, now())
    texts = (
        *(job.name, str(asked.config), f"{where.instance_count} x {where.instance_type}"),
        *(job.image.rpartition("/")[2], job.source[:12], asked.description),
    )
    try:
        job_log.append(asked.folder, job_log.row(now(), texts))
    except InfiniteRLError as error:
        raise type(error)(f"the job {job.name} is submitted, but {error}") from None
    return job, aws


def _job(asked: SubmitRequest, where: SageMakerConfig, found: Prepared, now: datetime) -> Job:
    name = asked.name or default_name(now)
    return found.job(name, image.address(where, asked.tag or image.default_tag()))


def _refuse_secrets(path: Path, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if redact({key: value}) != {key: value}:
            raise UsageError(
                f"{path} holds a secret under {key!r}, which would lie in S3 for all who may read "
                "there: take it out; `environment` of launch.yaml gives a job its variables"
            )


def _check_account(aws: Aws) -> None:
    found = aws.call("sts", "get_caller_identity")["Account"]
    if found != aws.place.account:
        raise UsageError(
            f"these credentials are of the account {found}, and the job's is {aws.place.account}: "
            "take another AWS profile, or another account or role"
        )


def _image(asked: SubmitRequest, job: Job, aws: Aws, build: bool, push: bool) -> None:
    if (build or push) and asked.place.image:
        raise UsageError(
            "--build and --push make the image of the repository, and another image is named: "
            f"take `image` ({asked.place.image}) out"
        )
    if asked.tag and asked.place.image:
        raise UsageError("--image_tag is of the repository's image, and another image is named")
    if build or push:
        name = image.engine()
        if build:
            image.build(name, job.image, asked.folder)
        if push:
            image.push(name, job.image, aws)
    if not push and not asked.place.image:
        image.check_pushed(aws, asked.tag or image.default_tag())


def _upload_source(aws: Aws, found: Source) -> None:
    """Send the archive, where one of that content is not there already."""
    bucket, key = _bucket_and_key(f"{source_uri(aws.place, found.digest)}/{ARCHIVE}")
    there = aws.call("s3", "list_objects_v2", Bucket=bucket, Prefix=key, MaxKeys=1)
    if any(each["Key"] == key for each in there.get("Contents", ())):
        logger.info("the source is in S3 already")
        return
    logger.info("sending the source to s3://%s/%s", bucket, key)
    with found.path.open("rb") as file:
        aws.call("s3", "upload_fileobj", Fileobj=file, Bucket=bucket, Key=key)


def _created(asked: SubmitRequest, aws: Aws, found: Prepared, now: datetime) -> Job:
    """The job, made. Of its default name, the seconds count on where another has that name."""
    for later in range(_TRIES):
        job = _job(asked, aws.place, found, now + timedelta(seconds=later))
        try:
            with ExitStack() as undo:
                _claim(aws, job, found, undo, again=bool(asked.name))
                _create(aws, job, undo.pop_all())
                return job
        except _Taken:
            if asked.name:
                raise
    raise LaunchError(f"{_TRIES} others submit at this moment: run this again")


class _Taken(UsageError):
    """Another job has the name."""


def _claim(aws: Aws, job: Job, found: Prepared, undo: ExitStack, *, again: bool) -> None:
    """Write the configs, which gives the name to one submission; `undo` takes them away again.

    With `again`, a submission of the same content that was killed before it had made the job is
    gone on with.
    """
    token = uuid4().hex
    metadata = {"by": token, "source": job.source}
    for name, body in found.configs.items():
        bucket, key = _bucket_and_key(f"{config_uri(aws.place, job.name)}/{name}")
        target = {"Bucket": bucket, "Key": key}
        first = {"IfNoneMatch": "*"} if name == TRAIN else {}
        try:
            aws.call("s3", "put_object", **target, **first, Body=body, Metadata=metadata)
        except Refused as error:
            if error.code not in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise
            # A repeated call may find what it has itself written before.
            there = aws.call("s3", "head_object", **target).get("Metadata", {})
            if there.get("by") != token:
                where = f"s3://{bucket}/{key}"
                if not again or _exists(aws, job.name):
                    message = f"the name {job.name} is taken ({where}): choose another --job_name"
                    raise _Taken(message) from None
                if there.get("source") != job.source or _body(aws, target) != body:
                    raise _Taken(
                        f"the name {job.name} is held by a submission that made no job, with "
                        f"another config or source ({where}): remove that, or choose another "
                        "--job_name"
                    ) from None
                logger.info("going on with a submission of %s that made no job", job.name)
        undo.callback(_removed, aws, target)


def _exists(aws: Aws, name: str) -> bool:
    """Whether there is a job of that name."""
    try:
        status(aws, name)
    except NoJob:
        return False
    return True


def _body(aws: Aws, target: Mapping[str, str]) -> bytes:
    with aws.told("s3"):
        found: bytes = aws.call("s3", "get_object", **target)["Body"].read()
    return found


def _removed(aws: Aws, target: Mapping[str, str]) -> None:
    with suppress(InfiniteRLError):  # what went wrong before is told, and says more
        aws.call("s3", "delete_object", **target)


def _create(aws: Aws, job: Job, undo: ExitStack) -> None:
    """Make the job. What it needs is taken away again only where it surely was not made.

    Raises:
        InfiniteRLError: it was not made; or whether it was is not known, which the message says.
    """
    try:
        try:
            aws.call("sagemaker", "create_training_job", **create_training_job(job, aws.place))
        except Refused as error:
            if error.code not in ("ResourceInUse", "ResourceInUseException"):
                raise
            if not _is_ours(aws, job, error):
                message = f"the name {job.name} is taken: choose another --job_name"
                raise _Taken(message) from None
        except Unanswered as error:
            _is_ours(aws, job, error)
    except _NotKnown:
        raise
    except InfiniteRLError:
        undo.close()
        raise


class _NotKnown(LaunchError):
    """Whether there is a job now cannot be said."""


def _is_ours(aws: Aws, job: Job, error: LaunchError) -> bool:
    """Whether the job of that name is the one that the call made, whose answer may be lost.

    Raises:
        LaunchError: `error`, where there is no such job; or nobody knows.
    """
    try:
        found = status(aws, job.name)
    except NoJob:
        raise error from None
    except InfiniteRLError:
        raise _NotKnown(
            f"{error}. Whether the job was made is not known: infinite-rl jobs status {job.name}"
        ) from None
    told: dict[str, str] = create_training_job(job, aws.place)["HyperParameters"]
    return dict(found.told) == told


def _bucket_and_key(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key
