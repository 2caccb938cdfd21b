"""lm_eval, with all that makes its numbers comparable: no score without the settings behind it.

Its own defaults differ from backend to backend, and cut answers off (at 256 tokens where a task
says nothing), so each score is shown with the backend, examples, stop strings and greatest number
of tokens that were in force, and with the share of answers that reached that number. lm_eval does
not say which were cut off: they are those that have about as many tokens when they are made into
tokens again.

lm_eval runs in a process of its own: `python -m lm_eval run`, 0.4.9 or later.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..dataset import rows
from ..errors import InfiniteRLError, StoreError, UsageError
from ..files.atomic import write_text
from .config import EvaluationConfig
from .summary import markdown_lines, plain

FOLDER, LOG, TABLE, LINES = "lm_eval", "lm_eval.log", "lm_eval.md", "lm_eval.jsonl"
HEAD = ["task", "metric", "score ± standard error", "items", "few-shot", "max tokens"]
HEAD += ["truncated (estimated)", "stop strings"]
_MODELS = {"transformers": "hf", "vllm": "vllm", "server": "local-completions"}
_DEFAULT_TOKENS = 256  # of lm_eval's backends, where a task says nothing
_AT_THE_END = 0.97  # of the tokens: made into tokens again, a text may have a few fewer
_STYLES = ("chat", "plain")


@dataclass(frozen=True)
class Line:
    """One figure of lm_eval's, and what it rests on; None stands where nobody can tell."""

    task: str
    metric: str
    value: float
    stderr: float | None
    items: int
    few_shot: int
    max_tokens: int
    stop: Sequence[str]
    truncated: float | None
    higher_is_better: bool | None = None

    def cells(self) -> list[str]:
        """As cells of a table."""
        spread = "" if self.stderr is None else f" ± {100 * self.stderr:.2f}"
        share = "not known" if self.truncated is None else f"{100 * self.truncated:.1f} %"
        stops = json.dumps(list(self.stop))
        return [
            *(self.task, self.metric, f"{100 * self.value:.2f}{spread} %", str(self.items)),
            *(str(self.few_shot), str(self.max_tokens), share, plain(stops, 200)),
        ]


def check_installed() -> None:
    """Raise UsageError where there is no lm_eval."""
    if find_spec("lm_eval") is None:
        raise UsageError("lm_eval is not installed: pip install 'infinite-rl[eval]'")


def run_harness(config: EvaluationConfig) -> str:
    """Run lm_eval as a config says; the table, which is also written to OUT/lm_eval.md.

    OUT/lm_eval.jsonl has the same figures, and is written last.

    Raises:
        UsageError: the config asks for what lm_eval has not, or it is not installed.
        InfiniteRLError: lm_eval failed; the message has its last words, OUT/lm_eval.log all.
    """
    out = Path(config.out)
    if not config.out:
        raise UsageError("out is missing: the folder that the results go to")
    check_installed()
    words = command(config)
    count = counter(config)  # hours before it is needed: it may fail
    out.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **({"HF_ALLOW_CODE_EVAL": "1"} if config.unsafe_code else {})}
    with (out / LOG).open("wb") as log:
        done = subprocess.run(words, stdout=log, stderr=subprocess.STDOUT, env=environment)
    if done.returncode:
        raise InfiniteRLError(f"lm_eval failed ({_last_words(out / LOG)}); see {out / LOG}")
    found = list(lines(out / FOLDER, config, count))
    told = f"backend {_model(config)}, seed {config.seed}, batch size {_batch_size(config)}"
    text = "\n".join(
        [
            *markdown_lines([HEAD, *(line.cells() for line in found)]),
            "",
            f"{told}; chat template: {'yes' if config.prompt_template == 'chat' else 'no'}",
            shlex.join(words),
            "",
        ]
    )
    write_text(out / TABLE, text)
    rows.write(map(asdict, found), out / LINES)
    return text


def read_lines(out: Path) -> list[Line]:
    """The figures that `run_harness` left. Raises StoreError where there are none."""
    try:
        return [Line(**row) for row in rows.read(out / LINES)]
    except (TypeError, UsageError) as error:
        raise StoreError(f"{out / LINES} holds no figures of lm_eval: {error}") from None


def command(config: EvaluationConfig) -> list[str]:
    """The command line of lm_eval: nothing that a score depends on is left to a default of its own.

    Raises:
        UsageError: lm_eval has no such thing.
    """
    if config.prompt_template not in _STYLES:
        raise UsageError(
            f"lm_eval puts its prompts itself: the style is one of {', '.join(_STYLES)}, not "
            f"{config.prompt_template!r}"
        )
    if config.samples > 1 or config.shards > 1 or config.shots or config.system != "default":
        raise UsageError(
            "samples, shards, shots and system are of the native harness, not lm_eval's"
        )
    if "," in config.model:
        raise UsageError(f"lm_eval splits a model's name at commas: {config.model!r}")
    words = [sys.executable, "-m", "lm_eval", "run", "--model", _model(config)]
    words += ["--model_args", *_model_args(config), "--tasks", ",".join(config.tasks)]
    words += ["--num_fewshot", str(config.few_shot), "--seed", str(config.seed)]
    words += ["--batch_size", _batch_size(config), "--gen_kwargs", *_sampling(config)]
    words += ["--output_path", str(Path(config.out) / FOLDER), "--log_samples"]
    words += ["--limit", str(config.limit)] if config.limit else []
    words += ["--apply_chat_template"] if config.prompt_template == "chat" else []
    words += ["--include_path", config.include_path] if config.include_path else []
    words += ["--confirm_run_unsafe_code"] if config.unsafe_code else []
    if config.backend == "transformers" and config.device != "auto":
        words += ["--device", config.device]
    return words


def _model(config: EvaluationConfig) -> str:
    chats = config.backend == "server" and config.prompt_template == "chat"
    return "local-chat-completions" if chats else _MODELS[config.backend]


def _batch_size(config: EvaluationConfig) -> str:
    return "auto" if config.backend == "vllm" else str(config.batch_size)  # vLLM batches by itself


def _model_args(config: EvaluationConfig) -> list[str]:
    if config.backend == "server":
        if not config.base_url:
            raise UsageError("the backend server needs base_url")
        place = "chat/completions" if config.prompt_template == "chat" else "completions"
        return [f"model={config.model}", f"base_url={config.base_url.rstrip('/')}/{place}"]
    args = [f"pretrained={config.model}", f"dtype={config.dtype}"]
    if config.backend == "vllm":
        args += [f"tensor_parallel_size={config.tensor_parallel_size}", f"seed={config.seed}"]
        args += [f"gpu_memory_utilization={config.gpu_memory_utilization}"]
    if config.max_model_len:
        name = "max_model_len" if config.backend == "vllm" else "max_length"
        args.append(f"{name}={config.max_model_len}")
    return args


def _sampling(config: EvaluationConfig) -> list[str]:
    found = [
        f"temperature={config.sampling_temperature:g}",
        f"do_sample={bool(config.sampling_temperature)}",
    ]
    if config.sampling_temperature:
        found.append(f"top_p={config.top_p:g}")
    if config.max_new_tokens:
        found.append(f"max_gen_toks={config.max_new_tokens}")
    if config.stop:
        found.append(f"until={json.dumps(list(config.stop))}")
    return found


def _last_words(log: Path) -> str:
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return plain(said[-1], 300) if said else "it said nothing"


# --- what came of it -----------------------------------------------------------------------------


def lines(
    folder: Path, config: EvaluationConfig, count: Callable[[str], int] | None
) -> Iterator[Line]:
    """The figures of the newest results in a folder, in lm_eval's order.

    `count` says how many tokens a text has, None where there is no tokenizer.

    Raises:
        StoreError: there are none.
    """
    files = sorted(folder.rglob("results_*.json"), key=lambda path: path.name)
    if not files:
        raise StoreError(f"lm_eval has left no results in {folder}")
    found = json.loads(files[-1].read_text(encoding="utf-8"))
    stamp = files[-1].stem.removeprefix("results_")
    for task, figures in found["results"].items():
        parts = found.get("group_subtasks", {}).get(task) or [task]
        settings = found["configs"].get(task) or found["configs"].get(parts[0]) or {}
        kwargs = settings.get("generation_kwargs") or {}
        most = int(kwargs.get("max_gen_toks") or config.max_new_tokens or _DEFAULT_TOKENS)
        texts = [
            text
            for part in parts
            for text in _responses(files[-1].with_name(f"samples_{part}_{stamp}.jsonl"))
        ]
        better = found.get("higher_is_better", {}).get(task) or {}
        yield from (
            Line(
                task=task,
                metric=metric,
                value=value,
                stderr=stderr,
                items=len(texts),
                few_shot=config.few_shot,
                max_tokens=most,
                stop=kwargs.get("until") or (),
                truncated=_truncated(texts, most, count),
                higher_is_better=better.get(metric.partition(",")[0]),
            )
            for metric, value, stderr in _metrics(figures)
        )


def _metrics(figures: Mapping[str, Any]) -> Iterator[tuple[str, float, float | None]]:
    """Each metric with its filter, its value, and its standard error if it has one."""
    for name, value in figures.items():
        metric, comma, filter_ = name.partition(",")
        if not comma or metric.endswith("_stderr") or not isinstance(value, int | float):
            continue
        stderr = figures.get(f"{metric}_stderr,{filter_}")
        yield name.replace(",none", ""), value, stderr if isinstance(stderr, float) else None


def _responses(path: Path) -> list[str]:
    """What the model has said to each item, once for all filters."""
    if not path.is_file():
        return []
    said: dict[object, str] = {}
    for row in rows.read(path):
        first = row["resps"][0]
        said[row["doc_id"]] = str(first[0] if isinstance(first, list) else first)
    return list(said.values())


def _truncated(texts: Sequence[str], most: int, count: Callable[[str], int] | None) -> float | None:
    if count is None or not texts:
        return None
    return sum(count(text) >= _AT_THE_END * most for text in texts) / len(texts)


def counter(config: EvaluationConfig) -> Callable[[str], int] | None:
    """How many tokens a text has for the model; None for a server's. Raises UsageError."""
    if config.backend == "server":
        return None
    from ..training.core.learner import pretrained_tokenizer

    tokenizer = pretrained_tokenizer(config.model, {})
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])
