"""The build hook that has the WebAssembly runtimes in place; all else stands in pyproject.toml."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# Neither the package nor its build scripts are installed yet, and pip does not add this folder.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from build_src.provide_runtimes import RuntimesUnavailable, provide  # noqa: E402  after sys.path
from infinite_rl.runtimes import RUNTIMES  # noqa: E402  after sys.path


class BuildWithRuntimes(build_py):
    """`build_py` that first has the runtimes in the source tree, where package data is found."""

    def run(self) -> None:
        # A release has all runtimes; others build an optional one if it is named.
        wanted = os.environ.get("INFINITE_RL_RUNTIMES", "").replace(",", " ").split()
        has_all = "RUNTIME_RELEASE_TAG" in os.environ
        built = [each for each in RUNTIMES if each.is_built]
        usual = [each for each in built if has_all or each.name in wanted or not each.install]
        try:
            provide(usual, os.environ, _say)
        except RuntimesUnavailable as error:
            # Not an Exception: setuptools takes those for a warning in an editable install.
            raise SystemExit(f"error: {error}") from None
        super().run()
        if not self.editable_mode:  # an editable install finds them where they are
            self._copy_inside()

    def _copy_inside(self) -> None:
        """Put what runs inside the scientific runtime into the wheel, as texts."""
        root = Path(__file__).resolve().parent / "build_src" / "python"
        folder = Path(self.build_lib, "infinite_rl", "sandbox", "scientific", "inside")
        folder.mkdir(parents=True, exist_ok=True)
        paths = [*(root / "guest").glob("*.py"), root / "immortal.py"]
        for path in (*paths, *(root / "scientific").glob("*.py")):  # whose `library` replaces one
            (folder / path.name).write_bytes(path.read_bytes())


def _say(line: str) -> None:
    sys.stderr.write(f"runtimes: {line}\n")
    sys.stderr.flush()


setup(cmdclass={"build_py": BuildWithRuntimes})
