"""A virtual environment that has a hub's package, which would clash with those of other hubs."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(folder: Path, *requirements: str, python: str = sys.executable) -> Path:
    """Make an environment; return the folder of its programs."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    programs = folder / "bin"
    subprocess.run([programs / "pip", "install", "-q", *requirements], check=True)
    return programs


def install(folder: Path, *requirements: str) -> Path:
    """Make an environment that has this package, too; return the folder of its programs."""
    programs = environment(folder, *requirements)
    (site,) = folder.glob("lib/python*/site-packages")
    paths = [str(ROOT), sysconfig.get_path("purelib")]  # the hub's own libraries come first
    (site / "infinite_rl.pth").write_text("\n".join(paths))
    return programs


def run(programs: Path, *words: object, cwd: Path, timeout: float | None = 600, **more: str) -> str:
    """The output of a hub's program; `more` are variables of its environment."""
    done = subprocess.run(
        [programs / str(words[0]), *map(str, words[1:])],
        cwd=cwd,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", **more},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
