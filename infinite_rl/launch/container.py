"""What runs inside a job, on each of its hosts: Ray, the model and the data, then the training.

    python -m infinite_rl.launch.container CONFIG [--temp_dir PATH] [--KEY VALUE ...]

Without CONFIG it is a job that `submit` has begun, and what `request` says is in its input: the
source is unpacked, and the config is run in it. Where the source holds this package, it is what
runs.

`hosts` says which hosts there are, and how they meet; `ray_job` starts Ray over them. Each host
fetches the model before it joins, so all that Ray places finds it on the disk.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
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

from ..dataset.rows import read
from ..errors import InfiniteRLError, StoreError, UsageError
from ..evaluation.checkpoints import LINES, runs_at
from ..settings import read_yaml
from ..storage import Transfer, fetch
from ..training.runs.config import TrainingConfig
from .config import CONFIG_INPUT, SOURCE_INPUT
from .hosts import HostRendezvous, Hosts, WorkerHost, code_of, mapping_of
from .inputs import fetched
from .ray_job import PORT, Settings, end, follow, lead, trained
from .request import INPUT, TRAIN
from .resumable_run import ResumableRun
from .source import ARCHIVE

logger = logging.getLogger("infinite_rl.launch.container")  # also where it is __main__

EVALUATION = "evaluation"  # the folder beside the traces that its results are published to
_PROGRAM = (sys.executable, "-m", "infinite_rl")
_EVALUATION_S = 3600.0
_STOPPED = 128 + signal.SIGTERM
_LATE_S = 60.0  # what a host gets to come and hear that the head has ended before


@dataclass(frozen=True)
class Evaluation:
    """The evaluation beside a training: its command, the checkpoints' place, and its results'."""

    command: Sequence[str]
    place: str
    out: Path

    def left(self) -> list[str]:
        """The checkpoints that are published and not evaluated. Raises InfiniteRLError."""
        lines = self.out / LINES
        done = {record["step"] for record in read(lines)} if lines.is_file() else set()
        return [
            each.name
            for there in runs_at(self.place).values()
            for each in there
            if each.step not in done
        ]


@dataclass(frozen=True)
class JobWorkdir:
    """What a job has to run: the training by its engine, and where asked the evaluation beside.

    There is no training where it has ended before.
    """

    engine: str
    train: Sequence[str]
    processes: int
    evaluation: Evaluation | None = None


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a job's source, and go there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(archive) as whole, tarfile.open(fileobj=whole) as source:
            source.extractall(folder, filter="data")
            while whole.read(1 << 20):  # the checksum comes last
                pass
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise StoreError(f"{archive} cannot be unpacked into {folder}: {error}") from None
    _lend_runtimes(folder / "infinite_rl" / "runtimes")
    os.chdir(folder)


def _lend_runtimes(folder: Path) -> None:
    """Put this package's sandboxes, which no git holds, where a checkout of it lacks them."""
    own = Path(__file__).parent.parent / "runtimes"
    for runtime in own.glob("*.wasm*") if folder.is_dir() else ():
        if not (folder / runtime.name).exists():
            shutil.copy(runtime, folder)


def _prepared(given: argparse.Namespace, hosts: Hosts, work: Path, over: Event) -> JobWorkdir:
    """What is to be run, all that it needs having been fetched. It is given up once `over` is set.

    Raises:
        UsageError: the config cannot be, or names what is not there.
        StoreError: something could not be fetched whole.
        Interrupted: it was given up.
    """
    values, evaluation = _asked(given, work)
    values = fetched(values, given.mirror, Transfer(stop=over))
    config = TrainingConfig.of(values)
    if config.engine != "ray" and len(hosts.names) > 1:
        raise UsageError(
            f"the engine {config.engine} uses one host, and the job has {len(hosts.names)}: "
            "engine ray"
        )
    file = work / "train.json"  # which YAML reads as well
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values, indent=2), encoding="utf-8")
    train = [*_PROGRAM, "train", config.algorithm, str(file)]
    if hosts.is_head and (begun := ResumableRun.of(config)):  # the others need no folder of the run
        train = _again(train, begun, config)
    processes = 1 + config.rollout_workers + config.reward_workers
    out = given.input.parent / "output" / "data" / "evaluation"
    watch = _watch(config, evaluation, out) if evaluation else None
    return JobWorkdir(config.engine, train, processes, watch)


def _asked(given: argparse.Namespace, work: Path) -> tuple[dict[str, Any], Path | None]:
    """The training config's values, checked, and the evaluation's config; the source is unpacked.

    Raises:
        UsageError: the config cannot be.
        StoreError: the source cannot be unpacked.
    """
    from ..cli import arguments

    told: dict[str, Any] = {}
    configs = given.input / "data" / CONFIG_INPUT
    if given.config:
        path = fetch(given.config)
    else:
        settings = given.input / "config" / "hyperparameters.json"
        if not settings.is_file():
            raise UsageError(f"no job has begun here: there is no {settings}; name a CONFIG")
        told = mapping_of(settings)
        archive = given.input / "data" / SOURCE_INPUT / ARCHIVE
        if archive.is_file():
            _unpack(archive, work / "source")
        path = configs / str(told.get("config", TRAIN))
    own = {key: told[key] for key in ("checkpoint_uri", "trace_uri") if told.get(key)}
    try:
        values = {**own, **read_yaml(path), **arguments.keys_given(given, TrainingConfig)}
        TrainingConfig.of(values)  # before hours of fetching
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return values, configs / str(told["eval_config"]) if told.get("eval_config") else None


def _watch(config: TrainingConfig, evaluation: Path, out: Path) -> Evaluation:
    """What evaluates the training's checkpoints by a config of its own, into `out`."""
    place = config.checkpoint_uri
    if ":" not in place:  # a path would be taken for a run's folder, as nothing is there yet
        place = Path(place).absolute().as_uri() + "/"
    watch = [*_PROGRAM, "evaluate", str(evaluation), "--watch", place, "--out", str(out)]
    if config.trace_uri:
        watch += ["--publish", f"{config.trace_uri.rstrip('/')}/{EVALUATION}/"]
    return Evaluation(watch, place, out)


def _again(train: Sequence[str], begun: ResumableRun, config: TrainingConfig) -> list[str]:
    """The training that goes on with a run which this job has begun before; none if it has ended.

    Raises as `ResumableRun`.
    """
    where, step = begun.newest.place, begun.newest.step
    if begun.ended:
        begun.check(config)
        logger.info(
            "the run %s has ended with step %d (%s) and is not trained again; for another one name "
            "another place under `checkpoint_uri`",
            *(begun.name, step, where),
        )
        return []
    logger.info("the run %s goes on from step %d (%s)", begun.name, step, where)
    return [*train, "--resume", str(begun.fetched(config))]


def run(given: argparse.Namespace) -> int:
    """What this host does in its job; the exit code."""
    hosts = Hosts.of(os.environ, given.input / "config" / "resourceconfig.json")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(given.work or made).resolve()
        return (_lead if hosts.is_head else _follow)(given, hosts, folder)


def _lead(given: argparse.Namespace, hosts: Hosts, folder: Path) -> int:
    """What the head does: it is there for the others before all else, so that they learn of it."""
    with ExitStack() as opened:
        meeting = None
        if len(hosts.names) > 1:
            meeting = opened.enter_context(
                HostRendezvous(hosts, given.port, min(given.wait, _LATE_S))
            )
        work = _prepared(given, hosts, folder, Event())
        evaluated = opened.enter_context(_beside(work.evaluation, given.eval_wait))
        if work.train and work.engine == "ray":
            settings = Settings(given.temp_dir, given.wait, work.processes)
            code = lead(hosts, settings, work.train, meeting)
        else:
            code = trained(work.train) if work.train else 0
        if meeting:
            meeting.end(code, wait_s=min(given.wait, _LATE_S))
        if code == 0:
            evaluated()
        return code


class _Ended(InfiniteRLError):
    """The head has ended by an error."""

    def __init__(self, guest: WorkerHost, code: int) -> None:
        super().__init__(f"the head has ended: {guest.reason}")
        self.code = code


def _follow(given: argparse.Namespace, hosts: Hosts, folder: Path) -> int:
    """What another host does. Where the head ends before all are ready, so does this one, at once.

    Raises:
        _Ended: the head has ended by an error.
    """
    with closing(WorkerHost(hosts, given.port, given.wait)) as guest:
        try:
            work = _prepared(given, hosts, folder, guest.over)
            code = follow(hosts, Settings(given.temp_dir, given.wait, work.processes), guest)
        except InfiniteRLError:
            if (ended := guest.ended(0)) is None:
                raise
            code = ended
        if guest.reason:
            raise _Ended(guest, code)
        return code


@contextmanager
def _beside(evaluation: Evaluation | None, wait_s: float) -> Iterator[Callable[[], None]]:
    """Evaluate while the training goes on; what it yields waits for the last checkpoint's turn.

    It waits so many seconds at most. An evaluation that fails says so itself; it takes nothing from
    a training that went well.
    """
    if not evaluation:
        yield lambda: None
        return
    process = subprocess.Popen(evaluation.command)
    try:
        yield lambda: _evaluated(process, evaluation, wait_s)
    finally:
        end(process, signal.SIGINT)


def _evaluated(process: subprocess.Popen[Any], evaluation: Evaluation, wait_s: float) -> None:
    """Wait for the end of an evaluation, and say what it has not evaluated."""
    try:
        code = process.wait(wait_s)
        said = f"the evaluation ended with exit code {code}"
    except subprocess.TimeoutExpired:
        end(process, signal.SIGINT)
        said = f"the evaluation was given up {wait_s:g} seconds after the training"
    try:
        left = evaluation.left()
    except InfiniteRLError as error:
        left = [f"not known: {error}"]
    if left:
        logger.warning(
            "%s; not evaluated: %s. `infinite-rl evaluate CONFIG --watch %s` does",
            *(said, ", ".join(left), evaluation.place),
        )
    else:
        logger.info("%s", said)


def _parser() -> argparse.ArgumentParser:
    from ..cli import arguments

    parser = argparse.ArgumentParser(
        prog="python -m infinite_rl.launch.container",
        description="Run a training config on all hosts of a job: start Ray over them, fetch the "
        "model and the data, train, and end with the exit code of the training on every host.",
        allow_abbrev=False,
    )
    parser.add_argument("config", nargs="?", help="a YAML file; without it the input of a job")
    option = arguments.option
    option(parser, "--input", Path(INPUT), "the input of a job", Path)
    option(parser, "--work", "", "where the source is unpacked, the same on every host")
    option(parser, "--mirror", "", "s3://BUCKET/FOLDER to look in before the hub")
    option(parser, "--port", PORT, "of the head, where the hosts meet", int)
    option(parser, "--temp_dir", "", "where Ray keeps its files")
    option(parser, "--wait", Settings.wait_s, "seconds that the hosts wait for each other", float)
    what = "seconds that the evaluation beside the training gets after it"
    option(parser, "--eval_wait", _EVALUATION_S, what, float)
    arguments.keys(parser, TrainingConfig)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run, and return the exit code; what went wrong is said in one line, also to SageMaker."""
    from ..cli.arguments import spelt
    from ..cli.terminal import INTERRUPTED, plain, show_logs

    given = _parser().parse_args(spelt(sys.argv[1:] if argv is None else argv))
    given.input = given.input.resolve()  # the work is done in another folder
    show_logs()
    logging.getLogger("infinite_rl").setLevel(logging.INFO)
    signal.signal(signal.SIGTERM, _stop)
    try:
        code = run(given)
        reason = f"the training ended with exit code {code}" if code else ""
    except InfiniteRLError as error:
        code = error.code if isinstance(error, _Ended) else code_of(error)
        reason = str(error)
        print(f"error: {plain(reason)}", file=sys.stderr)
    except KeyboardInterrupt:
        code, reason = INTERRUPTED, "interrupted"
        print(reason, file=sys.stderr)
    _tell_failure(given.input.parent / "output", plain(reason))
    return code


def _stop(*_: object) -> None:
    """Leave all contexts, and so end what was started; a second signal does not break that off."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # not ignored, as what is started would, too
    sys.exit(_STOPPED)


def _tell_failure(folder: Path, reason: str) -> None:
    """Leave the reason where SageMaker looks for it."""
    if reason and folder.is_dir():
        with suppress(OSError):  # the exit code says it, too
            (folder / "failure").write_text(reason[:1024], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
