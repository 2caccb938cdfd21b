"""Calls of the rewards of other packages that take no completion and gold as they stand.

These run in the interpreter of the peer, which need not have this package.
"""

from __future__ import annotations

import functools
import importlib
import importlib.resources
from pathlib import Path
from typing import Any


def _of(module: str, name: str) -> Any:
    """A name of a package that may not be installed here."""
    value = importlib.import_module(module)
    return getattr(value, name)


def trl_soft_overlong(completion_ids: Any, **_: Any) -> Any:
    """TRL's penalty of length."""
    get_soft_overlong_punishment = _of("trl.rewards", "get_soft_overlong_punishment")

    return get_soft_overlong_punishment(400, 100)(completion_ids)


def trl_cosine(completions: Any, completion_ids: Any, **columns: Any) -> Any:
    """TRL's accuracy, scaled by length."""
    get_cosine_scaled_reward = _of("trl.rewards", "get_cosine_scaled_reward")

    reward = get_cosine_scaled_reward(2000)
    return reward(completions=completions, completion_ids=completion_ids, **columns)


def trl_repetition(completion_ids: Any, **_: Any) -> Any:
    """TRL's penalty of repetition."""
    get_repetition_penalty_reward = _of("trl.rewards", "get_repetition_penalty_reward")

    return get_repetition_penalty_reward()(completion_ids)


def verl_gsm8k_flexible(solution_str: str, ground_truth: str) -> Any:
    """The method "flexible" of verl's gsm8k."""
    compute_score = _of("verl.utils.reward_score.gsm8k", "compute_score")

    return compute_score(solution_str, ground_truth, method="flexible")


def verl_search_em(solution_str: str, ground_truth: str) -> Any:
    """verl's exact match of search answers."""
    compute_score = _of("verl.utils.reward_score.search_r1_like_qa_em", "compute_score")

    return compute_score(solution_str, {"target": [ground_truth]})


def verl_search_subem(solution_str: str, ground_truth: str) -> Any:
    """verl's match of a part of search answers."""
    compute_score_subem = _of("verl.utils.reward_score.search_r1_like_qa_em", "compute_score_subem")

    return compute_score_subem(solution_str, {"target": [ground_truth]})


def verl_prime_code(completion: str, test_cases: str) -> Any:
    """verl's prime_code, as its default_compute_score calls it."""
    compute_score = _of("verl.utils.reward_score.prime_code", "compute_score")

    return float(compute_score(completion, test_cases, continuous=True)[0])


def verifiers_boxed(completion: str, answer: str) -> Any:
    """What the newest verifiers offers its tasksets for boxed answers."""
    verify_boxed_math_answer = _of("verifiers.v1.utils.score", "verify_boxed_math_answer")

    return verify_boxed_math_answer(completion, answer)


def math_verify(completion: str, answer: str) -> Any:
    """Math-Verify as its page shows it."""
    parse = _of("math_verify", "parse")
    verify = _of("math_verify", "verify")

    return float(verify(parse(f"${answer}$"), parse(completion)))


def _minerva(metric: str, doc: Any, results: Any) -> Any:
    """A metric of lm-eval's minerva_math, on a row as its process_docs leaves it."""
    utils = _of("lm_eval.tasks.minerva_math", "utils")

    boxed = utils.last_boxed_only_string(doc["solution"])
    doc["answer"] = utils.normalize_final_answer(utils.remove_boxed(boxed))
    return utils.process_results(doc, results)[metric]


def lm_minerva_exact(doc: Any, results: Any) -> Any:
    """exact_match after "Final Answer: The final answer is $...$. I hope it is correct."."""
    return _minerva("exact_match", doc, results)


def lm_minerva_verify(doc: Any, results: Any) -> Any:
    """The second metric of lm-eval's minerva_math."""
    return _minerva("math_verify", doc, results)


@functools.lru_cache
def _lm_task(name: str) -> Any:
    yaml = importlib.import_module("yaml")

    path = importlib.resources.files("lm_eval") / "tasks" / name
    text = Path(str(path)).read_text("utf-8")
    return yaml.safe_load(text.replace("!function", ""))  # names of functions, not needed here


def _lm_filtered(name: str, wanted: str, doc: Any, results: Any) -> Any:
    """The metric of a task whose yaml names a filter and exact_match."""
    Instance = _of("lm_eval.api.instance", "Instance")
    exact_match_fn = _of("lm_eval.api.metrics", "exact_match_fn")
    build_filter_ensemble = _of("lm_eval.filters", "build_filter_ensemble")

    task = _lm_task(name)
    entry = next(each for each in task["filter_list"] if each["name"] == wanted)
    steps = [
        (part["function"], {k: v for k, v in part.items() if k != "function"} or None)
        for part in entry["filter"]
    ]
    instance = Instance("generate_until", doc, ("", {}), 0)
    instance.resps = [results[0]]
    build_filter_ensemble(wanted, steps).apply([instance])
    options = {
        key: value
        for key, value in task["metric_list"][0].items()
        if key.startswith("ignore") or key == "regexes_to_ignore"
    }
    answer = instance.filtered_resps[wanted]
    return exact_match_fn(predictions=[answer], references=[str(doc["answer"])], **options)[
        "exact_match"
    ]


def lm_gsm8k_strict(doc: Any, results: Any) -> Any:
    """The filter strict-match of lm-eval's gsm8k."""
    return _lm_filtered("gsm8k/gsm8k.yaml", "strict-match", doc, results)


def lm_gsm8k_flexible(doc: Any, results: Any) -> Any:
    """The filter flexible-extract of lm-eval's gsm8k."""
    return _lm_filtered("gsm8k/gsm8k.yaml", "flexible-extract", doc, results)


def lm_mmlu_pro(doc: Any, results: Any) -> Any:
    """The filter of lm-eval's mmlu_pro: "answer is (A)"."""
    return _lm_filtered("mmlu_pro/_default_template_yaml", "custom-extract", doc, results)


@functools.lru_cache
def _lighteval(name: str) -> Any:
    Metrics = _of("lighteval.metrics.metrics", "Metrics")

    return getattr(Metrics, name).value.sample_level_fn


def _lighteval_call(name: str, golds: Any, predictions: Any, doc: Any) -> Any:
    ModelResponse = _of("lighteval.models.model_output", "ModelResponse")
    Doc = _of("lighteval.tasks.requests", "Doc")

    wanted = Doc(query=doc.query, choices=list(golds), gold_index=0, task_name="audit")
    metric = _lighteval(name)
    call = getattr(metric, "compute", metric)
    return call(doc=wanted, model_response=ModelResponse(text=list(predictions)))


def lighteval_expr_gold(golds: Any, predictions: Any, formatted_doc: Any) -> Any:
    """lighteval's expr_gold_metric."""
    return _lighteval_call("expr_gold_metric", golds, predictions, formatted_doc)


def lighteval_latex_gold(golds: Any, predictions: Any, formatted_doc: Any) -> Any:
    """lighteval's latex_gold_metric."""
    boxed = [f"$\\boxed{{{gold}}}$" for gold in golds]
    return _lighteval_call("latex_gold_metric", boxed, predictions, formatted_doc)


@functools.lru_cache
def _server(name: str) -> Any:
    """A resources server of NeMo Gym, without its web server, and the type of its requests."""
    from unittest.mock import MagicMock

    ServerClient = _of("nemo_gym.server_utils", "ServerClient")

    app = importlib.import_module(f"resources_servers.{name}.app")
    prefix = {"math_with_judge": "LibraryJudgeMath", "mcqa": "MCQA",
              "equivalence_rule": "EquivalenceRule"}[name]  # fmt: skip
    options: dict[str, Any] = {"host": "", "port": 0, "entrypoint": "", "name": name}
    if name == "math_with_judge":
        options.update(
            judge_model_server={"type": "responses_api_models", "name": "none"},
            judge_responses_create_params={"input": []},
            should_use_judge=False,
        )
    config = getattr(app, f"{prefix}ResourcesServerConfig")(**options)
    client = MagicMock(spec=ServerClient)
    server = getattr(app, f"{prefix}ResourcesServer")(config=config, server_client=client)
    return server, getattr(app, f"{prefix}VerifyRequest")


async def _gym(name: str, body: Any) -> Any:
    server, request = _server(name)
    return {"reward": (await server.verify(request.model_validate(body))).reward}


async def gym_math(body: Any) -> Any:
    """NeMo Gym's math_with_judge, with its library alone: no judge is asked."""
    return await _gym("math_with_judge", body)


async def gym_mcqa(body: Any) -> Any:
    """NeMo Gym's mcqa."""
    return await _gym("mcqa", body)


async def gym_equivalence(body: Any) -> Any:
    """NeMo Gym's equivalence_rule: exact match after normalization of case and white space."""
    return await _gym("equivalence_rule", body)


def reasoning_gym(completion: str, entry: Any, family: str) -> Any:
    """A family's score of what stands in the answer tag."""
    gym = importlib.import_module("reasoning_gym")
    extract_answer = _of("reasoning_gym.utils", "extract_answer")

    return gym.get_score_answer_fn(family)(extract_answer(completion), entry)
