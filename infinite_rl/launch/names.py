"""What a training job may be called."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from ..errors import UsageError

# CreateTrainingJob's own pattern. Each of its 62 repeats may hold hyphens beside its letter, so it
# admits longer names than the service does: the length is checked on its own.
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
_LONGEST = 63
_DEFAULT = "annotations-adhoc-%Y%m%d-%H%M%S"  # says nothing of what is trained


def default_name(now: datetime) -> str:
    """The name of a job that is submitted at this moment, in UTC."""
    return now.astimezone(timezone.utc).strftime(_DEFAULT)


def check_name(name: str) -> str:
    """The name, if a training job may have it. Raises UsageError, which says what is wrong."""
    if len(name) > _LONGEST:
        raise UsageError(
            f"a job's name has at most {_LONGEST} characters, and {name!r} has {len(name)}"
        )
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a job's name is letters (a-z, A-Z), digits and hyphens, and a letter or a digit at "
            f"both ends, not {name!r}"
        )
    return name
