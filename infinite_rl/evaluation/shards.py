"""The shards of an evaluation: processes that each load the model and answer a part of the items.

A process is told its config on its standard input, and ends when that is closed: so none outlives
its parent. It tells how far it is, or what went wrong, in lines of JSON. Whatever libraries print
goes to the standard error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue
from typing import IO, Any

from ..errors import InfiniteRLError, UsageError
from ..workers.interruptible import interruptible_get
from ..workers.worker import import_path, raised
from .config import EvaluationConfig

_LOOK_S = 0.5  # the longest that a stop goes unnoticed
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from infinite_rl.evaluation.shards import serve; serve()"
)


def in_processes(
    config: EvaluationConfig, stop: threading.Event, on_answer: Callable[[int], None]
) -> None:
    """Have `config.shards` processes answer what is owed, until `stop` is set.

    Raises:
        InfiniteRLError: what one of them raised; the others are stopped, their answers kept.
    """
    said: SimpleQueue[tuple[int, dict[str, Any]]] = SimpleQueue()
    shards = [_Shard(config, number, said) for number in range(config.shards)]
    counts, left, failure = [0] * len(shards), len(shards), None
    over = threading.Event()
    threading.Thread(target=_stop_all, args=(shards, stop, over), daemon=True).start()
    try:
        while left:
            number, news = interruptible_get(said)
            if "answers" in news:
                counts[number] = news["answers"]
                on_answer(sum(counts))
                continue
            left -= 1
            if "error" in news and failure is None:
                failure = raised(*news["error"])
                for shard in shards:
                    shard.stop()
    finally:
        over.set()
        for shard in shards:
            shard.end()
    if failure is not None and not stop.is_set():
        raise failure


def _stop_all(shards: list[_Shard], stop: threading.Event, over: threading.Event) -> None:
    while not over.wait(_LOOK_S):
        if stop.is_set():
            for shard in shards:
                shard.stop()
            return


class _Shard:
    """One process; a thread reads what it says."""

    def __init__(
        self, config: EvaluationConfig, number: int, said: SimpleQueue[tuple[int, dict[str, Any]]]
    ) -> None:
        command = [sys.executable, "-c", _BOOT, json.dumps(import_path())]
        # A session of its own: Ctrl-C is for the parent.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._number, self._said, self._lock = number, said, threading.Lock()
        self._tell({"config": config.values(), "shard": number})
        threading.Thread(target=self._listen, daemon=True).start()

    def stop(self) -> None:
        """Ask nothing more; what is under way is kept."""
        self._tell({"stop": True})

    def end(self) -> None:
        """Close what holds the process, and wait for its end."""
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, what: dict[str, Any]) -> None:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(what).encode("ascii") + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError):  # it has ended: `_listen` says how
                return

    def _listen(self) -> None:
        assert self._process.stdout is not None
        ended = False
        for line in self._process.stdout:
            news = json.loads(line)
            ended = ended or "answers" not in news
            self._said.put((self._number, news))
        if not ended:
            code = self._process.wait()
            message = f"the process of shard {self._number} ended with exit code {code}"
            self._said.put((self._number, {"error": ["InfiniteRLError", message]}))


# --- the process's own end -----------------------------------------------------------------------


def serve() -> None:
    """Answer one shard's part of the items."""
    channel = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what libraries print is no news of ours
    told = json.loads(sys.stdin.readline())
    stop = threading.Event()
    threading.Thread(target=_obey, args=(sys.stdin, stop), daemon=True).start()
    try:
        _work(EvaluationConfig.of(told["config"]), told["shard"], stop, channel)
    except InfiniteRLError as error:
        _say(channel, {"error": [type(error).__name__, str(error)]})
    else:
        _say(channel, {"done": True})


def _work(config: EvaluationConfig, shard: int, stop: threading.Event, channel: IO[str]) -> None:
    from .backends import make_backend
    from .benchmarks import tasks_of
    from .run import TaskRun, answer

    works = [TaskRun.of(config, task) for task in tasks_of(config.tasks)]
    backend = make_backend(on_its_device(config, shard), stop)
    answer(works, backend, shard, on_answer=lambda count: _say(channel, {"answers": count}))


def on_its_device(config: EvaluationConfig, shard: int) -> EvaluationConfig:
    """The config with which a shard has GPUs of its own, where there are some.

    Raises:
        UsageError: vLLM would need more GPUs than there are.
    """
    if config.backend == "server":
        return config
    import torch

    count, size = torch.cuda.device_count(), config.tensor_parallel_size
    if config.backend == "vllm":
        if config.shards * size > count:
            raise UsageError(f"{config.shards} shards of {size} GPUs each, but there are {count}")
        given = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
        own = given.split(",")[shard * size : (shard + 1) * size]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(own)  # before vLLM looks at them
    elif config.device == "auto" and count:
        return replace(config, device=f"cuda:{shard % count}")
    return config


def _say(channel: IO[str], news: dict[str, Any]) -> None:
    channel.write(json.dumps(news) + "\n")
    channel.flush()


def _obey(orders: IO[str], stop: threading.Event) -> None:
    """Stop when told to; end at once when nobody is there to tell."""
    for _ in orders:
        stop.set()
    os._exit(1)
