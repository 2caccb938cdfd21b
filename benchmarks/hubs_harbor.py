"""An environment of Harbor without Docker: a mount namespace over this machine's files.

Linux only; an overlay takes what a command writes outside the environment's folders, and goes with
the command. The `python` of a task is the one that runs Harbor. This isolates nothing from an
agent that means harm: it serves Harbor's oracle and nop agents alone.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult

FOLDERS = ("tests", "solution", "logs", "app")
_OVERLAY = """set -e
mkdir -p {root}/overlay
mount -t tmpfs none {root}/overlay
mkdir {root}/overlay/upper {root}/overlay/work {root}/overlay/all
M={root}/overlay/all
mount -t overlay overlay -o lowerdir=/,upperdir={root}/overlay/upper,workdir={root}/overlay/work $M
mount --rbind /dev $M/dev
mount --rbind /proc $M/proc
for each in {folders}; do mkdir -p $M/$each; mount --bind {root}/$each $M/$each; done
exec chroot $M /bin/bash -c {command}
"""


class LocalEnvironment(BaseEnvironment):  # type: ignore[misc] # Harbor is in its own environment
    """A folder whose parts are mounted at the root for each command."""

    @staticmethod
    def type() -> str:
        """The name of this kind of environment."""
        return "local"

    def _validate_definition(self) -> None:
        """Any Dockerfile will do: it is not built."""

    async def start(self, force_build: bool) -> None:  # noqa: ARG002 -- Harbor's signature
        """Make the folder."""
        self.root = Path(tempfile.mkdtemp(prefix="harbor-"))
        for name in (*FOLDERS, "logs/verifier", "logs/agent", "logs/artifacts"):
            (self.root / name).mkdir(exist_ok=True)

    async def stop(self, delete: bool) -> None:  # noqa: ARG002 -- Harbor's signature
        """Remove the folder."""
        shutil.rmtree(self.root, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in."""
        self._at(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._at(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder in."""
        shutil.copytree(source_dir, self._at(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out."""
        shutil.copy(self._at(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder out."""
        shutil.copytree(self._at(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,  # noqa: ARG002 -- the trial's own deadline holds
        user: str | int | None = None,  # noqa: ARG002 -- all are root
        **_: Any,
    ) -> ExecResult:
        """Run a command with the folder's parts at the root."""
        exports = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **(env or {})}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
        lines += [f"cd {shlex.quote(cwd or '/app')}", command]
        script = _OVERLAY.format(
            root=self.root, folders=" ".join(FOLDERS), command=shlex.quote("\n".join(lines))
        )
        process = await asyncio.create_subprocess_exec(
            *("unshare", "--mount", "bash", "-c", script),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode or 0,
        )

    def _at(self, path: str) -> Path:
        return self.root / str(path).lstrip("/")
