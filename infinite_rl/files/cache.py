"""The user's cache folder: compiled runtimes, and downloads."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`$INFINITE_RL_CACHE`, else the user's cache folder; created, private to the user.

    Raises:
        OSError: it cannot be created.
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
