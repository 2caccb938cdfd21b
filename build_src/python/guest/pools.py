"""Pools of worker processes: here their work is done in place, one call after another."""
# ruff: noqa: ARG002 - the signatures are those of the classes replaced

import concurrent.futures
import concurrent.futures.process
import multiprocessing.pool
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import starmap
from typing import Any

import green


class Result:
    """What an asynchronous call gave; it has ended by the time anybody asks."""

    def __init__(self, call: Callable[[], Any], callback: Any, error_callback: Any) -> None:
        self._value, self._error = None, None
        try:
            self._value = call()
        except Exception as error:  # it belongs to whoever asks for the result
            self._error = error
        told = callback if self._error is None else error_callback
        if self._error is not None and told is None:
            green.note_unread(self, self._error)
        if told is not None:
            told(self._value if self._error is None else self._error)

    def get(self, timeout: float | None = None) -> Any:
        green.note_read(self)
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self, timeout: float | None = None) -> None:
        pass

    def ready(self) -> bool:
        return True

    def successful(self) -> bool:
        green.note_read(self)
        return self._error is None


class Pool:
    """`multiprocessing.Pool` and `multiprocessing.pool.ThreadPool`."""

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
        context: object = None,
    ) -> None:
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._open = True
        if initializer is not None:
            initializer(*initargs)

    def __enter__(self) -> "Pool":
        self._check()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check(self) -> None:
        if not self._open:
            raise ValueError("Pool not running")

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] = (),
        kwds: Mapping[str, Any] | None = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> Result:
        self._check()
        return Result(lambda: func(*args, **(kwds or {})), callback, error_callback)

    def map_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> Result:
        self._check()
        return Result(lambda: list(map(func, iterable)), callback, error_callback)

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Iterable[Any]],
        chunksize: int | None = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> Result:
        self._check()
        return Result(lambda: list(starmap(func, iterable)), callback, error_callback)

    def apply(self, func: Any, args: Any = (), kwds: Any = None) -> Any:
        return self.apply_async(func, args, kwds).get()

    def map(self, func: Any, iterable: Any, chunksize: int | None = None) -> list[Any]:
        return self.map_async(func, iterable).get()

    def starmap(self, func: Any, iterable: Any, chunksize: int | None = None) -> list[Any]:
        return self.starmap_async(func, iterable).get()

    def imap(self, func: Any, iterable: Any, chunksize: int = 1) -> Iterator[Any]:
        self._check()
        return map(func, iterable)

    imap_unordered = imap

    def close(self) -> None:
        self._open = False

    terminate = close

    def join(self) -> None:
        if self._open:
            raise ValueError("Pool is still running")


class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """`concurrent.futures.ProcessPoolExecutor`."""

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: object = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        super().__init__(max_workers)
        if initializer is not None:
            initializer(*initargs)


def install() -> None:
    """Put these pools in the place of those that start processes and threads."""
    multiprocessing.pool.Pool = multiprocessing.pool.ThreadPool = Pool
    concurrent.futures.process.ProcessPoolExecutor = ProcessPoolExecutor
    concurrent.futures.ProcessPoolExecutor = ProcessPoolExecutor
