"""Where a job runs and what it may use: nothing of it is written into this package.

What a key is comes from the first of these that says it: a flag, the variable INFINITE_RL_<KEY>,
the file `launch.yaml` of the folder. After them a region comes from AWS's own variables and
profile, and an account from the role's ARN or from the credentials (STS).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from ..config import Config, Number, Strings, ranged, read_yaml
from ..errors import UsageError

FILE = "launch.yaml"
VARIABLE = "INFINITE_RL_"
_DAY_S = 24 * 60 * 60


class SageMakerConfig(Config):
    """Where jobs run, and what each of them gets.

    region           such as eu-west-1
    account          the number of the AWS account, of 12 digits
    role             the role that a job runs as: its ARN, or its name within the account
    bucket           of S3, for sources, checkpoints, traces and outputs
    prefix           the folder in the bucket under which all of them lie
    repository       of ECR, for the image
    image            another image's whole address, in place of the repository's
    instance_type    of each machine
    instance_count   machines
    volume_gb        disk of each machine, in GB
    max_days         after which a job is stopped
    environment      variables of the container
    tags             of the job
    inputs           more folders of S3 that the container finds in /opt/ml/input/data/<name>
    subnets          of a network of your own
    security_groups  of that network

    Raises:
        UsageError: a value of the wrong type, form or range; the message names the key.
    """

    region: str = ""
    account: str = ""
    role: str = ""
    bucket: str = ""
    prefix: str = "infinite-rl"
    repository: str = "infinite-rl"
    image: str = ""
    instance_type: str = "ml.p4de.24xlarge"
    instance_count: int = ranged(1, 1, 1000)
    volume_gb: int = ranged(200, 1)
    max_days: Number = ranged(5.0, 1 / 24, 28)  # the service's own limit
    environment: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    subnets: Strings = ()
    security_groups: Strings = ()

    def __post_init__(self) -> None:
        for name, (pattern, example) in _FORMS.items():
            value = getattr(self, name)
            if value and not re.fullmatch(pattern, value, re.ASCII):
                raise UsageError(f"{name} must be such as {example}, not {value!r}")
        for name in ("environment", "tags", "inputs"):
            _check_texts(name, getattr(self, name))
        if bool(self.subnets) != bool(self.security_groups):
            raise UsageError("subnets and security_groups go together: a network needs both")

    @property
    def partition(self) -> str:
        """The part of AWS that the region is in, as ARNs name it."""
        return next((name for start, name in _PARTITIONS if self.region.startswith(start)), "aws")

    @property
    def registry(self) -> str:
        """The host of the account's images."""
        end = ".cn" if self.partition == "aws-cn" else ""
        return f"{self.account}.dkr.ecr.{self.region}.amazonaws.com{end}"

    @property
    def role_arn(self) -> str:
        """The role's ARN."""
        if self.role.startswith("arn:"):
            return self.role
        return f"arn:{self.partition}:iam::{self.account}:role/{self.role}"

    def uri(self, *parts: str) -> str:
        """The address of something in the bucket."""
        return "/".join(("s3:/", self.bucket, *filter(None, (self.prefix, *parts))))

    @property
    def max_seconds(self) -> int:
        """`max_days` in seconds."""
        return int(self.max_days * _DAY_S)


_FORMS: Mapping[str, tuple[str, str]] = {
    "region": (r"[a-z]{2,4}(-[a-z]+)+-\d", "eu-west-1"),
    "account": (r"\d{12}", "123456789012"),
    "role": (r"(arn:aws[a-z-]*:iam::\d{12}:role/)?[\w+=,.@/-]+", "training or its ARN"),
    "bucket": (r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "my-bucket"),
    "prefix": (r"(?!\.\.?(/|$))[\w.=+@-]+(/(?!\.\.?(/|$))[\w.=+@-]+)*", "team/infinite-rl"),
    "repository": (r"[a-z0-9]+([._/-][a-z0-9]+)*", "infinite-rl"),
    "image": (r"[\w.:/@-]{1,255}", "HOST/NAME:TAG"),
    "instance_type": (r"ml\.[a-z0-9-]+\.[a-z0-9-]+", "ml.p4de.24xlarge"),
}
_PARTITIONS = (
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-isob-", "aws-iso-b"),
    ("us-iso-", "aws-iso"),
)
# What the service takes: names, and characters of a value (and which, for tags).
_TEXTS: Mapping[str, tuple[str, str]] = {
    "environment": (r"[a-zA-Z_]\w{0,511}", r"[^\0]{0,512}"),
    "tags": (r"[\w .:/=+@-]{1,128}", r"[\w .:/=+@-]{0,256}"),
    "inputs": (r"[\w.-]{1,64}", r"s3://[^/]+/?.{0,1000}"),
}
CONFIG_INPUT, SOURCE_INPUT = "config", "source"  # what every job's own files are found under
_MOST = {"environment": 80, "tags": 40, "inputs": 18}  # what is left of the service's limit


def _check_texts(key: str, given: Mapping[str, Any]) -> None:
    names, values = _TEXTS[key]
    if len(given) > _MOST[key]:
        raise UsageError(f"{key} holds {len(given)} values, of at most {_MOST[key]}")
    for name, value in given.items():
        if not isinstance(value, str):
            raise UsageError(f"{key}.{name} must be a text: put quotes around {value!r}")
        if not re.fullmatch(names, name, re.ASCII):
            raise UsageError(f"{key} cannot hold the name {name!r}")
        if not re.fullmatch(values, value):
            raise UsageError(f"{key}.{name} cannot be what it is: too long, or of another form")
        if key == "inputs" and name in (CONFIG_INPUT, SOURCE_INPUT):
            raise UsageError(f"inputs.{name}: every job has an input of that name already")


def read(folder: Path, flags: Mapping[str, Any], file: Path | None = None) -> SageMakerConfig:
    """What flags, variables and a file say; `resolve` adds what AWS knows.

    Raises:
        UsageError: a key is not known, a value cannot be, or `file` is not there.
        StoreError: the file cannot be read.
    """
    path = file or folder / FILE
    told: dict[str, Any] = {}
    if file or path.exists():
        SageMakerConfig.read(path)
        told = read_yaml(path)
    for key, kind in SageMakerConfig.kinds().items():
        if kind is str and (value := os.environ.get(VARIABLE + key.upper(), "").strip()):
            told[key] = value
    told |= {key: value for key, value in flags.items() if value not in (None, "")}
    return SageMakerConfig(**told)


def resolve(
    place: SageMakerConfig,
    needed: Sequence[str],
    *,
    region: Callable[[], str] = str,
    account: Callable[[SageMakerConfig], str] = lambda _: "",
) -> SageMakerConfig:
    """The place with all that is needed; `region` and `account` are asked for what is missing.

    Raises:
        UsageError: something is missing still; the message says how to give each.
    """
    if not place.region:
        own = (os.environ.get(name, "") for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
        place = replace(place, region=next(filter(None, own), "") or region())
    if not place.account and place.role.startswith("arn:"):
        place = replace(place, account=place.role.split(":")[4])
    missing = [key for key in needed if not getattr(place, key) and key != "account"]
    if "account" in needed and not place.account and not missing:
        place = replace(place, account=account(place))
    if missing := missing or [key for key in needed if not getattr(place, key)]:
        raise UsageError("; ".join(map(_how_to_give, missing)))
    return place


def _how_to_give(key: str) -> str:
    also = {
        "region": ", or as AWS_REGION, or in your AWS profile",
        "account": ", or with credentials that AWS's STS knows, or with a role's whole ARN",
    }
    return (
        f"the {key} is missing ({SageMakerConfig.explained()[key]}): give it as --{key}, as "
        f"the variable {VARIABLE}{key.upper()}, or as `{key}:` in {FILE}{also.get(key, '')}"
    )
