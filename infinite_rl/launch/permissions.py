"""The IAM permissions that jobs need, and what to do about one that is missing.

AWS names a missing permission in a sentence:
    User: arn:... is not authorized to perform: iam:PassRole on resource: arn:... because no
    identity-based policy allows the iam:PassRole action
S3 may only say "Access Denied"; the operation then shows which permission it needs.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..storage.s3 import PERMISSIONS
from .config import SageMakerConfig

_TABLE = Path(__file__).with_name("permissions.txt").read_text(encoding="utf-8").splitlines()
_SENTENCE = re.compile(
    r"not authorized to perform: ([\w-]+:\w+)(?: on resource: \"?([^\s\"]+)\"?)?"
)


def explain(service: str, operation: str, message: str, config: SageMakerConfig) -> str:
    """Say in one line which permission is missing, with the policy statement that grants it."""
    match = _SENTENCE.search(message)
    action = match[1] if match else f"{service}:{PERMISSIONS.get(operation, operation)}"
    resource = match[2] if match else None
    if "explicit deny" in message:
        return (
            f"AWS forbids {action}{f' on {resource}' if resource else ''} by an explicit deny, "
            "which no further statement lifts: ask the administrator of your organisation"
        )
    granted = json.dumps(statement(action, config, resource))
    return f"the permission {action} is missing. Add this statement to your IAM policy: {granted}"


def statement(action: str, config: SageMakerConfig, resource: str | None = None) -> dict[str, Any]:
    """The policy statement that grants an action, as narrow as this package needs it."""
    needed = _resources(config).get(action)
    allow: dict[str, Any] = {"Effect": "Allow", "Action": action}
    if action != "iam:PassRole":
        return {**allow, "Resource": needed or resource or "*"}
    condition = {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    return {**allow, "Resource": resource or needed, "Condition": condition}


def policy(config: SageMakerConfig) -> dict[str, Any]:
    """The policy of a user who submits, watches and stops jobs, and builds and pushes images."""
    actions: dict[str, list[str]] = {}
    for action, resource in _resources(config).items():
        if action != "iam:PassRole":
            actions.setdefault(resource, []).append(action)
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": names, "Resource": resource}
        for resource, names in actions.items()
    ]
    return {"Version": "2012-10-17", "Statement": [*statements, statement("iam:PassRole", config)]}


def _resources(config: SageMakerConfig) -> Mapping[str, str]:
    """The resource of each action that this package needs."""
    keys = ("partition", "region", "account", "bucket", "prefix", "repository")
    values = {key: getattr(config, key) or "*" for key in keys}
    rows = (line.partition(" | ") for line in _TABLE if not line.startswith("#"))
    has_arn = config.role and (config.account or ":" in config.role)
    return {
        action: resource.format(**values) for resource, _, names in rows for action in names.split()
    } | {"iam:PassRole": config.role_arn if has_arn else "*"}
