"""Run a foreign reward in a separate process.

This file is run by its path, also by another interpreter: it needs the standard library alone, of
Python 3.10 or newer. Requests come as JSON lines on stdin, replies go out as JSON lines on the
original stdout; the reward itself reads and prints nothing. A middle process stands between the
caller and the reward, so a reward that kills its parent does not reach the caller.

the kinds of call  one function a library, `_trl` or `_verl`: how it calls a reward. To add a kind,
                   write one, and give it a row in `KINDS` and a case in `kind_of`
values             a reward's number from what a call returns (`_reward`), what a call must leave as
                   it was (`_state`), and `_Job`: one request, in a row, in threads or in forks
the process        a target from its name (`load`), what is said of it (`describe`), the loop over
                   requests (`_serve`), and the start (`main`)
"""

from __future__ import annotations

import asyncio
import builtins
import copy
import decimal
import gc
import importlib
import importlib.util
import inspect
import json
import math
import os
import random
import signal
import sys
import threading
import time
import types
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

_SOURCE_CHARS = 200_000
MESSAGES = "\x00messages:"  # before a JSON list of chat messages, or of items of a response
PATCHED = "built-in functions"  # a name in `_state`
_SOAK_S = 3.0  # for many calls
_MANY_ROUNDS = 400
_GROWTH_CALLS = 700  # a third of the calls
_FORKS = 3
_VARIABLES = "environment variables"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)
# Names of parameters, the surest first.
_COMPLETION = (
    "completion", "response", "solution_str", "output", "prediction", "predicted", "pred",
    "model_output", "generation", "generated", "completion_text", "response_text", "reply",
    "candidate", "student", "model_response", "text", "code", "program", "solution",
)  # fmt: skip
_GOLD = (
    "answer", "gold", "ground_truth", "target", "reference", "expected", "label", "truth", "gt",
    "correct_answer", "ref", "solution", "tests", "reference_answer", "gold_answer", "correct",
    "final_answer",
)  # fmt: skip
_PROMPT = ("prompt", "question", "problem", "query", "instruction", "input")
_ROW = ("row", "doc", "example", "sample", "item", "task", "info", "extra_info", "state")


class Unfit(ValueError):
    """The row or the target does not fit the call, which is no fault of the reward."""


# --- the kinds of call ---------------------------------------------------------------------------


def _named(fn: Callable[..., Any], completion: Any, row: dict[str, Any]) -> Any:
    """Call a function of one completion: by the names of its parameters, else by position."""
    columns, required = row["columns"], _required(fn)
    first = next((name for name in _COMPLETION if name in required), (required or [""])[0])
    values: dict[str, Any] = {}
    for name, parameter in inspect.signature(fn).parameters.items():
        if name == first:
            values[name] = completion
        elif parameter.kind is parameter.VAR_KEYWORD:
            values.update({n: v for n, v in columns.items() if n not in values})
        elif name in columns:
            values[name] = columns[name]
        elif name in _PROMPT:
            values[name] = row["prompt"]
        elif name in _ROW and name in required:
            values[name] = columns
        elif name in _GOLD or name in required:
            values[name] = row["answer"]
    fixed = inspect.signature(fn).parameters.values()
    args = [values.pop(p.name) for p in fixed if p.kind is p.POSITIONAL_ONLY and p.name in values]
    return fn(*args, **values)


def _required(fn: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(fn).parameters.values()
    return [p.name for p in parameters if p.kind not in kinds and p.default is p.empty]


def _accepted(fn: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Those of the values that the function takes, and None for what else it requires."""
    parameters = inspect.signature(fn).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        args = dict(values)
    else:
        args = {name: value for name, value in values.items() if name in parameters}
    for name in _required(fn):
        args.setdefault(name, None)
    return args


def _plain(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> list[Any]:
    return [_named(fn, text, row) for text, row in zip(completions, rows, strict=True)]


def _trl(fn: Any, rows: list[Any], completions: list[str], chat: bool) -> list[Any]:
    names = {name for row in rows for name in row["columns"]}
    values: dict[str, Any]
    values = {name: [row["columns"].get(name) for row in rows] for name in names}
    prompts = [_prompt(row, chat) for row in rows]
    values.update(
        prompts=prompts,
        completions=[_message(text, chat) for text in completions],
        completion_ids=[[ord(char) % 1000 for char in text] for text in completions],
        trainer_state=None,
        log_extra=lambda *_: None,
        log_metric=lambda *_: None,
    )
    for name in _required(fn):
        if name not in values and name.rstrip("s") in _GOLD:
            values[name] = [row["answer"] for row in rows]
    return list(fn(**_accepted(fn, values)))


def _message(text: str, chat: bool) -> Any:
    if text.startswith(MESSAGES):
        return json.loads(text[len(MESSAGES) :])
    return [{"role": "assistant", "content": text}] if chat else text


def _prompt(row: dict[str, Any], chat: bool) -> Any:
    return [{"role": "user", "content": row["prompt"]}] if chat else row["prompt"]


def _verl(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> list[Any]:
    results = []
    for text, row in zip(completions, rows, strict=True):
        columns = row["columns"]
        values = {
            "data_source": columns.get("data_source", "audit"),
            "solution_str": text,
            "ground_truth": row["answer"],
            "extra_info": columns.get("extra_info") or dict(columns),
        }
        results.append(fn(**_accepted(fn, values)))
    return results


def _verifiers(fn: Any, rows: list[Any], completions: list[str], chat: bool) -> list[Any]:
    if isinstance(fn, Tasks):
        pairs = zip(completions, rows, strict=True)
        return [_awaited(fn.reward(row, _message(text, True))) for text, row in pairs]
    return _rubric(fn, rows, completions, chat)


def _rubric(fn: Any, rows: list[Any], completions: list[str], chat: bool) -> list[Any]:
    funcs = [fn]
    weights: list[float] = [1.0]
    rubric = getattr(fn, "rubric", fn)
    for names in (("funcs", "weights"), ("reward_funcs", "reward_weights")):
        if isinstance(getattr(rubric, names[0], None), list):
            funcs = getattr(rubric, names[0])
            weights = getattr(rubric, names[1], None) or [1.0] * len(funcs)
    results = []
    for text, row in zip(completions, rows, strict=True):
        columns = row["columns"]
        values = {
            "prompt": _prompt(row, chat),
            "completion": _message(text, chat),
            "answer": row["answer"],
            "info": columns.get("info", dict(columns)),
        }
        values["state"] = {**values, "turn": 1}
        values["task"] = columns.get("task", "default")
        values["parser"] = getattr(rubric, "parser", None)
        parts = [_awaited(each(**_accepted(each, values))) for each in funcs]
        if len(parts) == 1 and weights == [1.0]:
            results += parts
        else:
            results.append(sum(w * float(p) for w, p in zip(weights, parts, strict=True)))
    return results


def _lm_eval(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> list[Any]:
    return [
        fn(copy.deepcopy(row["columns"]), [t]) for t, row in zip(completions, rows, strict=True)
    ]


def _lighteval(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> list[Any]:
    compute = next((getattr(fn, n) for n in ("compute", "sample_level_fn") if hasattr(fn, n)), fn)
    results = []
    for text, row in zip(completions, rows, strict=True):
        gold = str(row["answer"])
        doc = types.SimpleNamespace(
            query=row["prompt"],
            choices=[gold],
            gold_index=0,
            specific=row["columns"],
            get_golds=lambda gold=gold: [gold],
        )
        response = types.SimpleNamespace(text=[text], final_text=[text], text_post_processed=[text])
        values: dict[str, Any]
        values = {"golds": [gold], "references": [gold], "predictions": [text]}
        values |= {"formatted_doc": doc, "doc": doc, "model_response": response}
        results.append(compute(**_accepted(compute, values)))
    return results


def _openrlhf(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> list[Any]:
    prompts = [row["prompt"] for row in rows]
    queries = [prompt + text for prompt, text in zip(prompts, completions, strict=True)]
    labels = [row["answer"] for row in rows]
    if isinstance(fn, str):
        reply = _post(fn, {"query": queries, "prompts": prompts, "labels": labels})
    else:
        values = {"queries": queries, "query": queries, "prompts": prompts, "labels": labels}
        reply = fn(**_accepted(fn, values))
    if isinstance(reply, dict):
        reply = reply.get("rewards", reply.get("scores"))
    return reply.tolist() if hasattr(reply, "tolist") else list(reply)


def _nemo_gym(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> list[Any]:
    results = []
    for text, row in zip(completions, rows, strict=True):
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"id": "1", "type": "message", "role": "assistant", "status": "completed"}
        output = [{**message, "content": [part]}]
        if text.startswith(MESSAGES):
            output = json.loads(text[len(MESSAGES) :])
        request = {"input": [{"role": "user", "content": row["prompt"]}]}
        body = {
            "responses_create_params": request,
            **row["columns"],
            "response": {
                **{"id": "1", "created_at": 0.0, "model": "audit", "object": "response"},
                **{"parallel_tool_calls": False, "tool_choice": "none", "tools": []},
                "output": output,
            },
        }
        if isinstance(fn, str):
            ask = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open
            with suppress(OSError, ValueError):  # a server without sessions
                prompt = {name: value for name, value in body.items() if name != "response"}
                _post(fn[: -len("verify")] + "seed_session", prompt, ask)
            reply = _post(fn, body, ask)
        else:
            reply = _awaited(fn(body))
        results.append(None if reply.get("mask_sample") else reply.get("reward"))
    return results


def _post(url: str, body: Any, ask: Callable[..., Any] = urllib.request.urlopen) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with ask(request) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        detail = f"{url} replies {error.code}: {error.read(300).decode(errors='replace')}"
        raise (Unfit if error.code == 422 else OSError)(detail) from None  # 422: not such a row


class Tasks:
    """A taskset or a task class of verifiers 0.4: the data of each task is a row.

    A task is made from its data anew, as `vf-replay` makes it.
    """

    def __init__(self, target: Any) -> None:
        from verifiers.v1.configs.taskset import TasksetConfig
        from verifiers.v1.task import Task
        from verifiers.v1.taskset import Taskset
        from verifiers.v1.utils.generic import concrete_type

        cls: Any = target if inspect.isclass(target) else type(target)
        self.taskset: Any = None
        if issubclass(cls, Taskset):
            if target is cls:
                target = cls((concrete_type(cls, TasksetConfig, origin=Taskset) or TasksetConfig)())
            self.taskset, self.config = target, target.config.task
            cls = cls.task_type()
            if cls is Task:  # the taskset does not state its type
                cls = type(next(iter(target)))
        else:
            self.config = cls.config_type()()
        self.task, self.__name__ = cls, cls.__name__

    @classmethod
    def fits(cls, target: Any) -> bool:
        """Whether a target is a taskset or a task class, without an import of verifiers."""
        bases = inspect.getmro(target if inspect.isclass(target) else type(target))
        names = {f"{base.__module__}.{base.__qualname__}" for base in bases}
        is_task = "verifiers.v1.task.Task" in names and inspect.isclass(target)
        return is_task or "verifiers.v1.taskset.Taskset" in names

    def rows(self, most: int) -> Iterator[dict[str, Any]]:
        """The data of the first tasks of the taskset, as columns that JSON can hold."""
        from pydantic_core import to_jsonable_python

        if self.taskset is None:
            raise ValueError("a task class has no rows: give it some with --rows FILE")
        for task in islice(self.taskset, most):
            data = task.data
            columns = {name: value for name, value in data if name in data.model_fields_set}
            yield to_jsonable_python(columns)

    async def reward(self, row: dict[str, Any], completion: Any) -> float:
        """Score a finished trace of one completion in a separate folder."""
        from verifiers.v1.configs.agent import WireAgentConfig
        from verifiers.v1.runtimes import SubprocessConfig, provision_runtime
        from verifiers.v1.state import state_cls
        from verifiers.v1.trace import AgentInfo, Trace, TraceTask

        task = self.task(self._data(row), self.config)
        if task.NEEDS_CONTAINER or task.data.image:
            raise Unfit("the task needs a container: the audit has the subprocess runtime")
        kind = {"type": type(task).__name__, "key": task.key, "hash": task.hash}
        trace = Trace(
            task=TraceTask(data=task.data, **kind),
            state=state_cls(self.task)(),
            agent=AgentInfo(config=WireAgentConfig()),
            nodes=_nodes(task.data, completion),
        )
        environment = task.runtime_env()
        async with provision_runtime(SubprocessConfig(), trace.id, environment) as runtime:
            await task.setup(trace, runtime)
            trace.stop("agent_completed")
            await task.finalize(trace, runtime)
            await task.score(trace, runtime)
        if not trace.rewards:
            raise Unfit(f"{self.__name__} has no rewards")
        return float(trace.reward)

    def _data(self, row: dict[str, Any]) -> Any:
        """The row as the data of a task. Raises Unfit if it lacks a required field."""
        cls, columns = self.task.data_type(), row["columns"]
        takes_all = cls.model_config.get("extra") == "allow"
        values = {n: v for n, v in columns.items() if takes_all or n in cls.model_fields}
        values = {n: v for n, v in values.items() if v is not None}
        values.setdefault("prompt", row["prompt"])
        for name, field in cls.model_fields.items():
            if name in values and field.annotation is str and not isinstance(values[name], str):
                values[name] = str(values[name])
            elif name not in values and field.is_required():
                if name not in _GOLD + _PROMPT:
                    raise Unfit(
                        f"the data of {self.__name__} requires {name}: the rows need such a "
                        "column, or leave --rows out to take those of the taskset"
                    )
                gold = row["answer"]
                gold = str(gold) if field.annotation is str else gold
                values[name] = row["prompt"] if name in _PROMPT else gold
        try:
            return cls.model_validate_json(json.dumps(values))
        except ValueError as error:  # pydantic's
            raise Unfit(f"a row is not the data of {self.__name__}: {error}") from None


def _nodes(data: Any, completion: list[dict[str, Any]]) -> list[Any]:
    """The messages of a prompt and a completion, each the parent of the next."""
    from verifiers.v1.graph import MessageNode

    messages = []
    for message in completion:
        calls = [
            {"id": str(at), **call["function"]}
            for at, call in enumerate(message.get("tool_calls") or ())
        ]
        messages.append({**message, "tool_calls": calls} if calls else message)
    own_prompt = data.prompt or ""
    prompt = (
        own_prompt if isinstance(own_prompt, list) else [{"role": "user", "content": own_prompt}]
    )
    system = [{"role": "system", "content": data.system_prompt}] if data.system_prompt else []
    before = len(system) + len(prompt)
    return [
        MessageNode(message=message, parent=at - 1 if at else None, sampled=at >= before)
        for at, message in enumerate([*system, *prompt, *messages])
    ]


KINDS: dict[str, Callable[[Any, list[Any], list[str], bool], list[Any]]] = {
    "plain": _plain,
    "trl": _trl,
    "verl": _verl,
    "verifiers": _verifiers,
    "openrlhf": _openrlhf,
    "nemo_gym": _nemo_gym,
    "lm_eval": _lm_eval,
    "lighteval": _lighteval,
}


def kind_of(target: Any) -> str:
    """The kind of a target by its URL, its attributes, or the names of its parameters."""
    if isinstance(target, str):
        return "nemo_gym" if target.rstrip("/").endswith("/verify") else "openrlhf"
    rubric = getattr(target, "rubric", target)
    if isinstance(target, Tasks):
        return "verifiers"
    if isinstance(getattr(rubric, "funcs", getattr(rubric, "reward_funcs", None)), list):
        return "verifiers"
    if hasattr(target, "sample_level_fn") or not callable(target):
        return "lighteval"
    names = set(inspect.signature(target).parameters)
    required = _required(target)
    tests: list[tuple[str, bool]] = [
        ("openrlhf", "queries" in names),
        ("trl", "completions" in names),
        ("verl", "solution_str" in names and "ground_truth" in names),
        ("lm_eval", required == ["doc", "results"]),
        ("lighteval", bool({"golds", "predictions", "formatted_doc"} & names)),
        ("verifiers", "completion" in names and bool({"state", "parser", "info"} & names)),
    ]
    return next((kind for kind, fits in tests if fits), "plain")


# --- values --------------------------------------------------------------------------------------


def _awaited(value: Any) -> Any:
    if not inspect.isawaitable(value):
        return value

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _reward(value: Any) -> dict[str, Any]:
    """A reward as JSON: {"reward": number}, or {"fault": kind, "what": details}."""
    if isinstance(value, dict):
        names = ("score", "reward", "exact_match", "acc", "accuracy", *value)
        value = next((value[name] for name in names if name in value), None)
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    if value is None:
        return {"fault": "none"}
    if hasattr(value, "item") and not isinstance(value, (int, float)):
        try:
            value = value.item()
        except Exception as error:  # item() of a foreign type may raise any error
            return {"fault": "type", "what": f"{type(value).__name__}: {error}"}
    if not isinstance(value, (bool, int, float)):
        return {"fault": "type", "what": type(value).__name__}
    number = float(value)
    if math.isnan(number) or math.isinf(number):
        return {"fault": "nan", "what": str(number)}
    return {"reward": number}


def _state() -> dict[str, Any]:
    """The state of the process that no call may change."""
    return {
        "the working directory": os.getcwd(),
        "the recursion limit": sys.getrecursionlimit(),
        "a pending alarm": bool(hasattr(signal, "getitimer") and signal.getitimer(0)[0] > 0),
        PATCHED: {name: id(value) for name, value in vars(builtins).items()},
        "the functions of json and math": (id(json.loads), id(json.dumps), id(math.isclose)),
        "sys.stdout": id(sys.stdout),
        "the global random numbers": hash(random.getstate()),
        _VARIABLES: dict(os.environ),
        "the precision of decimals": decimal.getcontext().prec,
        "a signal's handler": [signal.getsignal(each) for each in _SIGNALS],
    }


class _Job:
    """One request: calls the target, and says what came of it."""

    calls = 0  # that were watched in this process

    def __init__(self, target: Any, request: dict[str, Any]) -> None:
        self.target, self.request = target, request
        self.kind, self.chat = request["kind"], request.get("chat", False)

    def call(self, rows: list[Any], completions: list[str]) -> list[dict[str, Any]]:
        """The replies for some completions, by one call of a batch or each by itself."""
        start = time.perf_counter()
        try:
            values = _awaited(KINDS[self.kind](self.target, rows, completions, self.chat))
            values = list(map(_awaited, values))
        except Unfit as error:
            return [{"fault": "unfit", "what": str(error)}] * len(rows)
        except BaseException as error:  # a foreign reward may raise anything, SystemExit too
            what = f"{type(error).__name__}: {str(error)[:200]}"
            return [{"fault": "raised", "what": what}] * len(rows)
        seconds = time.perf_counter() - start
        if len(values) != len(rows):
            what = f"{len(values)} rewards for {len(rows)} completions"
            return [{"fault": "length", "what": what}] * len(rows)
        return [dict(_reward(value), seconds=seconds) for value in values]

    def run(self, emit: Callable[[dict[str, Any]], None]) -> None:
        how, pairs = self.request["how"], self.request["pairs"]
        rows, texts = [row for row, _ in pairs], [text for _, text in pairs]
        if how == "batch":
            for reply in self.call(rows, texts):
                emit(reply)
        elif how == "thread":
            self._threads(rows, texts, 1, emit)
        elif how == "threads":
            self._threads(rows, texts, 8, emit)
        elif how == "fork":
            self._fork(rows, texts, emit)
        elif how == "many":
            self._many(rows, texts, emit)
        elif how == "growth":
            self._growth(rows[0], texts[0], emit)
        else:
            for row, text in zip(rows, texts, strict=True):
                emit(self.watched(row, text))

    def watched(self, row: Any, text: str) -> dict[str, Any]:
        """A reply, with the changes of the call to its arguments and its process."""
        before, kept = _state(), copy.deepcopy(row)
        reply = self.call([row], [text])[0]
        after = _state()
        changed = [name for name in before if before[name] != after[name]]
        if not _Job.calls and _VARIABLES in changed:
            changed.remove(_VARIABLES)  # libraries that the first call imports set some
        _Job.calls += 1
        if row != kept:
            changed.append("its arguments")
        if changed:
            reply["changed"] = changed
        return reply

    def _threads(
        self, rows: list[Any], texts: list[str], count: int, emit: Callable[[Any], None]
    ) -> None:
        replies: list[Any] = [None] * len(rows)

        def work(first: int) -> None:
            for at in range(first, len(rows), count):
                replies[at] = self.call([rows[at]], [texts[at]])[0]

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(count)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for reply in replies:
            emit(reply)

    def _many(self, rows: list[Any], texts: list[str], emit: Callable[[Any], None]) -> None:
        """The first replies, or those of later rounds that differ from them."""
        first = [self.call([row], [text])[0] for row, text in zip(rows, texts, strict=True)]
        last, end = list(first), time.monotonic() + _SOAK_S
        for _ in range(_MANY_ROUNDS):
            if time.monotonic() > end:
                break
            for at, (row, text) in enumerate(zip(rows, texts, strict=True)):
                reply = self.call([row], [text])[0]
                if any(reply.get(key) != first[at].get(key) for key in ("reward", "fault")):
                    last[at] = reply
        for reply in last:
            emit(reply)

    def _growth(self, row: Any, text: str, emit: Callable[[Any], None]) -> None:
        """A reply that says what grows by each call with another text."""
        counts, end = [_kept()], time.monotonic() + _SOAK_S
        reply: dict[str, Any] = {"fault": "none"}
        for part in range(1, 4):
            for number in range(_GROWTH_CALLS):
                reply = self.call([row], [f"{part}.{number} {text}"])[0]
                if time.monotonic() > end:
                    emit(reply)
                    return
            counts.append(_kept())
        grown = [
            name
            for name, at_first in counts[1].items()
            if min(counts[2][name] - at_first, counts[3][name] - counts[2][name])
            >= 0.9 * _GROWTH_CALLS
        ]
        emit(dict(reply, changed=grown) if grown else reply)

    def _fork(self, rows: list[Any], texts: list[str], emit: Callable[[Any], None]) -> None:
        """The replies of several forked processes at once; of a pair the one that differs."""
        children = []
        for _ in range(_FORKS):
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                each = [self.call([row], [text])[0] for row, text in zip(rows, texts, strict=True)]
                with os.fdopen(writing, "w") as out:
                    out.write(json.dumps(each))
                    out.flush()
                    os._exit(0)
            os.close(writing)
            children.append((child, reading))
        replies = []
        for child, reading in children:
            with os.fdopen(reading) as file:
                text = file.read()
            os.waitpid(child, 0)
            replies.append(json.loads(text))
        alone = replies[0]
        for at, reply in enumerate(alone):
            others = (each[at] for each in replies if each[at].get("reward") != reply.get("reward"))
            emit(next(others, reply))


def _kept() -> dict[str, int]:
    """Counts of objects, files and threads, which must not grow with the number of calls."""
    gc.collect()
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return {"memory": sys.getallocatedblocks(), "open files": files,
            "threads": threading.active_count()}  # fmt: skip


# --- the process ---------------------------------------------------------------------------------


def load(spec: str) -> Any:
    """A target by its URL, or by "file.py:name" or "package.module:name".

    Raises AttributeError, ImportError or ValueError; or what the module raises.
    """
    if spec.startswith(("http://", "https://")):
        return spec
    where, _, name = spec.rpartition(":") if ":" in spec else (spec, "", "")
    if where.endswith(".py"):
        sys.path.insert(0, os.path.dirname(where))
        stem = os.path.basename(where)[:-3]
        description = importlib.util.spec_from_file_location(stem, where)
        if description is None or description.loader is None or not os.path.exists(where):
            raise ImportError("there is no file " + where)
        module = importlib.util.module_from_spec(description)
        sys.modules[stem] = module
        description.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    if not name:
        own = getattr(module, "__all__", None)  # a package of a taskset names it there
        own = own or [n for n, v in vars(module).items() if _is_own(n, v, module)]
        if len(own) != 1:
            raise ValueError(f"name one of {', '.join(own) or 'nothing'} as {where}:NAME")
        name = own[0]
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part)
    if inspect.ismodule(target):
        raise ValueError(f"{name} is a module, no reward")
    if Tasks.fits(target):
        return Tasks(target)
    if inspect.isclass(target) or (callable(target) and name.startswith("load_environment")):
        target = target()
    return target


def _is_own(name: str, value: Any, module: Any) -> bool:
    own = inspect.isfunction(value) and value.__module__ == module.__name__
    return own and not name.startswith("_")


def describe(target: Any) -> dict[str, Any]:
    """The kind, name, documentation and source of a target."""
    function = target if inspect.isroutine(target) else type(target)
    if isinstance(target, Tasks):
        function = target.task
    source = ""
    if not isinstance(target, str):
        with suppress(OSError, TypeError):
            source = inspect.getsource(inspect.getmodule(function))  # type: ignore[arg-type]
    doc = inspect.getdoc(function) or "" if not isinstance(target, str) else ""
    if not inspect.isroutine(target) and callable(target):
        doc += "\n" + (inspect.getdoc(type(target).__call__) or "")
    module_doc = getattr(inspect.getmodule(function), "__doc__", "") or ""
    return {
        "kind": kind_of(target),
        "name": getattr(target, "__name__", str(target)),
        "doc": doc + "\n" + module_doc if not isinstance(target, str) else "",
        "source": source[:_SOURCE_CHARS],
    }


def _serve(spec: str, paths: list[str]) -> None:
    """Answer requests until the input ends."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    dumps, loads = json.dumps, json.loads  # a reward may patch the library

    def emit(reply: dict[str, Any]) -> None:
        replies.write(dumps(reply) + "\n")
        replies.flush()

    sys.path[:1] = paths  # and not the folder of this file
    try:
        target = load(spec)
        emit(describe(target))
    except BaseException as error:  # a foreign module may raise anything
        emit({"error": f"{type(error).__name__}: {str(error)[:500]}"})
        return
    for line in requests:
        request = loads(line)
        if request["how"] == "rows":
            _rows(target, request["most"], emit)
            continue
        random.seed(request.get("seed"))
        _Job(target, request).run(emit)


def _rows(target: Any, most: int, emit: Callable[[dict[str, Any]], None]) -> None:
    """Give the rows of a taskset, and then its end or an error."""
    try:
        if not isinstance(target, Tasks):
            raise ValueError("it has no rows: give it some with --rows FILE")
        for columns in target.rows(most):
            emit({"columns": columns})
    except BaseException as error:  # a foreign module may raise anything
        emit({"error": f"{str(error)[:500] or type(error).__name__}"})
    emit({})


def main() -> None:
    """Start: limit the memory, put a process between the caller and the reward, and serve."""
    spec, paths, megabytes = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    child = os.fork()
    if child:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.waitpid(child, 0)
        return
    if megabytes:
        import resource

        limit = megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _serve(spec, paths)
    os._exit(0)


if __name__ == "__main__":
    main()
