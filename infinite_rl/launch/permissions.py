"""Permissions: those that a user of this package needs, and the one that was missing.

AWS says what it forbids in words. They are read here, as in
    User: arn:... is not authorized to perform: iam:PassRole on resource: arn:... because no
    identity-based policy allows the iam:PassRole action
S3 may say "Access Denied" alone; then the operation tells which permission it needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .config import SageMakerConfig

_SAID = re.compile(r"not authorized to perform: ([\w-]+:\w+)(?: on resource: \"?([^\s\"]+)\"?)?")
_OPERATIONS: Mapping[str, str] = {
    "HeadObject": "s3:GetObject",
    "ListObjectsV2": "s3:ListBucket",
    "HeadBucket": "s3:ListBucket",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "FilterLogEvents": "logs:FilterLogEvents",
}


def explain(service: str, operation: str, message: str, place: SageMakerConfig) -> str:
    """What is missing, and the statement of a policy that grants it, in one line."""
    found = _SAID.search(message)
    action = found[1] if found else _OPERATIONS.get(operation, f"{service}:{operation}")
    resource = found[2] if found and found[2] else None
    if "explicit deny" in message:
        return (
            f"AWS forbids {action}{f' on {resource}' if resource else ''} by an explicit deny, "
            "which no further statement lifts: ask who keeps your organisation's policies"
        )
    granted = json.dumps(statement(action, place, resource))
    return f"the permission {action} is missing. Add this statement to your IAM policy: {granted}"


def statement(action: str, place: SageMakerConfig, resource: str | None = None) -> dict[str, Any]:
    """The statement of a policy that grants an action, as narrow as this package needs it."""
    known = _resources(place).get(action)
    found: dict[str, Any] = {"Effect": "Allow", "Action": action}
    found["Resource"] = known or resource or "*"
    if action == "iam:PassRole":
        found["Resource"] = resource or found["Resource"]
        passed = {"iam:PassedToService": "sagemaker.amazonaws.com"}
        found["Condition"] = {"StringEquals": passed}
    return found


def policy(place: SageMakerConfig) -> dict[str, Any]:
    """All that a user needs to submit, watch and stop jobs, and to build and push images."""
    grouped: dict[str, list[str]] = {}
    for action, resource in _resources(place).items():
        if action != "iam:PassRole":
            grouped.setdefault(resource, []).append(action)
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": actions, "Resource": resource}
        for resource, actions in grouped.items()
    ]
    return {
        "Version": "2012-10-17",
        "Statement": [*statements, statement("iam:PassRole", place)],
    }


def _resources(place: SageMakerConfig) -> Mapping[str, str]:
    """What each action that this package takes is taken on."""
    region, account = place.region or "*", place.account or "*"
    arn = f"arn:{place.partition}"
    bucket = f"{arn}:s3:::{place.bucket or '*'}"
    jobs = f"{arn}:sagemaker:{region}:{account}:training-job/*"
    repository = f"{arn}:ecr:{region}:{account}:repository/{place.repository}"
    logs = f"{arn}:logs:{region}:{account}:log-group:/aws/sagemaker/TrainingJobs:*"
    names = {
        jobs: "sagemaker:CreateTrainingJob sagemaker:AddTags sagemaker:DescribeTrainingJob "
        "sagemaker:StopTrainingJob",
        "*": "sagemaker:ListTrainingJobs ecr:GetAuthorizationToken",
        f"{bucket}/{place.prefix}/*": "s3:GetObject s3:PutObject s3:DeleteObject "
        "s3:AbortMultipartUpload",
        bucket: "s3:ListBucket",
        repository: "ecr:DescribeRepositories ecr:CreateRepository ecr:TagResource "
        "ecr:DescribeImages ecr:BatchCheckLayerAvailability ecr:InitiateLayerUpload "
        "ecr:UploadLayerPart ecr:CompleteLayerUpload ecr:PutImage ecr:BatchGetImage "
        "ecr:GetDownloadUrlForLayer",
        logs: "logs:FilterLogEvents",
    }
    found = {action: resource for resource, text in names.items() for action in text.split()}
    role = place.role_arn if place.role and (place.account or ":" in place.role) else "*"
    return {**found, "iam:PassRole": role}
