"""The two relations that a count can be asked to have to a number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

Relation: TypeAlias = Callable[[int, int], bool]

RELATIONS: Mapping[str, Relation] = {"less than": operator.lt, "at least": operator.ge}
