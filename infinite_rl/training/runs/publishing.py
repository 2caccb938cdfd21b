"""Copies a run's checkpoints and traces to remote storage during training, in a thread.

    {checkpoint_uri}/{run}_step{N}/    each checkpoint, with the run's config and manifest
    {checkpoint_uri}/{run}_final/      the last one, once the run has finished
    {trace_uri}/{run}/                 config, manifest, events and rollouts, at each checkpoint

A run can resume anywhere from a checkpoint alone. Traces are copied before the checkpoint, so they
hold all events up to it.

`{run}` is the name of the run's directory. Pending checkpoints are hard links in RUN/publishing, so
the run may remove the original. A failed copy is logged and tried again at the next checkpoint; it
never ends the training.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Collection
from pathlib import Path

from ...errors import InfiniteRLError, StoreError
from ...redact import redact
from ...storage import Transfer, list_published, publish
from . import checkpoint
from .config import TrainingConfig
from .run_folder import CONFIG, EVENTS, HARDWARE, MANIFEST, REQUIREMENTS, ROLLOUTS, RunFolder

logger = logging.getLogger(__name__)

FOLDER = "publishing"
PUBLISHED, UNPUBLISHED = "published", "unpublished"  # kinds of events
BEGUN_WITH = (CONFIG, MANIFEST)  # the files that make a directory a run
TRACES = (*BEGUN_WITH, EVENTS, ROLLOUTS, REQUIREMENTS, HARDWARE)


class Publisher:
    """Copies checkpoints and traces to the config's URIs, if it has any. A context manager.

    Enter it inside the run's directory. On a normal exit the remaining copies and the last
    checkpoint are completed; one line logs what could not be. `remote` is the result of
    `published`, which is called if that is None.

    Raises:
        UsageError: a destination is not writable, as far as can be known before training.
    """

    def __init__(
        self, folder: RunFolder, config: TrainingConfig, remote: Collection[str] | None = None
    ) -> None:
        self._folder, self._config, self._remote = folder, config, remote
        self._links, self._run = folder.path / FOLDER, folder.path.name
        self._transfer = Transfer()
        self._changed = threading.Condition()
        self._pending: list[Path] = []  # links to checkpoints, oldest first
        self._current: Path | None = None  # the one that is being copied
        self._failed: dict[Path, str] = {}  # and why
        self._dropped: dict[str, str] = {}  # names of checkpoints that were given up, and why
        self._done: list[int] = []  # steps with a complete copy
        self._last = checkpoint.newest(folder.path)
        self._traces_due = self._ending = False
        self._traces_error = ""
        self._thread = threading.Thread(target=self._work, name="publisher", daemon=True)

    def __enter__(self) -> Publisher:
        remote = published(self._config) if self._remote is None else self._remote
        if self._config.checkpoint_uri:
            left = [path for path in self._links.glob("step_*") if checkpoint.is_ready(path)]
            self._pending = sorted(left, key=checkpoint.step_of)  # of a killed run
            for path in checkpoint.ready(self._folder.path):
                if self._name(path) in remote:
                    self._done.append(checkpoint.step_of(path))
                else:
                    self._enqueue(path, self._links / path.name)
        if self._config.checkpoint_uri or self._config.trace_uri:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc_info: object) -> None:
        if not self._thread.is_alive():
            return
        if kind is not None and not issubclass(kind, Exception):
            self._transfer.stop.set()  # an interrupt ends at once
            return
        if kind is None and self._last and self._config.checkpoint_uri:
            logger.info("publishing the remaining checkpoints of %s", self._run)
            self._enqueue(self._last, self._links / "final")
        with self._changed:
            self._pending = [*self._failed, *self._pending]
            self._failed, self._ending = {}, True
            self._changed.notify()
        self._thread.join()
        self._remove_local()
        missing = {**self._dropped, **{self._name(link): e for link, e in self._failed.items()}}
        if self._traces_error:
            missing["the traces"] = self._traces_error
        if missing:
            rest = f"; the rest is in {self._links}" if self._failed else ""
            *_, why = missing.values()
            logger.warning("not published: %s (%s)%s", ", ".join(missing), why, rest)
        else:
            shutil.rmtree(self._links, ignore_errors=True)

    def saved(self, path: Path) -> None:
        """Enqueue a new checkpoint, and retry those that failed. Returns at once.

        At most `save_total_limit` checkpoints wait; older ones are dropped with a warning.
        """
        self._last = path
        if not self._thread.is_alive():
            return
        with self._changed:
            self._traces_due = True  # first: traces are copied before the checkpoint
        if self._config.checkpoint_uri:
            self._enqueue(path, self._links / path.name)
        with self._changed:
            self._pending, self._failed = [*self._failed, *self._pending], {}
            waiting = [link for link in self._pending if link != self._current]
            excess = waiting[: -self._config.save_total_limit]
            self._pending = [link for link in self._pending if link not in excess]
            self._changed.notify()
        for link in excess:
            self._drop(link, "newer ones wait to be published")
        self._remove_local()

    # In the thread of the training.

    def _enqueue(self, path: Path, link: Path) -> None:
        """Enqueue a checkpoint, by a complete directory of hard links to its files."""
        draft = link.with_name(f".{link.name}.part")
        try:
            shutil.rmtree(draft, ignore_errors=True)
            shutil.rmtree(link, ignore_errors=True)
            shutil.copytree(path, draft, copy_function=_link)
            for name in BEGUN_WITH:
                shutil.copyfile(self._folder.path / name, draft / name)
            draft.rename(link)
        except OSError as error:
            self._drop(link, f"cannot write {link}: {error.strerror or error}")
            return
        with self._changed:
            if link not in self._pending:
                self._pending.append(link)

    def _drop(self, link: Path, reason: str) -> None:
        self._dropped[self._name(link)] = reason
        self._log(UNPUBLISHED, link, reason=reason)
        shutil.rmtree(link, ignore_errors=True)

    def _remove_local(self) -> None:
        """Remove the published checkpoints, except the newest."""
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

    # In the publisher's thread.

    def _work(self) -> None:
        while not self._transfer.stop.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._traces_due or self._ending)
                traces_first, self._traces_due = self._traces_due, False
                link = self._pending[0] if self._pending and not traces_first else None
                self._current = link
            if link is not None:
                self._publish(link)
                continue
            if self._config.trace_uri:
                self._publish_traces()
            if not traces_first:
                return  # at the end, after all events, those of publishing included

    def _publish(self, link: Path) -> None:
        began = time.monotonic()
        note = {"run": self._run, "step": self._step(link)}
        uri = f"{self._config.checkpoint_uri.rstrip('/')}/{self._name(link)}"
        reason = self._copy(link, uri, note)
        if self._transfer.stop.is_set():
            return  # interrupted: the run's directory may be closed
        with self._changed:
            self._pending.remove(link)
            self._current = None
            if reason:
                self._failed[link] = reason
            else:
                self._done.append(self._step(link))
        if reason:
            self._log(UNPUBLISHED, link, reason=reason)
        else:
            self._log(PUBLISHED, link, seconds=round(time.monotonic() - began, 3))
            shutil.rmtree(link, ignore_errors=True)

    def _publish_traces(self) -> None:
        """Publish a snapshot of the traces, which grow meanwhile."""
        snapshot = self._links / "traces"
        try:
            shutil.rmtree(snapshot, ignore_errors=True)
            for name in TRACES:
                if (self._folder.path / name).is_file():
                    (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(self._folder.path / name, snapshot / name)
            reason = self._copy(snapshot, f"{self._config.trace_uri.rstrip('/')}/{self._run}", {})
        except OSError as error:
            reason = str(error)
        finally:
            shutil.rmtree(snapshot, ignore_errors=True)
        if reason and reason != self._traces_error:
            logger.warning("traces: %s", reason)
        self._traces_error = reason

    def _copy(self, folder: Path, uri: str, note: dict[str, object]) -> str:
        """Publish a directory; returns the error, or ""."""
        try:
            publish(folder, uri, note, self._transfer)
        except InfiniteRLError as error:
            return str(redact(str(error)))
        except Exception as error:  # no error of any kind may end the training
            logger.debug("publishing %s", folder, exc_info=True)
            return str(redact(f"{type(error).__name__}: {error}"))
        return ""

    # In both.

    def _step(self, link: Path) -> int:
        if link.name != "final":
            return checkpoint.step_of(link)
        assert self._last is not None
        return checkpoint.step_of(self._last)

    def _name(self, link: Path) -> str:
        return f"{self._run}_{link.name.replace('step_', 'step')}"

    def _log(self, kind: str, link: Path, **values: object) -> None:
        if kind == UNPUBLISHED:
            logger.warning("%s: %s", self._name(link), values["reason"])
        try:
            self._folder.event(kind, self._step(link), name=self._name(link), **values)
        except StoreError as error:
            logger.warning("%s", error)


def published(config: TrainingConfig) -> set[str]:
    """The names of the checkpoints at the config's URI; also checks that both URIs are usable.

    Raises:
        UsageError: they are not. A network error is only logged: training can begin.
    """
    names: dict[str, set[str]] = {}
    for uri in filter(None, {config.checkpoint_uri: None, config.trace_uri: None}):
        try:
            names[uri] = {each.name for each in list_published(uri)}
        except StoreError as error:
            logger.warning("nothing can be published now: %s", redact(str(error)))
    return names.get(config.checkpoint_uri, set())


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
