"""One evaluation: ask, judge, sum up; each step goes on where a run that was killed has left it.

OUT/gsm8k/run.json          settings and versions; other settings are refused
OUT/gsm8k/answers/000.jsonl what the model has answered, as it came
OUT/gsm8k/records.jsonl     each answer with its score, in the order of the items
OUT/gsm8k/score.json        what they amount to
OUT/summary.md, .html       the same, of all tasks, to read
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..dataset import rows
from ..dataset.prompt_templates import PROMPT_TEMPLATES
from ..dataset.rows import Row
from ..dataset.scoring import Judging, score_file
from ..errors import ProviderError, Stopped, UsageError, look_up
from ..files.lock import locked
from ..manifest import environment_info, read_manifest, write_manifest
from ..providers.base import Provider
from ..store import sample_of
from .answers import CompletionIndex, CompletionWriter
from .backends import Backend, FewShotConfig, Request, make_backend
from .benchmarks import Task, tasks_of
from .config import EvaluationConfig
from .score import Score, tallied
from .summary import write_summary

RECORDS, SCORE = "records.jsonl", "score.json"
_PACKAGES = ("torch", "transformers", "vllm", "openai")
_PARTS, _PART = 4096, 4096  # how many parts of so many bytes tell a large file from another


@dataclass(frozen=True)
class TaskRun:
    """One task of an evaluation: its items, the worked examples before each, and its folder."""

    config: EvaluationConfig
    task: Task
    items: Sequence[Row]
    examples: Sequence[Row]

    @classmethod
    def of(cls, config: EvaluationConfig, task: Task) -> TaskRun:
        """The work that a config makes of a task. Raises UsageError, StoreError."""
        items = task.items(config.limit)
        every = task.items() if config.few_shot else items  # the examples are those of any limit
        examples = task.shots(config.few_shot, config.shots, every, config.seed)
        return cls(config, task, items, examples)

    @property
    def folder(self) -> Path:
        """Where all that comes of it is kept."""
        return Path(self.config.out) / self.task.name

    @property
    def max_new_tokens(self) -> int:
        """The tokens at which an answer is cut off: the config's, else the task's own."""
        return self.config.max_new_tokens or self.task.max_new_tokens

    @property
    def answers(self) -> int:
        """How many there are when all is done."""
        return len(self.items) * self.config.samples

    @cached_property
    def keys(self) -> Sequence[str]:
        """A key for each item: its id and its content, so that a changed row is asked anew."""
        return [f"{row['id']}:{sample_of(row).id}" for row in self.items]

    def owed(
        self, backend: Backend, kept: CompletionIndex, shard: int = 0, shards: int = 1
    ) -> Iterator[Sequence[Request]]:
        """The batches of a shard in which an answer is missing."""
        size, asking = self.config.batch_size, FewShotConfig(self.config, self.examples)
        pairs = list(zip(self.keys, self.items, strict=True))
        for first in range(shard * size, len(pairs), shards * size):
            chunk = pairs[first : first + size]
            missing = [self.missing(key, kept) for key, _ in chunk]
            if any(missing):
                questions = (backend.question(key, row, asking) for key, row in chunk)
                owed = zip(questions, missing, strict=True)
                yield [replace(question, owed=numbers) for question, numbers in owed]

    def missing(self, key: str, kept: CompletionIndex) -> tuple[int, ...]:
        """The numbers of the answers to a question that are not there."""
        return tuple(n for n in range(self.config.samples) if (key, n) not in kept)

    def is_owed(self, kept: CompletionIndex) -> int:
        """How many answers are missing."""
        return sum(len(self.missing(key, kept)) for key in self.keys)

    def records(self, kept: CompletionIndex) -> Records:
        """What is to be judged."""
        return Records(self, kept)


@dataclass(frozen=True)
class Records:
    """A row for each answer, in the order of the items; may be gone through more than once."""

    work: TaskRun
    kept: CompletionIndex

    def __iter__(self) -> Iterator[Row]:
        for key, row in zip(self.work.keys, self.work.items, strict=True):
            checks = _checks(row)
            for number in range(self.work.config.samples):
                answer = self.kept[key, number]
                yield {
                    **{name: row.get(name) or "" for name in ("id", "type", "prompt", "answer")},
                    "language": row.get("language") or "",
                    "sample": number,
                    "completion": answer.text,
                    "finish_reason": answer.finish_reason,
                    "tokens": answer.tokens,
                    "unasked": answer.why,
                    "instructions": checks,
                }


def _checks(row: Mapping[str, Any]) -> int:
    """How many instructions a row has, 0 where it is none of that type or cannot be read."""
    if row["type"] != "instruction":
        return 0
    try:
        found = json.loads(row["answer"])
    except ValueError:  # the reward says so, of each answer
        return 0
    return len(found) if isinstance(found, list) else 0


def evaluate(
    config: EvaluationConfig,
    *,
    provider: Provider | None = None,
    stop: threading.Event | None = None,
    on_answer: Callable[[int], None] = lambda _: None,
) -> dict[str, Score]:
    """Evaluate a model on the tasks of a config: the score of each, by name.

    The same call made again goes on: what was answered is not asked again, and with a greater
    `limit` only the new items are. `provider` answers in the place of the backend `server`.
    `on_answer` is told how many answers there are.

    Raises:
        UsageError: the config cannot be used, or the folder was made with other settings.
        ProviderError: the server did not answer; what it answered before is kept.
        Stopped: `stop` was set.
        InfiniteRLError: nothing can be judged.
    """
    if config.harness != "native":
        raise UsageError("evaluate has the native harness; lm_eval is run by `evaluation.harness`")
    if not config.out:
        raise UsageError("out is missing: the folder that the results go to")
    look_up("prompt template", config.prompt_template, PROMPT_TEMPLATES)
    if config.shards > 1 and provider:
        raise UsageError("a provider of your own cannot be handed to other processes: one shard")
    works = [TaskRun.of(config, task) for task in tasks_of(config.tasks)]
    stop = stop or threading.Event()
    with locked(Path(config.out)):
        for work in works:
            begin(work)
        try:
            _answer_all(works, provider, stop, on_answer)
        except ProviderError as error:
            error.args = (f"{error}; {_there(works)}",)
            raise
        if stop.is_set():
            raise Stopped(f"stopped; {_there(works)}")
        scores = {work.task.name: judged(work) for work in works}
        write_summary(Path(config.out), config, scores)
    return scores


def _answer_all(
    works: Sequence[TaskRun],
    provider: Provider | None,
    stop: threading.Event,
    on_answer: Callable[[int], None],
) -> None:
    owed = {work.task.name: work.is_owed(CompletionIndex(work.folder)) for work in works}
    there = sum(work.answers for work in works) - sum(owed.values())
    if not any(owed.values()):
        return
    config = works[0].config
    if config.shards > 1:
        from .shards import in_processes

        in_processes(config, stop, lambda new: on_answer(there + new))
        return
    if provider or config.backend == "server":
        from .backends.server import Server

        backend: Backend = Server(config, stop, provider)
    else:
        backend = make_backend(config, stop)
    answer(works, backend, on_answer=lambda new: on_answer(there + new))


def answer(
    works: Sequence[TaskRun],
    backend: Backend,
    shard: int = 0,
    *,
    on_answer: Callable[[int], None],
) -> None:
    """Ask what a shard's part of the items owes, and keep each answer as it comes."""
    count = 0
    for work in works:
        with closing(CompletionWriter(work.folder, shard)) as keeper:
            kept = CompletionIndex(work.folder)
            batches = work.owed(backend, kept, shard, work.config.shards)
            for each in backend.answers(batches, work.max_new_tokens):
                keeper.keep(each)
                count += 1
                on_answer(count)


def judged(work: TaskRun) -> Score:
    """Judge all answers of a task into its records; the score, which is also written."""
    path, judging = work.folder / RECORDS, Judging("completion", timeout=work.config.timeout)
    score_file(work.records(CompletionIndex(work.folder)), path, judging, overwrite=True)
    score = tallied(rows.read(path), work.config.samples)
    score.write(work.folder / SCORE)
    return score


def _there(works: Sequence[TaskRun]) -> str:
    total = sum(work.answers for work in works)
    there = total - sum(work.is_owed(CompletionIndex(work.folder)) for work in works)
    out = works[0].config.out
    return f"{there} of {total} answers are kept in {out}: run the same again to go on"


# --- with what it was made -----------------------------------------------------------------------


def begin(work: TaskRun) -> None:
    """Record the settings of a task's folder.

    Raises:
        UsageError: it was made with others; names each difference.
    """
    settings = check_settings(work)
    work.folder.mkdir(parents=True, exist_ok=True)
    write_manifest(work.folder, {"settings": settings, **environment_info(*_PACKAGES)})


def check_settings(work: TaskRun, but: Collection[str] = ()) -> dict[str, Any]:
    """The settings of a task's folder; those that are named may be others than it was made with.

    Raises:
        UsageError: it was made with others; names each difference.
    """
    return refuse_others(work.folder, _settings(work), but)


def refuse_others(
    folder: Path, settings: Mapping[str, object], but: Collection[str] = ()
) -> dict[str, Any]:
    """The settings as JSON has them, where a folder's manifest has the same or there is none.

    Raises:
        UsageError: it has others, in a key that is not among `but`; names each difference.
    """
    now: dict[str, Any] = json.loads(json.dumps(settings))
    before = read_manifest(folder).get("settings", now)
    changed = [
        f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
        for name in {**before, **now}
        if name not in but and before.get(name) != now.get(name)
    ]
    if changed:
        raise UsageError(
            f"{folder} was made with other settings: {'; '.join(changed)}. Use the same, or "
            "choose another folder with out"
        )
    return now


def _settings(work: TaskRun) -> Mapping[str, object]:
    """What an answer depends on. The limit, the shards and the machine are none of it."""
    config, server = work.config, work.config.backend == "server"
    of_sampling = (
        {"batch_size": config.batch_size} if config.sampling_temperature and not server else {}
    )
    of_engine = {"dtype": config.dtype, "max_model_len": config.max_model_len}
    shown = json.dumps([sample_of(row).id for row in work.examples])
    return {
        "model": config.model,
        "weights": "" if server else fingerprint(config.model),
        "backend": config.backend,
        "prompt_template": config.prompt_template,
        "system": config.system,
        "few_shot": config.few_shot,
        "examples": hashlib.sha256(shown.encode("ascii")).hexdigest()[:16],
        "samples": config.samples,
        "temperature": config.sampling_temperature,
        "top_p": config.top_p,
        "max_new_tokens": work.max_new_tokens,
        "stop": list(config.stop),
        "seed": config.seed,
        **of_sampling,
        **({"base_url": config.base_url} if server else of_engine),
    }


def fingerprint(model: str) -> str:
    """What tells the files of a model's folder from others of the same names; "" of a hub name.

    Of each file its name, its size and its bytes; of one above 16 MiB only parts, spread evenly,
    so that weights which were trained further differ, be it in some matrices alone.
    """
    folder = Path(model)
    if not folder.is_dir():
        return ""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name}\n{size}\n".encode("utf-8", "surrogatepass"))
        with path.open("rb") as file:
            for begin in range(0, size, max(_PART, size // _PARTS)):
                file.seek(begin)
                digest.update(file.read(_PART))
    return digest.hexdigest()[:16]
