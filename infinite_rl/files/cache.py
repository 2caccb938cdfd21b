"""The folder of this user's cache: compiled runtimes, and what was fetched from elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`$INFINITE_RL_CACHE`, else the user's cache folder; made for the user alone if it is missing.

    Raises:
        OSError: it cannot be made.
        RuntimeError: there is no home directory.
    """
    if chosen := os.environ.get("INFINITE_RL_CACHE"):
        folder = Path(chosen)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches" / "infinite_rl"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "infinite_rl"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
