"""Virtual environments of hubs, each with one package that would clash with the others."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def environment(folder: Path, python: str, *requirements: str) -> Path:
    """The interpreter of a new environment; skips the test where it cannot be made."""
    interpreter = shutil.which(python)
    if not interpreter or subprocess.run([interpreter, "--version"]).returncode:
        pytest.skip(f"there is no {python}")
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin" / "pip", "install", "-q", *requirements])
    if done.returncode:
        pytest.skip(f"{', '.join(requirements)} cannot be installed")
    return folder / "bin" / "python"


NEWER = f"python3.{max(12, sys.version_info.minor)}"
