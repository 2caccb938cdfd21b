"""The program of a job's container, on each of its hosts: fetch the inputs, start Ray, train.

    python -m infinite_rl.launch.container CONFIG [--temp_dir PATH] [--KEY VALUE ...]

Without CONFIG it runs the job that `submit` has created, whose input `request` describes: it
unpacks the source, and runs the config in it. If the source holds this package, that copy runs.

`hosts` tells the hosts of the run's end; `ray_job` starts Ray over them. Each host fetches the
model before it joins, so that every worker of Ray finds it on its disk.
"""

import argparse
import gzip
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from ..config import flag_values, read_yaml
from ..dataset.rows import read
from ..errors import InfiniteRLError, StoreError, UsageError
from ..evaluation.checkpoints import LINES, runs_at
from ..redact import printable, redact
from ..storage import Transfer, fetch
from ..training.runs.config import TrainingConfig
from . import ray_job
from .config import CONFIG_INPUT, SOURCE_INPUT
from .hosts import HostRendezvous, Hosts, WorkerHost, exit_code, read_json
from .inputs import fetch_inputs
from .ray_job import ray_arguments, run_training
from .request import INPUT, TRAIN
from .resumable_run import ResumableRun
from .source import ARCHIVE

logger = logging.getLogger("infinite_rl.launch.container")  # also when this is __main__

EVALUATION = "evaluation"  # the folder below `trace_uri` that its results are published to
_PROGRAM = (sys.executable, "-m", "infinite_rl")
_TERMINATED, _INTERRUPTED = 128 + signal.SIGTERM, 130
_LATE_S = 60.0  # for a host to connect after the head has failed


@dataclass(frozen=True)
class Evaluation:
    """The evaluation beside a training: its command, the checkpoints' URI, its output folder."""

    command: Sequence[str]
    checkpoint_uri: str
    out: Path

    def missing(self) -> list[str]:
        """The published checkpoints that are not evaluated. Raises InfiniteRLError."""
        lines = self.out / LINES
        done = {record["step"] for record in read(lines)} if lines.is_file() else set()
        runs = runs_at(self.checkpoint_uri).values()
        return [each.name for run in runs for each in run if each.step not in done]


@dataclass(frozen=True)
class JobPlan:
    """What a host has to run, as `processes`; `train` is empty if the training has ended before."""

    engine: str
    train: Sequence[str]
    processes: int
    evaluation: Evaluation | None = None


def run(args: argparse.Namespace) -> int:
    """Run this host's part of the job, and return the exit code."""
    hosts = Hosts.detect(os.environ, args.input / "config" / "resourceconfig.json")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.work or temporary).resolve()
        return (_lead if hosts.is_head else _follow)(args, hosts, folder)


def _lead(args: argparse.Namespace, hosts: Hosts, folder: Path) -> int:
    """Run the head. Its rendezvous opens first, so that the others hear of any failure."""
    late_s = min(args.wait, _LATE_S)
    with ExitStack() as opened:
        rendezvous = None
        if len(hosts.names) > 1:
            rendezvous = opened.enter_context(HostRendezvous(hosts, args.port, late_s))
        plan = _plan(args, hosts, folder, Event())
        wait_for_evaluation = opened.enter_context(_beside(plan.evaluation, args.eval_wait))
        if plan.train and plan.engine == "ray":
            options = ray_arguments(hosts, args.temp_dir, plan.processes)
            code = ray_job.lead(hosts, options, plan.train, rendezvous, args.wait)
        else:
            code = run_training(plan.train) if plan.train else 0
        if rendezvous:
            rendezvous.end(code, wait_s=late_s)
        if code == 0:
            wait_for_evaluation()
        return code


class _HeadFailed(InfiniteRLError):
    """The head has ended by an error."""

    def __init__(self, worker: WorkerHost, code: int) -> None:
        super().__init__(f"the head has ended: {worker.reason}")
        self.code = code


def _follow(args: argparse.Namespace, hosts: Hosts, folder: Path) -> int:
    """Run another host, which ends at once if the head does.

    Raises:
        _HeadFailed: the head has ended by an error.
    """
    with closing(WorkerHost(hosts, args.port, args.wait)) as worker:
        try:
            plan = _plan(args, hosts, folder, worker.over)
            code = ray_job.follow(ray_arguments(hosts, args.temp_dir, plan.processes), worker)
        except InfiniteRLError:
            if (ended := worker.ended(0)) is None:
                raise
            code = ended
        if worker.reason:
            raise _HeadFailed(worker, code)
        return code


# --- what is run ---------------------------------------------------------------------------------


def _plan(args: argparse.Namespace, hosts: Hosts, folder: Path, stop: Event) -> JobPlan:
    """Fetch all inputs, and return what to run; `stop` interrupts a download.

    Raises:
        UsageError: the config is wrong, or an input does not exist.
        StoreError: a download is incomplete.
        Interrupted: it was stopped.
    """
    values, eval_config = _read_config(args, folder)
    values = fetch_inputs(values, args.mirror, Transfer(stop=stop))
    config = TrainingConfig.of(values)
    if config.engine != "ray" and len(hosts.names) > 1:
        raise UsageError(
            f"the engine {config.engine} uses one host, and the job has {len(hosts.names)}: "
            "set engine: ray"
        )
    file = folder / "train.json"  # JSON is YAML
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values, indent=2), encoding="utf-8")
    train = [*_PROGRAM, "train", config.algorithm, str(file)]
    if hosts.is_head and (published := ResumableRun.find(config)):  # others need no run folder
        name, step, uri = published.name, published.newest.step, published.newest.location
        if published.ended:
            published.check(config)
            logger.info(
                "the run %s has ended with step %d (%s) and is not trained again; for another run "
                "set another `checkpoint_uri`",
                *(name, step, uri),
            )
            train = []
        else:
            logger.info("the run %s resumes from step %d (%s)", name, step, uri)
            train += ["--resume", str(published.fetch(config))]
    processes = 1 + config.rollout_workers + config.reward_workers
    out = args.input.parent / "output" / "data" / "evaluation"
    evaluation = _evaluation(config, eval_config, out) if eval_config else None
    return JobPlan(config.engine, train, processes, evaluation)


def _read_config(args: argparse.Namespace, folder: Path) -> tuple[dict[str, Any], Path | None]:
    """Unpack the source; return the training config's checked values, and the evaluation config.

    Raises:
        UsageError: the config is wrong.
        StoreError: the source cannot be unpacked.
    """
    hyperparameters: dict[str, Any] = {}
    configs = args.input / "data" / CONFIG_INPUT
    if args.config:
        path = fetch(args.config)
    else:
        file = args.input / "config" / "hyperparameters.json"
        if not file.is_file():
            raise UsageError(f"there is no job here: {file} is missing; name a CONFIG")
        hyperparameters = read_json(file)
        archive = args.input / "data" / SOURCE_INPUT / ARCHIVE
        if archive.is_file():
            unpack(archive, folder / "source")
        path = configs / str(hyperparameters.get("config", TRAIN))
    uris = {key: hyperparameters.get(key) for key in ("checkpoint_uri", "trace_uri")}
    try:
        values = {key: uri for key, uri in uris.items() if uri} | read_yaml(path)
        values |= flag_values(vars(args), TrainingConfig)
        TrainingConfig.of(values)  # before hours of downloads
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    eval_config = hyperparameters.get("eval_config")
    return values, configs / str(eval_config) if eval_config else None


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a job's source, and make it the working directory."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(archive) as content, tarfile.open(fileobj=content) as source:
            source.extractall(folder, filter="data")
            while content.read(1 << 20):  # the checksum comes last
                pass
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise StoreError(f"{archive} cannot be unpacked into {folder}: {error}") from None
    runtimes = folder / "infinite_rl" / "runtimes"
    for runtime in (Path(__file__).parents[1] / "runtimes").glob("*.wasm*"):
        if runtimes.is_dir() and not (runtimes / runtime.name).exists():
            shutil.copy(runtime, runtimes)  # git does not hold them, so a checkout lacks them
    os.chdir(folder)


# --- the evaluation beside the training ----------------------------------------------------------


def _evaluation(config: TrainingConfig, eval_config: Path, out: Path) -> Evaluation:
    uri = config.checkpoint_uri
    if ":" not in uri:  # `evaluate` would take a path that does not exist yet for a run's folder
        uri = Path(uri).absolute().as_uri() + "/"
    command = [*_PROGRAM, "evaluate", str(eval_config), "--watch", uri, "--out", str(out)]
    if uri.startswith("file:"):  # a local folder is read without a request
        command += ["--every", "1"]
    if config.trace_uri:
        command += ["--publish", f"{config.trace_uri.rstrip('/')}/{EVALUATION}/"]
    return Evaluation(command, uri, out)


@contextmanager
def _beside(evaluation: Evaluation | None, wait_s: float) -> Iterator[Callable[[], None]]:
    """Evaluate during the training; yield a function that waits for the last checkpoint.

    It waits `wait_s` at most. A failed evaluation is logged, and does not fail the training.
    """
    if not evaluation:
        yield lambda: None
        return
    process = subprocess.Popen(evaluation.command)

    def wait() -> None:
        try:
            status = f"the evaluation ended with exit code {process.wait(wait_s)}"
        except subprocess.TimeoutExpired:
            ray_job.end_process(process, signal.SIGINT)
            status = f"the evaluation was stopped {wait_s:g} seconds after the training"
        try:
            missing = evaluation.missing()
        except InfiniteRLError as error:
            missing = [f"unknown: {error}"]
        if missing:
            logger.warning(
                "%s; not evaluated: %s. To do so, run `infinite-rl evaluate CONFIG --watch %s`",
                *(status, ", ".join(missing), evaluation.checkpoint_uri),
            )
        else:
            logger.info("%s", status)

    try:
        yield wait
    finally:
        ray_job.end_process(process, signal.SIGINT)


# --- the command line ----------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The parser of the program's command line."""
    program = argparse.ArgumentParser(
        prog="python -m infinite_rl.launch.container",
        description="Run a training config on all hosts of a job: start Ray over them, fetch the "
        "model and the data, train, and end with the exit code of the training on every host.",
        allow_abbrev=False,
    )
    program.add_argument("config", nargs="?", help="a YAML file; without it the input of a job")
    # fmt: off
    for flag, default, text in (
        ("--input", Path(INPUT), "the input of a job"),
        ("--work", "", "where the source is unpacked, the same path on every host"),
        ("--mirror", "", "s3://BUCKET/FOLDER that is searched before the hub"),
        ("--port", ray_job.PORT, "of the head, which the other hosts connect to"),
        ("--temp_dir", "", "where Ray keeps its files"),
        ("--wait", ray_job.WAIT_S, "seconds that the hosts wait for each other"),
        ("--eval_wait", 3600.0, "seconds that the evaluation gets after the training"),
    ):
        default_text = f" (default: {default})" if default != "" else ""
        program.add_argument(flag, type=type(default) if not isinstance(default, Path) else Path,
                             default=default, help=text + default_text)
    # fmt: on
    for key, text in TrainingConfig.explained().items():
        program.add_argument(f"--{key}", help=text.replace("%", "%%"))
    return program


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code; a failure is one line, which SageMaker shows as well."""
    argv = sys.argv[1:] if argv is None else argv
    flag = re.compile(r"--[^=]+")  # --temp-dir is --temp_dir
    args = parser().parse_args(
        [flag.sub(lambda name: "--" + name[0][2:].replace("-", "_"), arg, 1)
         if flag.match(arg) else arg for arg in argv]
    )  # fmt: skip
    args.input = args.input.resolve()  # the working directory will change
    handler = logging.StreamHandler()
    handler.setFormatter(_PlainFormatter("%(message)s"))
    package = logging.getLogger("infinite_rl")
    package.addHandler(handler)
    package.setLevel(logging.INFO)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = run(args)
        reason = f"the training ended with exit code {code}" if code else ""
    except InfiniteRLError as error:
        code = error.code if isinstance(error, _HeadFailed) else exit_code(error)
        reason = _plain(str(error))
        print(f"error: {reason}", file=sys.stderr)
    except KeyboardInterrupt:
        code, reason = _INTERRUPTED, "interrupted"
        print(reason, file=sys.stderr)
    output = args.input.parent / "output"
    if reason and output.is_dir():
        with suppress(OSError):  # SageMaker reads it; the exit code shows a failure as well
            (output / "failure").write_text(reason[:1024], encoding="utf-8")
    return code


def _terminate(*_: object) -> None:
    """Exit through all context managers; a second signal does not interrupt them."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # child processes would inherit SIG_IGN
    sys.exit(_TERMINATED)


def _plain(text: str) -> str:
    """A text without secrets and control characters."""
    return printable(str(redact(text)))


class _PlainFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _plain(super().format(record))


if __name__ == "__main__":
    sys.exit(main())
