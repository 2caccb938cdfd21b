"""The same entry point on this machine, in a folder that is laid out as a container's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import StoreError, UsageError
from .config import CONFIG_INPUT, SOURCE_INPUT
from .names import check_name, default_name
from .request import MODULE, arguments, hyperparameters
from .source import ARCHIVE
from .submit import Prepared, SubmitRequest, prepared

FOLDER = Path("artifacts") / "jobs"
_HOST = "127.0.0.1"


def run(asked: SubmitRequest, gpus: Sequence[str], now: datetime) -> tuple[Path, int]:
    """Run a job here; its folder, and the exit code of its program.

    Raises:
        UsageError: a config is wrong, or there is a job of that name.
        StoreError: the job's folder cannot be written.
    """
    name = check_name(asked.name or default_name(now))
    base = (asked.folder / FOLDER / name).absolute()
    with prepared(asked) as found:
        _lay_out(base, name, found)
    words = [sys.executable, "-m", MODULE, *arguments(str(base / "input"), str(base / "work"))]
    return base, _run(words, base, {**os.environ, **environment(asked, name, base, gpus)})


def check_gpus(text: str) -> list[str]:
    """The numbers of `--gpus`. Raises UsageError."""
    found = text.split(",") if text else []
    if not all(each.isdecimal() for each in found) or len(set(found)) < len(found):
        raise UsageError(f"--gpus is numbers of GPUs such as 0,1, not {text!r}")
    return found


def environment(asked: SubmitRequest, name: str, base: Path, gpus: Sequence[str]) -> dict[str, str]:
    """The variables that a container has, for one host with these GPUs, or with all of them."""
    own = str(Path(__file__).parents[2])  # where this package is found, wherever the program is
    seen = {"SM_NUM_GPUS": str(len(gpus)), "CUDA_VISIBLE_DEVICES": ",".join(gpus)}
    return {
        **{key: str(value) for key, value in asked.place.environment.items()},
        "TRAINING_JOB_NAME": name,
        "SAGEMAKER_BASE_DIR": str(base),
        "SM_HOSTS": json.dumps([_HOST]),
        "SM_CURRENT_HOST": _HOST,
        **(seen if gpus else {}),
        "PYTHONPATH": os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH")))),
    }


def _lay_out(base: Path, name: str, found: Prepared) -> None:
    """The job's folder, with all that SageMaker would put into /opt/ml."""
    checkpoints, traces = base / "checkpoints", base / "traces"
    places = (f"file://{place}/" for place in (checkpoints, traces))  # published to, as in S3
    told = hyperparameters(found.job(name, "local"), *places)
    hosts = {"current_host": _HOST, "hosts": [_HOST], "network_interface_name": "lo"}
    try:
        try:
            base.mkdir(parents=True)
        except FileExistsError:
            message = f"there is a job {name} in {base.parent}: choose another --job_name"
            raise UsageError(message) from None
        _write(base / "input" / "config" / "hyperparameters.json", told)
        _write(base / "input" / "config" / "resourceconfig.json", hosts)
        data = base / "input" / "data"
        inputs = data / CONFIG_INPUT, data / SOURCE_INPUT
        for folder in (*inputs, checkpoints, traces, base / "output", base / "model"):
            folder.mkdir(parents=True)
        for file, body in found.configs.items():
            (data / CONFIG_INPUT / file).write_bytes(body)
        shutil.copyfile(found.source.path, data / SOURCE_INPUT / ARCHIVE)
    except OSError as error:
        raise StoreError(f"cannot write {base}: {error.strerror or error}") from None


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _run(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
    """A program's exit code. It gets the signals that this process gets, and ends by itself."""
    process = subprocess.Popen(words, cwd=folder, env=dict(environ))

    def pass_on(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 -- signal's own form
        process.send_signal(number)

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        while True:
            try:
                code = process.wait()
                return code if code >= 0 else 128 - code
            except KeyboardInterrupt:  # a terminal has sent it to the program as well
                continue
    finally:
        signal.signal(signal.SIGTERM, before)
