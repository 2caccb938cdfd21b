"""One grader through another auditor, in the interpreter of that auditor.

Prints {"found": severities} or {"not taken": why}. A grader is loaded and called by the same code
as in `infinite-rl audit`, which needs the standard library alone. Each auditor's reports are put
into the five severities; what an auditor itself calls no defect is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_AUDIT = Path(__file__).parents[1] / "infinite_rl" / "audit"
_FORMS = (
    "{}", "<answer>{}</answer>", "\\boxed{{}}", "#### {}", "The answer is {}", "Answer: {}",
    "```python\n{}\n```",
)  # fmt: skip
EXPLOITABLE, FALSE_REJECT, UNSTABLE, HANG = "exploitable", "false reject", "unstable", "hang"


def _of(module: str, name: str) -> Any:
    """A name of a package that may not be installed here."""
    value = importlib.import_module(module)
    return getattr(value, name)


class Grader:
    """A grader of the corpus as a function of a completion and the number of a row."""

    def __init__(self, path: str) -> None:
        about = json.loads(Path(path).read_text("utf-8"))
        sys.path.insert(0, str(_AUDIT))
        self.judged = _of("foreign_reward.calls", "judged")
        self.target = _of("foreign_reward.loading", "load")(about["target"])
        sys.path.remove(str(_AUDIT))
        self.kind, self.rows, self.chat = about["kind"], about["rows"], False
        self.golds = [row["gold"] for row in self.rows]
        with contextlib.suppress(BaseException):
            self.score("I do not know.", self.rows[0])
            return
        self.chat = True
        with contextlib.suppress(BaseException):
            self.score("I do not know.", self.rows[0])
            return
        self.chat = False

    def score(self, completion: str, row: dict[str, Any]) -> float:
        """The reward, as a number. Raises what the grader raises, or ValueError for no number."""
        row = {"prompt": row["prompt"], "answer": row["answer"], "columns": dict(row["columns"])}

        def call() -> Any:
            return self.judged(self.target, self.kind, self.chat, [(row, completion)])[0]

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            reply = call()
        else:  # an auditor that has a loop of its own
            with ThreadPoolExecutor(1) as pool:
                reply = pool.submit(call).result()
        if "reward" not in reply:
            if reply["fault"] == "nan":
                return float("nan")
            raise ValueError(f"the reward is {reply}")
        return float(reply["reward"])

    def best(self) -> float:
        """The most that a gold earns in a usual form."""
        earned = [0.0]
        for row in self.rows[:3]:
            for form in _FORMS:
                with contextlib.suppress(BaseException):
                    earned.append(self.score(form.replace("{}", row["gold"]), row))
        return max(earned)

    def row_with(self, reference: str) -> dict[str, Any]:
        """A row whose gold is another text, for auditors that bring their own questions."""
        row = self.rows[0]
        columns = {
            name: reference if value == row["answer"] else value
            for name, value in row["columns"].items()
        }
        return {"prompt": row["prompt"], "answer": reference, "columns": columns}


def reward_doctor(grader: Grader) -> list[str]:
    """reward-doctor and rewardlint: a fixed corpus of completions and references."""
    package = importlib.import_module(sys.argv[1].replace("-", "_"))
    if not any(row["kind"] in ("number", "maths", "text") for row in grader.rows):
        raise NotTaken("no golds of its own kind")

    def reward(completion: str, reference: str) -> float:
        return grader.score(completion, grader.row_with(reference))

    result = package.audit(reward)
    scores = [each.score for each in result.outcomes if each.score is not None]
    if result.is_graded and max(scores) > 0:  # its report asks for a threshold then
        result = package.audit(reward, threshold=max(scores) / 2)
    severities = [EXPLOITABLE] * bool(result.false_positives) + [UNSTABLE] * bool(result.errors)
    strict = result.profile == "format_strict"  # "your format requirement, not a defect"
    return severities + [FALSE_REJECT] * bool(result.false_negatives and not strict)


def rewardprobe(grader: Grader) -> list[str]:
    """rewardprobe without a model: any finding that is critical or a warning."""
    Probe = _of("rewardprobe", "Probe")

    tasks = [
        {"prompt": row["prompt"], "question": row["prompt"], "answer": row["gold"], "at": at}
        for at, row in enumerate(grader.rows)
        if row["gold"]
    ]
    if not tasks:
        raise NotTaken("no golds")

    def reward(completion: str, answer: str, at: int = 0) -> float:  # noqa: ARG001 it asks for one
        # A row without its column is this adapter's fault, not the grader's.
        return grader.score(completion, grader.rows[at if isinstance(at, int) else 0])

    report = Probe().test_fn(reward, tasks)
    severities = {each.severity.value for family in report.families for each in family.findings}
    return ["any"] * bool(severities & {"critical", "warning"}) + ["critical"] * (
        "critical" in severities
    )


_CHECKS = {
    "nondeterministic_reward": UNSTABLE, "grader_crash": UNSTABLE, "invalid_reward": UNSTABLE,
    "slow_grader": HANG, "baseline_sanity": "", "empty_scan": "",
}  # fmt: skip


def rl_envdoctor(grader: Grader) -> list[str]:
    """rl-envdoctor: findings of severity high or critical, where its command fails."""
    Case = _of("envdoctor", "Case")
    FunctionTarget = _of("envdoctor", "FunctionTarget")
    run_checks = _of("envdoctor", "run_checks")
    scan = _of("envdoctor", "scan")

    cases = [
        Case(id=str(at), prompt=row["prompt"], answer=row["gold"])
        for at, row in enumerate(grader.rows)
        if row["gold"]
    ]
    if not cases:
        raise NotTaken("no golds")

    def reward(completion: str, case: Any) -> float:
        return grader.score(completion, grader.rows[int(case.id)])

    report = run_checks(scan(FunctionTarget(reward, cases), n_cases=len(cases)))
    findings = [
        each
        for each in report.findings
        if str(getattr(each.severity, "value", each.severity)) in ("high", "critical")
    ]
    return [
        _CHECKS.get(each.check, EXPLOITABLE) for each in findings if _CHECKS.get(each.check) != ""
    ]


def gradecheck(grader: Grader) -> list[str]:
    """gradecheck: its attacks by completions, for environments of verifiers."""
    from types import SimpleNamespace

    run_all = _of("gradecheck.completion_attacks", "run_all")
    VerifiersEnv = _of("gradecheck.verifiers_env", "VerifiersEnv")

    def reward(completion: str, at: int) -> float:
        return grader.score(completion, grader.rows[at])

    rows = [
        {"prompt": row["prompt"], "answer": row["gold"], "at": at}
        for at, row in enumerate(grader.rows)
    ]
    env = SimpleNamespace(
        message_type="completion",
        rubric=SimpleNamespace(funcs=[reward], weights=[1.0]),
        get_dataset=lambda: rows,
        pass_threshold=(grader.best() or 1.0) / 2,
    )
    findings = run_all(VerifiersEnv(env, sample=len(rows)))
    fooled = [each for each in findings if "FOOLED" in str(each.verdict).upper()]
    return [EXPLOITABLE] * bool(fooled)


def falsepass(grader: Grader) -> list[str]:
    """falsepass: its probes for reward functions of TRL; failed probes are what it calls leads."""
    lines = [
        {"prompt": row["prompt"], "answer": row["gold"], "at": at}
        for at, row in enumerate(grader.rows)
        if row["gold"]
    ]
    if not lines:
        raise NotTaken("no golds")
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    Path("rewards.py").write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from audit_auditors_calls import Grader\n"
        f"_GRADER = Grader({os.path.abspath(sys.argv[2])!r})\n\n"
        "def reward(completions, answer, at, **columns):\n"
        "    pairs = zip(completions, at)\n"
        "    return [_GRADER.score(text, _GRADER.rows[n]) for text, n in pairs]\n",
        "utf-8",
    )
    command = [sys.executable, "-c", "import falsepass.cli; falsepass.cli.main()"]
    options = {"check": False, "capture_output": True, "text": True}
    command_line = [*command, "init", "rewards.py", "--dataset", "rows.jsonl", "--func", "reward"]
    subprocess.run(command_line, **options)  # type: ignore[call-overload]
    run = [sys.executable, "-m", "falsepass.runner", "audits/rewards", "--jobs", "1"]
    done = subprocess.run(run, **options)  # type: ignore[call-overload]
    path = Path("audits/rewards/probe-results.json")
    if not path.exists():
        raise NotTaken(f"stopped: {(done.stderr.strip().splitlines() or [''])[-1]}")
    if "inconclusive" in Path("audits/rewards/summary.md").read_text("utf-8").lower():
        raise NotTaken("inconclusive")
    severities = {
        "zero": EXPLOITABLE, "full": FALSE_REJECT, "stable": UNSTABLE,
        "below_reference": EXPLOITABLE, "at_most_reference": EXPLOITABLE,
    }  # fmt: skip
    paid_wrongly = []
    for each in json.loads(path.read_text("utf-8"))["results"]:
        if each["errors"]:
            paid_wrongly.append(UNSTABLE)
        elif not each["passed"] and each["probe"] != "P12" and each["expected"] in severities:
            paid_wrongly.append(severities[each["expected"]])
    return paid_wrongly


def bohrin(grader: Grader) -> list[str]:
    """bohrin: wrong programs for rows with a reference program in Python."""
    Task = _of("bohrin.ir.task", "Task")
    battery = _of("bohrin.mutate.battery", "battery")

    rows = [row for row in grader.rows if row["kind"] == "code" and row["gold"]]
    if not rows:
        raise NotTaken("no programs")
    for row in rows:
        forms = ("```python\n{}\n```", "{}", "<answer>\n```python\n{}\n```\n</answer>")
        paid = [grader.score(form.replace("{}", row["gold"]), row) for form in forms]
        best, form = max(zip(paid, forms, strict=True))
        for each in battery(Task(id="row", prompt=row["prompt"], reference=row["gold"])).grounded:
            text = form.replace("{}", each.payload.text)
            with contextlib.suppress(Exception, SystemExit):
                if best > 0 and grader.score(text, row) >= best / 2:
                    return [EXPLOITABLE]
    return []


class NotTaken(Exception):
    """The auditor's interface does not reach this grader."""


AUDITORS = {
    "reward-doctor": reward_doctor, "rewardlint": reward_doctor, "rewardprobe": rewardprobe,
    "rl-envdoctor": rl_envdoctor, "gradecheck": gradecheck, "falsepass": falsepass,
    "bohrin": bohrin,
}  # fmt: skip


def main() -> None:
    """Run one auditor on one grader."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            value: dict[str, Any] = {"found": AUDITORS[sys.argv[1]](Grader(sys.argv[2]))}
    except NotTaken as error:
        value = {"not taken": str(error)}
    sys.stdout.write("\n" + json.dumps(value) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
