"""The native rewards as each trainer calls them, one file a host (docs/adapters.md).

Modules that a host loads by its path import the package by its name: they have no parent then.
"""

from __future__ import annotations

from .rubric import for_rubric
from .trl import for_trl

__all__ = ["for_rubric", "for_trl"]
