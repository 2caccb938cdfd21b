"""One evaluation: request answers, judge them, compute scores; each step resumes after a kill.

OUT/gsm8k/run.json          settings and versions; other settings are refused
OUT/gsm8k/answers/000.jsonl the answers of the model, as they arrived
OUT/gsm8k/records.jsonl     each answer with its score, in order of the items
OUT/gsm8k/score.json        the score of the task
OUT/summary.md, .html       all tasks, for people
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
from ..files.atomic import locked
from ..manifest import environment_info, read_manifest, refuse_changes, write_manifest
from ..providers.base import Provider
from ..reward_functions import new_reward
from ..store import sample_of
from ..workers.long_jobs import run_long_jobs
from .backends import Backend, FewShotConfig, Request, make_backend, with_device
from .benchmarks import Task, tasks_of
from .completions import CompletionIndex, CompletionWriter
from .config import EvaluationConfig
from .score import Score, score_of
from .summary import write_summary

RECORDS, SCORE = "records.jsonl", "score.json"
_PACKAGES = ("torch", "transformers", "vllm", "openai")
_CHUNKS, _CHUNK_BYTES = 4096, 4096  # of a large file, that its fingerprint covers
_OLD_NAMES = {"style": "prompt_template"}  # of settings in earlier manifests


@dataclass(frozen=True)
class TaskRun:
    """One task of an evaluation: its items, the few-shot examples, and its folder."""

    config: EvaluationConfig
    task: Task
    items: Sequence[Row]
    examples: Sequence[Row]

    @classmethod
    def of(cls, config: EvaluationConfig, task: Task) -> TaskRun:
        """Load the items and examples of a task. Raises UsageError, StoreError."""
        items = task.items(config.limit)
        every = task.items() if config.few_shot else items  # the limit does not change examples
        examples = task.shots(config.few_shot, config.shots, every, config.seed)
        return cls(config, task, items, examples)

    @property
    def folder(self) -> Path:
        """The folder of its results."""
        return Path(self.config.out) / self.task.name

    @property
    def max_new_tokens(self) -> int:
        """The token limit of an answer: the config's, else the task's."""
        return self.config.max_new_tokens or self.task.max_new_tokens

    @property
    def total(self) -> int:
        """The number of answers when all is done."""
        return len(self.items) * self.config.samples

    @cached_property
    def keys(self) -> Sequence[str]:
        """The key of each item: its id and a hash of its content, so that changes are noticed."""
        return [f"{row['id']}:{sample_of(row).id}" for row in self.items]

    def stored(self) -> int:
        """Return the number of its stored answers."""
        index, numbers = CompletionIndex(self.folder), range(self.config.samples)
        return sum((key, number) in index for key in self.keys for number in numbers)

    def batches(
        self, backend: Backend, index: CompletionIndex, shard: int
    ) -> Iterator[Sequence[Request]]:
        """Yield the batches of a shard with a missing answer."""
        size, few_shot = self.config.batch_size, FewShotConfig(self.config, self.examples)
        items = list(zip(self.keys, self.items, strict=True))
        for first in range(shard * size, len(items), self.config.shards * size):
            chunk = items[first : first + size]
            missing = [
                tuple(n for n in range(self.config.samples) if (key, n) not in index)
                for key, _ in chunk
            ]
            if any(missing):
                requests = (backend.request(key, row, few_shot) for key, row in chunk)
                pairs = zip(requests, missing, strict=True)
                yield [replace(request, missing=numbers) for request, numbers in pairs]


@dataclass(frozen=True)
class _Records:
    """A row per answer, in order of the items; re-iterable."""

    run: TaskRun
    index: CompletionIndex

    def __iter__(self) -> Iterator[Row]:
        for key, row in zip(self.run.keys, self.run.items, strict=True):
            instructions = _instruction_count(row)
            for number in range(self.run.config.samples):
                answer = self.index[key, number]
                yield {
                    **{name: row.get(name) or "" for name in ("id", "type", "prompt", "answer")},
                    "language": row.get("language") or "",
                    "sample": number,
                    "completion": answer.text,
                    "finish_reason": answer.finish_reason,
                    "tokens": answer.tokens,
                    "unasked": answer.why,
                    "instructions": instructions,
                }


def _instruction_count(row: Mapping[str, Any]) -> int:
    """Return the number of instructions of a row, 0 if it has none or they are unreadable."""
    if row["type"] != "instruction":
        return 0
    try:
        instructions = json.loads(row["answer"])
    except ValueError:  # the reward reports it for each answer
        return 0
    return len(instructions) if isinstance(instructions, list) else 0


def evaluate(
    config: EvaluationConfig,
    *,
    provider: Provider | None = None,
    stop: threading.Event | None = None,
    on_answer: Callable[[int], None] = lambda _: None,
) -> dict[str, Score]:
    """Evaluate a model on the tasks of a config and return the score of each, by name.

    The same call resumes: stored answers are not requested again, and a greater `limit` adds only
    the new items. `provider` replaces the backend `server`. `on_answer` gets the number of answers.

    Raises:
        UsageError: the config is invalid, or the folder was made with other settings.
        ProviderError: the server failed; earlier answers are stored.
        Stopped: `stop` was set.
        InfiniteRLError: judging is impossible.
    """
    if config.harness != "native":
        raise UsageError("evaluate has the native harness; lm_eval is run by `evaluation.harness`")
    if not config.out:
        raise UsageError("out is missing: the folder that the results go to")
    look_up("prompt template", config.prompt_template, PROMPT_TEMPLATES)
    if config.convention != "own":  # a package may be missing: before a model is asked
        new_reward("instruction", config.timeout, {"convention": config.convention})
    if config.shards > 1 and provider:
        raise UsageError("a provider object cannot be shared with other processes: use one shard")
    runs = [TaskRun.of(config, task) for task in tasks_of(config.tasks)]
    stop, total = stop or threading.Event(), sum(run.total for run in runs)

    def stored() -> int:
        return sum(run.stored() for run in runs)

    def state() -> str:
        return f"{stored()} of {total} answers are stored in {config.out}: repeat it to resume"

    with locked(Path(config.out)):
        for run in runs:
            begin(run)
        before = stored()

        def count(new: int) -> None:
            on_answer(before + new)

        try:
            if before < total and config.shards > 1:
                jobs = [{"config": config.values(), "shard": n} for n in range(config.shards)]
                run_long_jobs(f"{__name__}:answer_shard", jobs, stop, count)
            elif before < total:
                answer(runs, make_backend(config, stop, provider), on_answer=count)
        except ProviderError as error:
            error.args = (f"{error}; {state()}",)
            raise
        if stop.is_set():
            raise Stopped(f"stopped; {state()}")
        scores = {run.task.name: judged(run) for run in runs}
        write_summary(Path(config.out), config, scores)
    return scores


def answer(
    runs: Sequence[TaskRun], backend: Backend, shard: int = 0, *, on_answer: Callable[[int], None]
) -> None:
    """Request the missing answers of a shard, and store each as it arrives."""
    count = 0
    for run in runs:
        with closing(CompletionWriter(run.folder, shard)) as writer:
            batches = run.batches(backend, CompletionIndex(run.folder), shard)
            for each in backend.complete(batches, run.max_new_tokens):
                writer.add(each)
                count += 1
                on_answer(count)


def answer_shard(
    job: Mapping[str, Any], stop: threading.Event, on_answer: Callable[[int], None]
) -> None:
    """Answer one shard's part of the items: the job of a process."""
    config, shard = EvaluationConfig.of(job["config"]), job["shard"]
    runs = [TaskRun.of(config, task) for task in tasks_of(config.tasks)]
    backend = make_backend(with_device(config, shard), stop)
    answer(runs, backend, shard, on_answer=on_answer)


def judged(run: TaskRun) -> Score:
    """Judge all answers of a task into its records; write and return the score."""
    path, config = run.folder / RECORDS, run.config
    judging = Judging("completion", timeout=config.timeout, convention=config.convention)
    score_file(_Records(run, CompletionIndex(run.folder)), path, judging, overwrite=True)
    score = score_of(rows.read(path), run.config.samples)
    score.write(run.folder / SCORE)
    return score


# --- settings ------------------------------------------------------------------------------------


def begin(run: TaskRun) -> None:
    """Record the settings of a task's folder. Raises UsageError if it has others."""
    settings = check_settings(run)
    run.folder.mkdir(parents=True, exist_ok=True)
    write_manifest(run.folder, {"settings": settings, **environment_info(*_PACKAGES)})


def check_settings(run: TaskRun, ignored: Collection[str] = ()) -> dict[str, Any]:
    """Return the settings of a task's folder. Raises UsageError if it has others."""
    return refuse_others(run.folder, _settings(run), ignored)


def refuse_others(
    folder: Path, settings: Mapping[str, object], ignored: Collection[str] = ()
) -> dict[str, Any]:
    """Return the settings as JSON values if the folder's manifest has the same, or none.

    Raises:
        UsageError: it has others, in a key that is not `ignored`; names each difference.
    """
    now: dict[str, Any] = json.loads(json.dumps(settings))
    before = read_manifest(folder).get("settings", now)
    before = {_OLD_NAMES.get(name, name): value for name, value in before.items()}
    before |= {name: now.get(name) for name in ignored}
    refuse_changes(folder, before, now, "or choose another folder with out")
    return now


def _settings(run: TaskRun) -> Mapping[str, object]:
    """Return what an answer depends on: not the limit, the shards or the machine."""
    config, server = run.config, run.config.backend == "server"
    names = ["model", "backend", "prompt_template", "system", "few_shot", "samples"]
    names += ["top_p", "seed", *(["base_url"] if server else ["dtype", "max_model_len"])]
    if config.sampling_temperature and not server:
        names.append("batch_size")
    examples = json.dumps([sample_of(row).id for row in run.examples])
    return {
        **{name: getattr(config, name) for name in names},
        "weights": "" if server else fingerprint(config.model),
        "examples": hashlib.sha256(examples.encode("ascii")).hexdigest()[:16],
        "temperature": config.sampling_temperature,
        "max_new_tokens": run.max_new_tokens,
        "stop": list(config.stop),
    }


def fingerprint(model: str) -> str:
    """Return a hash of the files in a model's folder; "" for a hub name.

    It covers the name, the size and the bytes of each file; of one above 16 MiB only chunks, spread
    evenly, so that further training changes it, even in some matrices alone.
    """
    folder = Path(model)
    if not folder.is_dir():
        return ""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name}\n{size}\n".encode("utf-8", "surrogatepass"))
        with path.open("rb") as file:
            for begin in range(0, size, max(_CHUNK_BYTES, size // _CHUNKS)):
                file.seek(begin)
                digest.update(file.read(_CHUNK_BYTES))
    return digest.hexdigest()[:16]
