"""A run's checkpoints and traces, copied elsewhere as training goes, in a thread beside it.

    {checkpoints}/{run}_step{N}/    each checkpoint, with the run's config and manifest
    {checkpoints}/{run}_final/      the last one, when the run has ended well
    {traces}/{run}/                 config, manifest, events and rollouts, as of the last checkpoint

So the run can go on anywhere from a checkpoint alone; and as the traces go before it, with all
events of the steps before it.

`{run}` is the name of the run's folder. What is to be published lies in RUN/publishing until it is:
links to a checkpoint's files, so that the run may throw the checkpoint away meanwhile. What fails
is told of and tried again at the next checkpoint; it never ends the training.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from types import TracebackType

from ...errors import InfiniteRLError, StoreError
from ...redact import redact
from ...storage import Transfer, list_published, publish
from . import checkpoint
from .config import TrainingConfig
from .run_folder import CONFIG, EVENTS, HARDWARE, MANIFEST, REQUIREMENTS, ROLLOUTS, RunFolder

logger = logging.getLogger(__name__)

FOLDER = "publishing"
PUBLISHED, UNPUBLISHED = "published", "unpublished"  # kinds of events
BEGUN_WITH = (CONFIG, MANIFEST)  # what makes a folder that of a run
TRACES = (*BEGUN_WITH, EVENTS, ROLLOUTS, REQUIREMENTS, HARDWARE)


class Publisher:
    """Publishes what the config says, and nothing where it says nothing.

    Use it as a context manager, inside that of the run's folder. When it ends well, what is left
    and the newest checkpoint are published before it returns, as the run's last one; what could not
    be is said in one line. `there` is what `published` gave; it is asked where that is None.

    Raises:
        UsageError: a place cannot be written to, as far as can be told before training.
    """

    def __init__(
        self, folder: RunFolder, config: TrainingConfig, there: Collection[str] | None = None
    ) -> None:
        self._folder, self._config, self._there = folder, config, there
        self._room, self._run = folder.path / FOLDER, folder.path.name
        self._transfer = Transfer()
        self._changed = threading.Condition()
        self._owed: list[Path] = []  # links to checkpoints, oldest first
        self._busy: Path | None = None  # the one of them that is being published
        self._failed: dict[Path, str] = {}  # those that could not be published, and why
        self._given_up: dict[str, str] = {}  # names of those that were left out for want of room
        self._done: list[int] = []  # steps of which a whole copy is there
        self._last = checkpoint.newest(folder.path)
        self._traces_owed = self._ending = False
        self._traces_failed = ""
        self._thread = threading.Thread(target=self._work, name="publisher", daemon=True)

    def __enter__(self) -> Publisher:
        there = published(self._config) if self._there is None else self._there
        if self._config.checkpoint_uri:
            left = [path for path in self._room.glob("step_*") if checkpoint.is_ready(path)]
            self._owed = sorted(left, key=checkpoint.step_of)  # of a run that was killed
            for path in checkpoint.ready(self._folder.path):
                if self._name(path) in there:
                    self._done.append(checkpoint.step_of(path))
                else:
                    self._owe(path, self._room / path.name)
        if self._config.checkpoint_uri or self._config.trace_uri:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._thread.is_alive():
            return
        if kind is not None and not issubclass(kind, Exception):
            self._transfer.stop.set()  # somebody wants to leave, now
            return
        if kind is None and self._last and self._config.checkpoint_uri:
            logger.info("publishing what is left of the run %s", self._run)
            self._owe(self._last, self._room / "final")
        with self._changed:
            self._owed = [*self._failed, *self._owed]
            self._failed, self._ending = {}, True
            self._changed.notify()
        self._thread.join()
        self._remove_local()
        self._tell_what_is_left()

    def saved(self, path: Path) -> None:
        """A checkpoint is there: have it published, and what failed before it. It returns at once.

        As many as the run keeps may wait; older ones are given up, which is told.
        """
        self._last = path
        if not self._thread.is_alive():
            return
        with self._changed:
            self._traces_owed = True  # first: they go before the checkpoint
        if self._config.checkpoint_uri:
            self._owe(path, self._room / path.name)
        with self._changed:
            self._owed, self._failed = [*self._failed, *self._owed], {}
            waiting = [link for link in self._owed if link != self._busy]
            too_many = waiting[: -self._config.save_total_limit]
            self._owed = [link for link in self._owed if link not in too_many]
            self._changed.notify()
        for link in too_many:
            self._give_up(link, "newer ones wait to be published")
        self._remove_local()

    # --- in the thread of the training

    def _owe(self, path: Path, link: Path) -> None:
        """Have a checkpoint published, from a link to it."""
        try:
            _linked(path, link, [self._folder.path / name for name in BEGUN_WITH])
        except OSError as error:
            self._give_up(link, f"cannot write {link}: {error.strerror or error}")
            return
        with self._changed:
            if link not in self._owed:
                self._owed.append(link)

    def _give_up(self, link: Path, reason: str) -> None:
        self._given_up[self._name(link)] = reason
        self._tell(UNPUBLISHED, link, reason=reason)
        shutil.rmtree(link, ignore_errors=True)

    def _remove_local(self) -> None:
        """Remove the checkpoints that are published, but for the newest."""
        if not self._config.remove_local:
            return
        with self._changed:
            done = [f"step_{step}" for step in self._done]
        for path in checkpoint.ready(self._folder.path)[:-1]:
            if path.name in done:
                try:
                    checkpoint.remove(path)
                except OSError as error:
                    logger.warning("cannot remove %s: %s", path, error.strerror or error)

    def _tell_what_is_left(self) -> None:
        left = {**self._given_up, **{self._name(link): why for link, why in self._failed.items()}}
        if self._traces_failed:
            left["the traces"] = self._traces_failed
        if left:
            also = f"; what is left lies in {self._room}" if self._failed else ""
            *_, why = left.values()
            logger.warning("not published: %s (%s)%s", ", ".join(left), why, also)
        else:
            shutil.rmtree(self._room, ignore_errors=True)

    # --- in the thread beside it

    def _work(self) -> None:
        while not self._transfer.stop.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._owed or self._traces_owed or self._ending)
                traces_first, self._traces_owed = self._traces_owed, False
                link = self._owed[0] if self._owed and not traces_first else None
                self._busy = link
            if link is not None:
                self._publish(link)
                continue
            if self._config.trace_uri:
                self._publish_traces()
            if not traces_first:
                return  # the end: all events are published, those of publishing too

    def _publish(self, link: Path) -> None:
        began = time.monotonic()
        note = {"run": self._run, "step": self._step(link)}
        place = f"{self._config.checkpoint_uri.rstrip('/')}/{self._name(link)}"
        reason = self._tried(link, place, note)
        if self._transfer.stop.is_set():
            return  # somebody has left, and may have closed the run's folder
        with self._changed:
            self._owed.remove(link)
            self._busy = None
            if reason:
                self._failed[link] = reason
            else:
                self._done.append(self._step(link))
        if reason:
            self._tell(UNPUBLISHED, link, reason=reason)
        else:
            self._tell(PUBLISHED, link, seconds=round(time.monotonic() - began, 3))
            shutil.rmtree(link, ignore_errors=True)

    def _publish_traces(self) -> None:
        """The files of lines grow meanwhile, so a copy of them is published."""
        copy = self._room / "traces"
        try:
            shutil.rmtree(copy, ignore_errors=True)
            _copied(self._folder.path, copy)
            reason = self._tried(copy, f"{self._config.trace_uri.rstrip('/')}/{self._run}", {})
        except OSError as error:
            reason = str(error)
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        if reason and reason != self._traces_failed:
            logger.warning("traces: %s", reason)
        self._traces_failed = reason

    def _tried(self, folder: Path, uri: str, note: dict[str, object]) -> str:
        """Publish a folder; why it could not be, "" where it was."""
        try:
            publish(folder, uri, note, self._transfer)
        except InfiniteRLError as error:
            return str(redact(str(error)))
        except Exception as error:  # whatever it is, it must not end the training
            logger.debug("publishing %s", folder, exc_info=True)
            return str(redact(f"{type(error).__name__}: {error}"))
        return ""

    # --- in both

    def _step(self, link: Path) -> int:
        if link.name != "final":
            return checkpoint.step_of(link)
        assert self._last is not None
        return checkpoint.step_of(self._last)

    def _name(self, link: Path) -> str:
        return f"{self._run}_{link.name.replace('step_', 'step')}"

    def _tell(self, kind: str, link: Path, **values: object) -> None:
        if kind == UNPUBLISHED:
            logger.warning("%s: %s", self._name(link), values["reason"])
        try:
            self._folder.event(kind, self._step(link), name=self._name(link), **values)
        except StoreError as error:
            logger.warning("%s", error)


def published(config: TrainingConfig) -> set[str]:
    """The names of the checkpoints that are published where the config says.

    Asking tells also whether anything can be published there, traces included.

    Raises:
        UsageError: it cannot. That the network is down is no reason not to train.
    """
    found = {}
    for place in filter(None, {config.checkpoint_uri: None, config.trace_uri: None}):
        try:
            found[place] = {each.name for each in list_published(place)}
        except StoreError as error:
            logger.warning("nothing can be published now: %s", redact(str(error)))
    return found.get(config.checkpoint_uri, set())


def _linked(path: Path, link: Path, more: Iterable[Path]) -> None:
    """A folder of links to the files of another and some more, there whole or not at all."""
    draft = link.with_name(f".{link.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(link, ignore_errors=True)
    shutil.copytree(path, draft, copy_function=_link)
    for file in more:
        shutil.copyfile(file, draft / file.name)
    draft.rename(link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)


def _copied(run: Path, copy: Path) -> None:
    for name in TRACES:
        if (run / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run / name, copy / name)
