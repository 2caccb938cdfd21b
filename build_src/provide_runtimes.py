"""Have the runtimes in the source tree, by the first way that works.

Each runtime that is not present with the right hash comes from the release that
`RUNTIME_RELEASE_TAG` names, if it is set; else from a local build; else from the newest
`runtimes-*` release. A release that was asked for by name is an error when it fails: somebody who
pins a release must not get anything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .fetch_runtimes import FetchError, Source, fetch, newest_release, release_tagged
from .runtime_files import FOLDER, ROOT, Runtime, is_present

Build = Callable[[Runtime], None]
Say = Callable[[str], None]

_WAYS_OUT = """\
Ways out:
  - let pip and npm reach their package indexes, and run: bash build_src/build_wasm.sh
  - use a release: RUNTIME_RELEASE_TAG=v<version> RUNTIME_GITHUB_REPO=<owner>/<name> pip install .
  - copy {files} (and any .sha256 file beside) from another machine into infinite_rl/runtimes/"""


class BuildError(Exception):
    """The local build of a runtime failed; its own output says why."""


class RuntimesUnavailable(Exception):
    """No way to a runtime worked; the message names each and the ways out."""


def provide(
    runtimes: Sequence[Runtime],
    environ: Mapping[str, str],
    say: Say,
    *,
    build: Build | None = None,
    folder: Path = FOLDER,
) -> None:
    """Have every runtime in the folder. Raises `RuntimesUnavailable`."""
    missing = [runtime for runtime in runtimes if not is_present(runtime, folder)]
    for runtime in runtimes:
        say(f"{runtime.filename}: {'not there yet' if runtime in missing else 'present'}")
    if not missing:
        return
    if tag := environ.get("RUNTIME_RELEASE_TAG"):
        say(f"fetching the release that RUNTIME_RELEASE_TAG names: {tag}")
        try:
            source = Source.from_environment(environ)
            fetch(missing, release_tagged(tag, source), source, folder)
        except FetchError as error:
            raise RuntimesUnavailable(f"RUNTIME_RELEASE_TAG={tag}: {error}") from error
        return
    failed = _build_each(missing, build or build_locally, say)
    if failed:
        _fetch_newest(failed, environ, say, folder)


def build_locally(runtime: Runtime) -> None:
    """Build one runtime from registry packages into the source tree. Raises `BuildError`."""
    script = ROOT / "build_src" / "build_wasm.sh"
    try:
        # In an isolated build it is this interpreter that has the build tools.
        environ = {**os.environ, "PYTHON": sys.executable}
        done = subprocess.run(["bash", str(script), runtime.name], env=environ)
    except FileNotFoundError:
        raise BuildError("there is no bash on this machine") from None
    if done.returncode:
        raise BuildError(f"build_wasm.sh {runtime.name} ended with status {done.returncode}")


def _build_each(runtimes: Sequence[Runtime], build: Build, say: Say) -> dict[Runtime, BuildError]:
    """Build the runtimes; return those that failed, and why."""
    failed = {}
    for runtime in runtimes:
        say(f"building {runtime.filename}")
        try:
            build(runtime)
        except BuildError as error:
            say(f"the build of {runtime.filename} failed: {error}")
            failed[runtime] = error
    return failed


def _fetch_newest(
    failed: Mapping[Runtime, BuildError], environ: Mapping[str, str], say: Say, folder: Path
) -> None:
    try:
        source = Source.from_environment(environ)
        release = newest_release(source)
        say(f"fetching release {release.tag} of {source.repo}")
        fetch(failed, release, source, folder)
    except FetchError as error:
        files = " and ".join(runtime.filename for runtime in failed)
        lines = [f"cannot provide {files}"]
        lines += [f"  {runtime.name}: {reason}" for runtime, reason in failed.items()]
        lines += [f"  newest release: {error}", _WAYS_OUT.format(files=files)]
        raise RuntimesUnavailable("\n".join(lines)) from error
