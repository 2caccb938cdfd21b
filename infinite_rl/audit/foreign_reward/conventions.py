"""How each library calls a reward: to add a kind, write a function and give it a row in `KINDS`."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

from .parameters import GOLD, PROMPT, Unfit, call_accepted, call_by_name, required
from .tasksets import Tasks

MESSAGES = "\x00messages:"  # before a JSON list of chat messages, or of items of a response


def call(kind: str, target: Any, rows: list[Any], texts: list[str], chat: bool) -> list[Any]:
    """What a target returns for completions of rows: by one call of a batch, or by one call each.

    With `chat`, prompts and completions are messages. Raises what the target raises, and `Unfit`.
    """
    one = KINDS[kind].call
    if KINDS[kind].in_batches:
        return list(map(_awaited, _awaited(one(target, rows, texts, chat))))
    pairs = zip(rows, texts, strict=True)
    return [_awaited(one(target, row, text, chat)) for row, text in pairs]


def _awaited(value: Any) -> Any:
    if not inspect.isawaitable(value):
        return value

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _message(text: str, chat: bool) -> Any:
    if text.startswith(MESSAGES):
        return json.loads(text[len(MESSAGES) :])
    return [{"role": "assistant", "content": text}] if chat else text


def _prompt(row: dict[str, Any], chat: bool) -> Any:
    return [{"role": "user", "content": row["prompt"]}] if chat else row["prompt"]


# --- a batch a call ------------------------------------------------------------------------------


def _trl(fn: Any, rows: list[Any], completions: list[str], chat: bool) -> Any:
    """f(prompts, completions, **columns): a list of rewards."""
    names = {name for row in rows for name in row["columns"]}
    values: dict[str, Any] = {name: [row["columns"].get(name) for row in rows] for name in names}
    values.update(
        prompts=[_prompt(row, chat) for row in rows],
        completions=[_message(text, chat) for text in completions],
        completion_ids=[[ord(char) % 1000 for char in text] for text in completions],
        trainer_state=None,
        log_extra=lambda *_: None,
        log_metric=lambda *_: None,
    )
    for name in required(fn):
        if name not in values and name.rstrip("s") in GOLD:
            values[name] = [row["answer"] for row in rows]
    return call_accepted(fn, values)


def _openrlhf(fn: Any, rows: list[Any], completions: list[str], _chat: bool) -> Any:
    """reward_func(queries, prompts, labels), or the URL of a remote reward."""
    prompts = [row["prompt"] for row in rows]
    queries = [prompt + text for prompt, text in zip(prompts, completions, strict=True)]
    values = {"query": queries, "prompts": prompts, "labels": [row["answer"] for row in rows]}
    if isinstance(fn, str):
        reply = _post(fn, values)
    else:
        reply = _awaited(call_accepted(fn, {"queries": queries, **values}))
    if isinstance(reply, dict):
        reply = reply.get("rewards", reply.get("scores"))
    return reply.tolist() if hasattr(reply, "tolist") else reply


# --- a completion a call -------------------------------------------------------------------------


def _plain(fn: Any, row: dict[str, Any], text: str, _chat: bool) -> Any:
    """f(completion, answer), with further columns by their names."""
    return call_by_name(fn, text, row)


def _verl(fn: Any, row: dict[str, Any], text: str, _chat: bool) -> Any:
    """compute_score(data_source, solution_str, ground_truth, extra_info)."""
    columns = row["columns"]
    values = {
        "data_source": columns.get("data_source", "audit"),
        "solution_str": text,
        "ground_truth": row["answer"],
        "extra_info": columns.get("extra_info") or dict(columns),
    }
    return call_accepted(fn, values)


def _verifiers(fn: Any, row: dict[str, Any], text: str, chat: bool) -> Any:
    """A taskset or a task, a function of a rubric, a rubric, or load_environment."""
    if isinstance(fn, Tasks):
        return fn.reward(row, _message(text, True))
    funcs, weights = _of_rubric(fn) or ([fn], [1.0])
    columns = row["columns"]
    values = {
        "prompt": _prompt(row, chat),
        "completion": _message(text, chat),
        "answer": row["answer"],
        "info": columns.get("info", dict(columns)),
    }
    values["state"] = {**values, "turn": 1}
    values["task"] = columns.get("task", "default")
    values["parser"] = getattr(getattr(fn, "rubric", fn), "parser", None)
    parts = [_awaited(call_accepted(each, values)) for each in funcs]
    if len(parts) == 1 and weights == [1.0]:
        return parts[0]
    return sum(weight * float(part) for weight, part in zip(weights, parts, strict=True))


def _of_rubric(target: Any) -> tuple[list[Any], list[float]] | None:
    """The functions and the weights of a rubric, or of an environment that has one."""
    rubric, parts = getattr(target, "rubric", target), None
    for names in (("funcs", "weights"), ("reward_funcs", "reward_weights")):
        funcs = getattr(rubric, names[0], None)
        if isinstance(funcs, list):
            parts = funcs, getattr(rubric, names[1], None) or [1.0] * len(funcs)
    return parts


def _lm_eval(fn: Any, row: dict[str, Any], text: str, _chat: bool) -> Any:
    """process_results(doc, results)."""
    return fn(copy.deepcopy(row["columns"]), [text])


def _lighteval(fn: Any, row: dict[str, Any], text: str, _chat: bool) -> Any:
    """A sample-level metric: compute(golds, predictions) or (doc, model_response)."""
    compute = next((getattr(fn, n) for n in ("compute", "sample_level_fn") if hasattr(fn, n)), fn)
    gold = str(row["answer"])
    doc = SimpleNamespace(
        query=row["prompt"],
        choices=[gold],
        gold_index=0,
        specific=row["columns"],
        get_golds=lambda: [gold],
    )
    response = SimpleNamespace(text=[text], final_text=[text], text_post_processed=[text])
    values: dict[str, Any] = {"golds": [gold], "references": [gold], "predictions": [text]}
    values |= {"formatted_doc": doc, "doc": doc, "model_response": response}
    return call_accepted(compute, values)


def _infinite_rl(fn: Any, row: dict[str, Any], text: str, _chat: bool) -> Any:
    """A reward of this package: 1.0 if its status is "passed", None if it is "unscored"."""
    from infinite_rl.types import Sample  # the target's file has imported it

    columns = row["columns"]
    name, language = columns.get("type") or fn.task_name, columns.get("language") or ""
    score = fn.score(Sample(name, row["prompt"], row["answer"], "", language), text)
    return None if score.status == "unscored" else float(score.passed)


def _nemo_gym(fn: Any, row: dict[str, Any], text: str, _chat: bool) -> Any:
    """The URL of a resources server's /verify, or verify(body)."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "1", "type": "message", "role": "assistant", "status": "completed"}
    output = [{**message, "content": [part]}]
    if text.startswith(MESSAGES):
        output = _message(text, True)
    prompt = {"responses_create_params": {"input": _prompt(row, True)}, **row["columns"]}
    prompt.pop("response", None)
    response = {
        **{"id": "1", "created_at": 0.0, "model": "audit", "object": "response"},
        **{"parallel_tool_calls": False, "tool_choice": "none", "tools": [], "output": output},
    }
    if isinstance(fn, str):
        ask = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open
        with suppress(OSError, ValueError):  # a server without sessions
            _post(fn[: -len("verify")] + "seed_session", prompt, ask)
        reply = _post(fn, {**prompt, "response": response}, ask)
    else:
        reply = _awaited(fn({**prompt, "response": response}))
    return None if reply.get("mask_sample") else reply.get("reward")


def _post(url: str, body: Any, ask: Callable[..., Any] = urllib.request.urlopen) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with ask(request) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        detail = f"{url} replies {error.code}: {error.read(300).decode(errors='replace')}"
        raise (Unfit if error.code == 422 else OSError)(detail) from None  # 422: not such a row


# --- the kinds -----------------------------------------------------------------------------------


def _takes(target: Any, *names: str) -> bool:
    return callable(target) and {*names} <= {*inspect.signature(target).parameters}


def _is_verify_url(target: Any) -> bool:
    return isinstance(target, str) and target.rstrip("/").endswith("/verify")


def _is_rubric(target: Any) -> bool:
    return isinstance(target, Tasks) or _of_rubric(target) is not None


def _is_function_of_rubric(target: Any) -> bool:
    return any(_takes(target, "completion", name) for name in ("state", "parser", "info"))


def _is_of_lighteval(target: Any) -> bool:
    if hasattr(target, "sample_level_fn") or not callable(target):
        return True
    return any(_takes(target, name) for name in ("golds", "predictions", "formatted_doc"))


def _is_of_infinite_rl(target: Any) -> bool:
    bases = [(c.__module__.partition(".")[0], c.__name__) for c in type(target).__mro__]
    return ("infinite_rl", "RewardFunction") in bases


class Kind(NamedTuple):
    """How a target is called, and whether one `fits`, by its URL, its attributes or its parameters.

    `call` takes the target, a row, a completion and `chat` (see `call`); with `in_batches`, lists
    of rows and completions.
    """

    call: Callable[[Any, Any, Any, bool], Any]
    fits: Callable[[Any], bool]
    in_batches: bool = False


KINDS = {
    "nemo_gym": Kind(_nemo_gym, _is_verify_url),
    "openrlhf": Kind(_openrlhf, lambda to: isinstance(to, str) or _takes(to, "queries"), True),
    "verifiers": Kind(_verifiers, lambda to: _is_rubric(to) or _is_function_of_rubric(to)),
    "infinite_rl": Kind(_infinite_rl, _is_of_infinite_rl),
    "lighteval": Kind(_lighteval, _is_of_lighteval),
    "trl": Kind(_trl, lambda to: _takes(to, "completions"), True),
    "verl": Kind(_verl, lambda to: _takes(to, "solution_str", "ground_truth")),
    "lm_eval": Kind(_lm_eval, lambda to: required(to) == ["doc", "results"]),
    "plain": Kind(_plain, lambda _: True),
}  # the first that fits


def kind_of(target: Any) -> str:
    """The kind of a target."""
    return next(name for name, kind in KINDS.items() if kind.fits(target))


# Parameters that bring the prompt, beside those of a plain function: prompts, and whole rows.
_PROMPTED = (
    *PROMPT, "prompts", "queries", "doc", "formatted_doc", "row", "example", "sample", "body",
)  # fmt: skip


def gets_prompt(target: Any) -> bool:
    """Whether a call brings the prompt: the protocol sends it, or a parameter is named for it."""
    if isinstance(target, (str, Tasks)):
        return True
    if kind_of(target) == "infinite_rl":  # the base class gives `compute_reward` the answer alone
        return not type(target).score.__qualname__.startswith("RewardFunction.")
    function = getattr(target, "compute", getattr(target, "sample_level_fn", target))
    functions, _ = _of_rubric(target) or ([function], [])
    names: set[str] = set()
    for fn in functions:
        with suppress(TypeError, ValueError):  # it shows no parameters
            names.update(inspect.signature(fn).parameters)
    return not names.isdisjoint(_PROMPTED)
