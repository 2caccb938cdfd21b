"""The exact request for a training job, and what its container finds.

    /opt/ml/input/config/hyperparameters.json  the settings below
    /opt/ml/input/data/config/                 train.yaml, and eval.yaml where there is one
    /opt/ml/input/data/source/source.tar.gz    the folder that the job runs in

    setting      says
    config       the name of the training config in the input `config`
    eval_config  that of the evaluation's config; missing where there is none
    checkpoint_uri  where checkpoints go as they are made, and from where a job goes on
    trace_uri    where events and rollouts go

The settings are texts. Checkpoints are copied by the run itself, which knows when one is whole, and
not by SageMaker's own copying of a folder, which does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .config import CONFIG_INPUT, SOURCE_INPUT, SageMakerConfig
from .names import check_name

TRAIN, EVAL = "train.yaml", "eval.yaml"
MODULE = "infinite_rl.launch.container"
INPUT, WORK = "/opt/ml/input", "/opt/ml/work"
_LONGEST_IMAGE = 255


@dataclass(frozen=True)
class Job:
    """One job: its name, its image, its source's content, and whether it is evaluated.

    `checkpoint_uri` and `trace_uri` come from its config; "" is the job's own prefix in the bucket.
    """

    name: str
    image: str
    source: str
    evaluated: bool = False
    checkpoint_uri: str = ""
    trace_uri: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.image) > _LONGEST_IMAGE:
            raise UsageError(f"an image's address has at most {_LONGEST_IMAGE} characters")


def config_uri(place: SageMakerConfig, name: str) -> str:
    """The folder of S3 that a job's configs lie in. Who writes there first has the name."""
    return place.uri("jobs", name, "config")


def source_uri(place: SageMakerConfig, digest: str) -> str:
    """The folder of S3 that a source lies in; jobs of one source share it."""
    return place.uri("sources", digest)


def hyperparameters(job: Job, checkpoint_uri: str, trace_uri: str) -> dict[str, str]:
    """What the container is told, with the job's own places: see the top of this file."""
    found = {"config": TRAIN}
    found["checkpoint_uri"] = job.checkpoint_uri or checkpoint_uri
    found["trace_uri"] = job.trace_uri or trace_uri
    return {**found, "eval_config": EVAL} if job.evaluated else found


def arguments(folder: str, work: str) -> list[str]:
    """The words of the container's program: where its input is, and where it works."""
    return ["--input", folder, "--work", work]


def create_training_job(job: Job, place: SageMakerConfig) -> dict[str, Any]:
    """The arguments of boto3's `create_training_job`; a pure function of both.

    `place` must be resolved: with an account, a role, a bucket and a region.
    """
    inputs = {
        CONFIG_INPUT: config_uri(place, job.name) + "/",
        SOURCE_INPUT: source_uri(place, job.source) + "/",
        **place.inputs,
    }
    request: dict[str, Any] = {
        "TrainingJobName": job.name,
        "AlgorithmSpecification": {
            "TrainingImage": job.image,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-m", MODULE],
            "ContainerArguments": arguments(INPUT, WORK),
        },
        "RoleArn": place.role_arn,
        "InputDataConfig": [_channel(name, uri) for name, uri in inputs.items()],
        "OutputDataConfig": {"S3OutputPath": place.uri("outputs") + "/"},
        "ResourceConfig": {
            "InstanceType": place.instance_type,
            "InstanceCount": place.instance_count,
            "VolumeSizeInGB": place.volume_gb,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": place.max_seconds},
        "HyperParameters": hyperparameters(
            job, place.uri("checkpoints", job.name) + "/", place.uri("traces", job.name) + "/"
        ),
        "Environment": dict(place.environment),
        "Tags": [{"Key": key, "Value": value} for key, value in tags(place).items()],
    }
    if place.subnets:
        network = {"Subnets": place.subnets, "SecurityGroupIds": place.security_groups}
        request["VpcConfig"] = {key: list(names) for key, names in network.items()}
    return request


def tags(place: SageMakerConfig) -> Mapping[str, str]:
    """The tags of all that is made for a job."""
    return {"application": "infinite-rl", **place.tags}


def _channel(name: str, uri: str) -> dict[str, Any]:
    where = {
        "S3DataType": "S3Prefix",
        "S3Uri": uri,
        "S3DataDistributionType": "FullyReplicated",  # every machine gets all of it
    }
    return {"ChannelName": name, "DataSource": {"S3DataSource": where}, "InputMode": "File"}
