"""The audit of the rewards that other packages ship, on real rows.

    python -m benchmarks.audit_peers DATA [--python NAME=PATH] [--only PART] [-o FOLDER]

DATA has the folders gsm8k, math500, mbpp and ifeval. Each package needs an interpreter where it is
installed: `--python verl=PATH` names it; without it the package is left out. A function is called
as it ships; where it takes no completion and gold, or needs a server around it, a few lines of
`audit_peers_calls.py` call it. A table line a reward is printed, then its findings; `-o` keeps the
reports with their witnesses.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from infinite_rl.audit import Limits, Report, Settings, audit
from infinite_rl.audit.pages import values
from infinite_rl.audit.rows import AuditRow, audit_row
from infinite_rl.dataset.loaders import load
from infinite_rl.errors import InfiniteRLError

_CALLS = Path(__file__).with_name("audit_peers_calls.py")
_MOST = 15  # rows of each set
_FAMILIES = (
    "basic_arithmetic", "chain_sum", "gcd", "prime_factorization", "fraction_simplification",
    "simple_equations", "number_sorting", "letter_counting", "spell_backward", "word_sorting",
    "syllogism", "time_intervals",
)  # fmt: skip


class Peer(NamedTuple):
    """A reward: the interpreter's name, the function, the rows, and what is stated of its form."""

    package: str
    target: str
    rows: str
    kind: str = ""
    wrap: str = ""


_BOX = "The answer is $\\boxed{{answer}}$."  # stated where a call takes long
_VERL = "verl.utils.reward_score"
_LM = "lm_eval.tasks"
PEERS = (
    Peer("trl", "trl.rewards:accuracy_reward", "math500", "trl", _BOX),
    Peer("trl", "trl.rewards:accuracy_reward", "gsm8k", "trl", _BOX),
    Peer(
        "trl",
        "trl.rewards:reasoning_accuracy_reward",
        "math500",
        "trl",
        f"<think>So it is.</think>{_BOX}",
    ),
    Peer("trl", "trl.rewards:think_format_reward", "gsm8k", "trl"),
    Peer("trl", "calls:trl_soft_overlong", "gsm8k", "trl"),
    Peer("trl", "calls:trl_cosine", "math500", "trl", _BOX),
    Peer("trl", "calls:trl_repetition", "gsm8k", "trl"),
    Peer("verl", f"{_VERL}.gsm8k:compute_score", "gsm8k", "verl"),
    Peer("verl", "calls:verl_gsm8k_flexible", "gsm8k", "verl"),
    Peer("verl", f"{_VERL}.math_reward:compute_score", "math500", "verl"),
    Peer("verl", f"{_VERL}.math_dapo:compute_score", "math500", "verl"),
    Peer("verl", f"{_VERL}.math_verify:compute_score", "math500", "plain"),
    Peer("verl", f"{_VERL}.prime_math:compute_score", "math500", "plain"),
    Peer("verl", f"{_VERL}.prime_math:compute_score", "gsm8k", "plain"),
    Peer("verl", "calls:verl_search_em", "words", "verl"),
    Peer("verl", "calls:verl_search_subem", "words", "verl"),
    Peer("verl", "calls:verl_prime_code", "programs", "plain"),
    Peer("verifiers-0.1", "verifiers.rubrics.math_rubric:MathRubric", "math500", "verifiers"),
    Peer("verifiers", "calls:verifiers_boxed", "math500", "plain", _BOX),
    Peer("math-verify", "calls:math_verify", "math500", "plain"),
    Peer("math-verify", "calls:math_verify", "gsm8k", "plain"),
    Peer("lm-eval", f"{_LM}.hendrycks_math.utils:process_results", "math500", "lm_eval"),
    Peer("lm-eval", "calls:lm_minerva_exact", "math500", "lm_eval"),
    Peer("lm-eval", "calls:lm_minerva_verify", "math500", "lm_eval"),
    Peer("lm-eval", f"{_LM}.aime.utils:process_results", "gsm8k", "lm_eval"),
    Peer("lm-eval", "calls:lm_gsm8k_strict", "gsm8k", "lm_eval"),
    Peer("lm-eval", "calls:lm_gsm8k_flexible", "gsm8k", "lm_eval"),
    Peer("lm-eval", "calls:lm_mmlu_pro", "choices", "lm_eval"),
    Peer("lighteval", "calls:lighteval_expr_gold", "gsm8k", "lighteval"),
    Peer("lighteval", "calls:lighteval_latex_gold", "math500", "lighteval"),
    Peer("nemo-gym", "calls:gym_math", "math500", "nemo_gym", _BOX),
    Peer("nemo-gym", "calls:gym_mcqa", "choices", "nemo_gym"),
    Peer("nemo-gym", "calls:gym_equivalence", "words", "nemo_gym"),
    *(Peer("reasoning-gym", "calls:reasoning_gym", family) for family in _FAMILIES),
)


def rows_of(name: str, data: Path) -> list[AuditRow]:
    """The rows of a set, in the shape that the rewards of its kind read."""
    sets: dict[str, Callable[[Path], Iterator[Mapping[str, Any]]]] = {
        "gsm8k": _gsm8k, "math500": _math500, "programs": _programs, "choices": _choices,
        "words": _words,
    }  # fmt: skip
    rows = sets[name](data) if name in sets else _procedural(name)
    return [audit_row(index, columns) for index, columns in enumerate(rows)]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _gsm8k(data: Path) -> Iterator[Mapping[str, Any]]:
    for row in islice(load("gsm8k", data / "gsm8k" / "test.jsonl"), _MOST):
        prompt, answer = row["prompt"], row["answer"]
        yield {"prompt": prompt, "answer": answer, "solution": answer,
               "question": prompt, "expected_answer": answer}  # fmt: skip


def _math500(data: Path) -> Iterator[Mapping[str, Any]]:
    rows = _lines(data / "math500" / "test.jsonl")
    random.Random(5).shuffle(rows)
    seen: set[str] = set()
    for row in rows:
        if row["answer"] not in seen and len(seen) < 2 * _MOST:
            seen.add(row["answer"])
            yield {"prompt": row["problem"], "answer": row["answer"], "solution": row["solution"],
                   "question": row["problem"], "problem": row["problem"],
                   "expected_answer": row["answer"]}  # fmt: skip


def _programs(data: Path) -> Iterator[Mapping[str, Any]]:
    """MBPP in the shape of APPS: a function, and its inputs as lines of JSON."""
    from infinite_rl.audit.programs import cases

    kept = 0
    for row in json.loads((data / "mbpp" / "sanitized-mbpp.json").read_text("utf-8")):
        name, each = cases({"tests": row["test_list"]})
        plain = all(_is_plain([list(case.args), case.expected]) for case in each)
        if name and len(each) == len(row["test_list"]) and kept < _MOST and plain:
            kept += 1
            inputs = ["\n".join(map(json.dumps, case.args)) for case in each]
            tests = {
                "fn_name": name,
                "inputs": inputs,
                "outputs": [json.dumps(c.expected) for c in each],
            }
            yield {"prompt": row["prompt"], "test_cases": json.dumps(tests), "entry_point": name,
                   "answer": json.dumps(tests), "tests": row["test_list"],
                   "response": row["code"]}  # fmt: skip


def _is_plain(value: Any) -> bool:
    """Whether JSON keeps a value as it is."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except TypeError:
        return False


def _choices(data: Path) -> Iterator[Mapping[str, Any]]:
    """Questions of MATH with four answers of others, since no set of choices is at hand."""
    rows = list(_math500(data))
    for index, row in enumerate(rows[:_MOST]):
        rng = random.Random(index)
        texts = [row["answer"], *rng.sample([r["answer"] for r in rows if r is not row], 3)]
        rng.shuffle(texts)
        letter = "ABCD"[texts.index(row["answer"])]
        options = [dict([pair]) for pair in zip("ABCD", texts, strict=True)]
        listed = "\n".join(f"{mark}: {text}" for each in options for mark, text in each.items())
        yield {"prompt": f"{row['prompt']}\n{listed}", "answer": letter, "options": options,
               "expected_answer": letter, "grading_mode": "strict_single_letter_boxed"}  # fmt: skip


def _words(_: Path) -> Iterator[Mapping[str, Any]]:
    pairs = (
        ("Which city is the capital of France?", "Paris"),
        ("Who wrote Pride and Prejudice?", "Jane Austen"),
        ("Which ocean lies east of Africa?", "Indian Ocean"),
        ("What is the largest planet of the solar system?", "Jupiter"),
        ("Which gas do plants take up?", "carbon dioxide"),
        ("Who painted the Mona Lisa?", "Leonardo da Vinci"),
        ("Which river flows through Cairo?", "Nile"),
        ("What is the chemical symbol of gold?", "Au"),
    )
    for question, answer in pairs:
        yield {"prompt": question, "question": question, "answer": answer,
               "expected_answer": answer}  # fmt: skip


def _procedural(family: str) -> Iterator[Mapping[str, Any]]:
    import reasoning_gym

    for entry in reasoning_gym.create_dataset(family, size=10, seed=7):
        entry = json.loads(json.dumps(entry, default=str))
        yield {"prompt": entry["question"], "answer": entry["answer"], "entry": entry,
               "family": family}  # fmt: skip


def audited(peer: Peer, python: str, rows: Sequence[AuditRow], seconds: float) -> Report:
    """The report on a peer's reward."""
    spec = peer.target.replace("calls:", f"{_CALLS}:")
    settings = Settings(peer.kind, python, timeout=20.0, memory=16384)
    return audit(spec, rows, settings, Limits(seconds), peer.wrap)


def main() -> None:
    """Audit the peers whose interpreters are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_peers", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--only", default="", help="a part of the packages' or rewards' names")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the probes of a reward")
    parser.add_argument("-o", "--output", type=Path, help="a folder for the reports")
    args = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in args.python)
    for peer in PEERS:
        label = f"{peer.package} {peer.target.rpartition(':')[2]} {peer.rows}"
        if peer.package not in pythons or args.only not in f"{label} {peer.target}":
            continue
        try:
            report = audited(
                peer, pythons[peer.package], rows_of(peer.rows, args.data), args.seconds
            )
        except InfiniteRLError as error:
            print(f"{label}: {error}", flush=True)
            continue
        print(
            f"{label} | {report.false_accepts} | {report.false_rejects} | "
            f"{report.call_ms:.2g} ms | {report.seconds:.0f} s | {report.note or '-'}"
        )
        for finding in report.findings:
            text = finding.witness.pairs[0][1]
            gold = finding.witness.pairs[0][0]["answer"]
            print(
                f"    {finding.about.severity}: {finding.kind} {finding.count}/{finding.total} "
                f"gold {str(gold)[:80]!r}: {text[-160:]!r} -> {finding.reply.reward} "
                f"{finding.reply.fault} {finding.reply.what[:100]}"
            )
        sys.stdout.flush()
        if args.output:
            args.output.mkdir(parents=True, exist_ok=True)
            settings = Settings(peer.kind, pythons[peer.package])
            path = args.output / f"{label.replace(' ', '-').replace('/', '-')}.json"
            path.write_text(json.dumps(values(report, settings), indent=1), "utf-8")


if __name__ == "__main__":
    main()
