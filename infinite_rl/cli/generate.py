"""`infinite-rl generate`: verified rows, until the data set has as many as wanted."""

from __future__ import annotations

import io
import json
import logging
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..config import FilePath, Number, Strings, one_of, ranged, read_yaml
from ..dataset import MIN_DISTINCT
from ..errors import StoreError, UsageError, store_errors
from ..manifest import read_manifest
from ..providers import AUTO, DEFAULT_MODEL, PROVIDERS, resolve_provider
from ..store import BATCH
from ..verification import MIN_AGREEMENT, STRENGTHEN
from .terminal import (
    DONE,
    INTERRUPTED,
    NOT_DONE,
    UNDER_WAY,
    Emit,
    note,
    plain,
    stop_on_signals,
)
from .verb import AsksModel

if TYPE_CHECKING:
    from ..generation.plan import GenerateOptions
    from ..generation.progress import Progress
    from ..types import TaskType

_TEXT_FILES = (".txt", ".md", ".csv")  # a file by its name, even if it is missing; not "Node.js"
# The keys that only a model can use.
_FOR_A_MODEL = (
    *("model_name", "temperature", "max_output_tokens", "thinking", "topics", "base_url"),
    *("structured", "verify_model", "price", "max_cost", "rpm", "tpm", "max_concurrency"),
    *("axes", "ideas", "widen", "seeds", "benchmarks", "pass_rate", "solver", "judge"),
    "deriver",
)


class Generate(AsksModel):
    """Bring OUT_DIR/dataset.csv up to NUM_SAMPLES verified rows. If you run it again, also after an
    interruption, it generates only the missing rows. Without GEMINI_API_KEY or GOOGLE_API_KEY the
    embedded procedural provider makes the tasks, offline.

    num_samples        rows in total, existing ones included
    out_dir            folder of dataset.csv
    model_name         model to ask (default: that of the folder's rows, else gemini's default)
    provider           auto, procedural, gemini or openai_compatible
    task_dist          weights of the families: coding=1,math=2, or 0.5,0.5 in that order (default:
                       coding=1,math=1; with --tasks the types of its files, in equal shares)
    languages          languages of coding tasks
    topics             topics of the tasks, separated by commas, or a file with one topic per line
    level              level of procedural tasks: 1 to 5, a list (1,3) or a range (1-2)
    families           procedural families, separated by commas (default: all)
    structured         constrain the model's output by a schema
    verify             maximum independent solutions per row, which decide if the row is kept; 0:
                       none (default: as in the folder's earlier runs, else 4 with a model)
    verify_model       model that solves the tasks (default: a model other than the author's, if one
                       is known)
    min_agreement      fraction of the solutions that must agree
    tasks              YAML files of task types of your own; the name of each is its family: see
                       docs/tasks.md
    axes               weights of values by axis: {"level": {"5": 2}, "form": {"class": 0}}
    ideas              list ideas for many tasks in one call (default: with a model)
    novelty            reject rows that repeat earlier ones in other words (default: with a model)
    widen              requests for new concepts when the author runs out of new ideas
    seeds              file of rows or documents from which the tasks are derived
    operators          how tasks are derived from --seeds: deepen, broaden, compose, transfer,
                       constrain, translate (default: all)
    benchmarks         benchmark files; a row whose prompt is in one of them is rejected
    pass_rate          keep rows whose pass rate by --solver is within LOW:HIGH, such as 0.2:0.8
    solver             model that attempts each row: NAME, or NAME@URL of a server of your own
    judge              model that marks each row by --rubric; a low mark rejects the row
    deriver            model that writes a program for each maths row; the program must print the
                       row's answer
    rubric             YAML file of questions by name (default: clear, unambiguous, useful)
    strengthen         search: add tests to coding rows until no killable mutant passes (default,
                       with a model); author: also ask the model of --verify_model for programs that
                       help; off: add none
    preview            generate this number of rows into a temporary folder, and show them; with
                       --tasks and no model, show the requests
    min_distinct       fraction of distinct tasks required from 50 rows on; 0: no check
    max_retries        consecutive failed samples after which a family is given up
    threads            concurrent workers; each makes one call at a time and verifies its answer
    save_every         rows between two syncs to disk
    engine             local: this process; ray: the workers of a Ray cluster, all of which see
                       OUT_DIR
    workers            processes of the cluster (default: one per CPU)
    ray_address        address of the cluster (default: $RAY_ADDRESS, else a cluster is started)
    batch              submit the calls as file batches, at half price; continue with --resume
    resume             continue the batch run in OUT_DIR, with its own config
    wait               with --resume: seconds between checks of the batches, until the target is
                       reached; 0: check once
    status             only list the batches of OUT_DIR that are in progress
    extend             continue a folder that was made with other settings
    dry_run            print the missing rows and their estimated cost; send no request, write no
                       file
    debug              log every outcome; keep prompts and responses in OUT_DIR/debug_prompts
    verbose            print each retry and rejection as well; OUT_DIR/run.log always has them
    quiet              print only the summary

    Examples: infinite-rl generate --num_samples 100 --out_dir data. infinite-rl generate
    config.yaml --max_cost 5. infinite-rl generate --out_dir data --resume --wait 600.

    Exit code: 0 target reached, 1 not reached or too few distinct tasks, 2 wrong usage, 3 a batch
    is in progress, 130 interrupted.
    """

    config_file = "config"
    aliases = {"verbose": "-v", "quiet": "-q"}
    json_form = "one JSON object per run"

    num_samples: int = ranged(10, 1)
    out_dir: FilePath = Path("data")
    task_dist: Mapping[str, Any] | str | None = None
    languages: Strings = ("python", "javascript")
    topics: str | None = None
    level: int | str | None = None
    families: Strings = ()
    structured: bool = False
    verify: int | None = None
    verify_model: str = ""
    min_agreement: Number = MIN_AGREEMENT
    tasks: Strings = ()
    axes: Mapping[str, Any] = field(default_factory=dict)
    ideas: bool | None = None
    novelty: bool | None = None
    widen: int = ranged(0, 0, 100)
    seeds: FilePath | None = None
    operators: Strings = ()
    benchmarks: Strings = ()
    pass_rate: str | None = None
    solver: str = ""
    judge: str = ""
    deriver: str = ""
    rubric: FilePath | None = None
    strengthen: Annotated[str, one_of(*STRENGTHEN)] | None = None
    preview: int = ranged(0, 0, 100)
    min_distinct: Number = ranged(MIN_DISTINCT, 0, 1)
    max_retries: int = 5
    threads: int = ranged(1, 1)
    save_every: int = 1
    engine: Annotated[str, one_of("local", "ray")] = "local"
    workers: int | None = None
    ray_address: str | None = None
    batch: bool = False
    resume: bool = False
    wait: Number = ranged(0.0, 0, 86_400)
    status: bool = False
    extend: bool = False
    debug: bool = False
    verbose: bool = False
    quiet: bool = False

    @classmethod
    def load(cls, flags: Mapping[str, Any], file: Path | None) -> Generate:
        """With --resume, the flags override the config that the batch run was begun with."""
        config = super().load(flags, file)
        if not config.resume:
            return config
        path = config.out_dir / BATCH
        if not path.is_file():
            raise UsageError(f"there is no {path}: no batch run was begun here")
        try:
            return cls.of({**read_yaml(path), **flags})
        except UsageError as error:
            raise StoreError(f"{path} is damaged: {error}") from None

    @property
    def log_level(self) -> int:
        """Retries and rejections are shown with --verbose, every outcome with --debug."""
        return logging.DEBUG if self.debug else logging.INFO if self.verbose else logging.WARNING

    def run(self, emit: Emit) -> int:
        if self.status:
            return self._status(emit)
        if self.preview and not self.dry_run:
            return self._preview(emit)
        if self.verbose and self.quiet:
            raise UsageError("--verbose and --quiet exclude each other")
        while (code := self._generate(emit)) == UNDER_WAY and self.resume and self.wait:
            time.sleep(self.wait)
        return code

    def _preview(self, emit: Emit) -> int:
        """Generate a few rows into a temporary folder, and show them."""
        from ..dataset import load_dataset

        if self.tasks and not PROVIDERS[resolve_provider(self.provider)].asks_a_model:
            return self._preview_requests(emit)
        summary = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            values = {**self.values(), "preview": 0, "num_samples": self.preview}
            values |= {"out_dir": folder, "batch": False, "resume": False}
            values |= {"engine": "local", "workers": None, "ray_address": None}
            code = Generate.of(values).run(Emit(False, [], summary))
            rows = load_dataset(folder).fillna("").to_dict("records")
        lines = summary.getvalue().splitlines()[:-1]  # the last one names the folder
        cell = ("concept", "level", "form", "axes", "idea")
        shown = (*cell, "prompt", "answer", "pass_rate", "judge")
        parts = ["".join(f"{name}: {row[name]}\n" for name in shown if row[name]) for row in rows]
        emit({"rows": rows}, *parts, *lines, f"{len(rows)} rows; nothing was kept")
        return code

    def _preview_requests(self, emit: Emit) -> int:
        """Show what a model would be asked, without one."""
        from ..generation.run import first_requests

        config = Generate.of({**self.values(), "num_samples": self.preview, "quiet": True})
        lines, values, tasks = list[str](), list[Mapping[str, str]](), set[str]()
        for attempt in first_requests(config._options()[0]):
            task = attempt.task
            head = f"system: {task.system_prompt}\n" if task.name not in tasks else ""
            tasks.add(task.name)
            lines.append(f"{head}request: {attempt.request}\n")
            values.append({**attempt.labels, "task": task.name, "request": attempt.request})
        more = f"requests: {len(lines)}; no model is set, so none was asked"
        emit({"requests": values}, *map(plain, lines), more)
        return DONE

    def _status(self, emit: Emit) -> int:
        from ..inference.journal import batches

        sent = [batch for batch in batches(self.out_dir) if batch.slots]
        values = [{"name": batch.name or None, "calls": len(batch.slots)} for batch in sent]
        lines = [f"{batch.name or 'unnamed'}: {len(batch.slots)} calls pending" for batch in sent]
        emit({"batches": values}, *(lines or ["no batch is under way"]))
        return UNDER_WAY if sent else DONE

    def _generate(self, emit: Emit) -> int:
        from ..generation.run import STOPPED_ON_REQUEST
        from .display import planned

        options, models = self._options()
        try:
            progress = self._progress(options, models)
        except KeyboardInterrupt:
            note("interrupted; accepted rows are kept")
            os._exit(INTERRUPTED)  # a call under way would hold up an ordinary exit
        if self.dry_run:
            emit(self._values(progress), planned(progress))
            return DONE
        if progress.batches:
            self._write_batch()
        looks_again = bool(progress.batches and self.resume and self.wait)
        diverse = looks_again and not emit.json or self._summary(progress, models, emit)
        if progress.batches:
            again = f"infinite-rl generate --out_dir {self.out_dir} --resume"
            note(f"under way: {', '.join(progress.batches)}; later: {again}")
            return UNDER_WAY
        if progress.complete:
            return DONE if diverse else NOT_DONE
        return INTERRUPTED if progress.stopped == STOPPED_ON_REQUEST else NOT_DONE

    def _options(self) -> tuple[GenerateOptions, str]:
        """The options of the run, and the models that it asks, "" for none; both are checked."""
        from ..generation.plan import GenerateOptions

        for key in ("workers", "ray_address"):
            if self.engine == "local" and getattr(self, key) is not None:
                raise UsageError(f"--{key} needs --engine ray")
        if self.model_name is not None and not self.model_name.strip():
            raise UsageError("--model_name is empty: name a model, or leave the option out")
        provider = resolve_provider(self.provider)
        same = self.pick(
            *(each.name for each in fields(GenerateOptions) if hasattr(self, each.name))
        )
        own = {"provider": provider, "topics": _topics(self.topics), "num_threads": self.threads}
        own["extra_tasks"] = tasks = self._extra_tasks()
        if self.tasks and not PROVIDERS[provider].asks_a_model and not self.preview:
            hint = "set GEMINI_API_KEY, or give --provider and --model_name; --preview 3 needs none"
            raise UsageError(f"{provider} makes no task types of --tasks: {hint}")
        own["task_dist"] = self.task_dist or {task.family: 1.0 for task in tasks.values()}
        own["task_dist"] = own["task_dist"] or GenerateOptions.task_dist
        options = GenerateOptions(**{**same, **own})
        chosen, models, notes = options.resolved(), "", list[str]()
        if PROVIDERS[provider].asks_a_model:
            models = str(chosen.model_name)
            if self.model_name is None and models != DEFAULT_MODEL:
                notes.append(f"model: {models}, as {self.out_dir} was made with")
            if chosen.verify:
                solver = "itself" if chosen.verify_model in ("", models) else chosen.verify_model
                models += f", checked by {solver}"
        if self.provider == AUTO:
            why = "no GEMINI_API_KEY or GOOGLE_API_KEY is set: tasks are made here, offline"
            why = f"an API key is set, asking {models}" if models else why
            notes.append(f"provider: {provider} ({why})")
        elif models:
            notes.append(f"asking {models}")
        unused = [f"--{key}" for key in _FOR_A_MODEL if getattr(self, key) and not models]
        if unused and not self.preview:
            notes.append(f"{provider} asks no model: {', '.join(unused)} not used")
        for line in notes if not self.quiet else notes[-1:] if unused else []:
            note(line)
        return options, models

    def _extra_tasks(self) -> dict[str, TaskType]:
        """The task types of the files, by name."""
        if not self.tasks:
            return {}
        from ..tasks.custom import read_task_type

        types = [read_task_type(path) for path in self.tasks]
        names = [task.name for task in types]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(f"--tasks has two task types of the name {twice[0]!r}")
        return dict(zip(names, types, strict=True))

    def _progress(self, options: GenerateOptions, models: str) -> Progress:
        """Run, here or on a cluster, and show the progress."""
        from rich.console import Console

        from .display import display, estimated

        shown = not models or options.verify == 0 or self.dry_run or self.quiet
        with stop_on_signals() as stop, display(Console(stderr=True), quiet=self.quiet) as show:

            def on_progress(progress: Progress) -> None:
                nonlocal shown  # the estimate comes first: solutions multiply the cost
                if not shown and progress.estimate:
                    line = estimated(progress.estimate, progress.spending.calls)
                    note(line)
                shown = True
                show(progress)

            options = replace(options, stop=stop, on_progress=on_progress)
            if self.engine == "ray":
                from ..generation.ray import generate_on_ray

                return generate_on_ray(options, self.workers, self.ray_address)
            from ..generation.run import generate

            return generate(options)

    def _values(self, progress: Progress) -> dict[str, object]:
        """The state of the run; `estimate` is what the rows missing at its start may take."""
        passing = ("in_flight", "cap", "most")
        values = {key: value for key, value in vars(progress).items() if key not in passing}
        values |= {"retries": progress.retries.total(), "retries_by_kind": progress.retries}
        values["missing"] = {family: progress.missing(family) for family in progress.targets}
        derived = ("acceptance_rate", "cost_per_row", "projected_cost", "wrong_answers_stopped")
        values |= {key: getattr(progress, key) for key in (*derived, "complete")}
        return {**values, "dry_run": self.dry_run, "out": self.out_dir / "dataset.csv"}

    def _summary(self, progress: Progress, models: str, emit: Emit) -> bool:
        """Print the result. False if a model has written the same few tasks again and again."""
        from ..dataset.rows import read
        from .display import by_model, difficulty, diversity, done, lacking

        # As the run was made, with or without --verify.
        verified = bool(read_manifest(self.out_dir).get("settings", {}).get("verify"))
        lines, values = [done(progress, verified=verified, models=models)], self._values(progress)
        problems, diverse = lacking(progress), True
        if not models:  # templates repeat by design: the procedural provider is not measured
            lines += by_model(read(self.out_dir))
        else:
            from ..generation.novelty import distinct_tasks

            rows = list(read(self.out_dir))
            lines += by_model(rows)
            distinct = distinct_tasks(rows)
            values["distinct_tasks"] = distinct.tasks
            values["effective_tasks"] = distinct.effective
            lines += diversity(progress, distinct)
            lines += difficulty(self.pass_rate, rows) if self.pass_rate else []
            if distinct.collapsed(self.min_distinct):
                diverse = False
                few = f"{distinct}, fewer than --min_distinct {self.min_distinct:g}"
                problems.append(f"{few}: ask for other tasks by --topics")
        emit(values, *lines, f"in {values['out']}")
        for line in problems:
            note(plain(line))
        return diverse

    def _write_batch(self) -> None:
        """Save the config, with which --resume continues."""
        path = self.out_dir / BATCH
        values = {k: v for k, v in self.values().items() if k not in ("resume", "wait", "dry_run")}
        with store_errors(f"cannot write {path}"):
            path.write_text(json.dumps(values), encoding="utf-8")


def _topics(text: str | None) -> list[str]:
    """Topics from a file, one a line, or from the text itself."""
    path = Path(text or "")
    if not text or not (path.is_file() or path.suffix in _TEXT_FILES):
        topics = [part.strip() for part in (text or "").split(",") if part.strip()]
        if text and not topics:
            raise UsageError(f"--topics {text!r} names no topic")
        return topics
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the topics in {path}: {error}") from None
    if topics := [line.strip() for line in lines if line.strip()]:
        return topics
    raise UsageError(f"there are no topics in {path}")
