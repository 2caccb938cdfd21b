"""The audit of foreign rewards: certain findings, no accusation, and a host that survives."""

import json
import os
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from infinite_rl.audit import Limits, Report, Settings, audit, audit_rows, replay
from infinite_rl.audit.pages import sarif, text, values, web_page
from infinite_rl.errors import UsageError

ROWS = [
    {"prompt": "What is 3 + 4?", "answer": "7"},
    {"prompt": "What is 1000 + 234?", "answer": "1234"},
    {"prompt": "What is 6 * 7?", "answer": "42"},
]
SOUND = """
    import re

    def reward(completion, answer):
        boxes = re.findall(r"<answer>\\s*(.*?)\\s*</answer>", completion, re.S)
        try:
            return float(len(boxes) == 1 and float(boxes[0].replace(",", "")) == float(answer))
        except (ValueError, OverflowError):
            return 0.0
"""
Audited = Callable[..., Report]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    def run(code: str, rows: Sequence[object] = ROWS, **options: object) -> Report:
        (tmp_path / "grader.py").write_text(textwrap.dedent(code), encoding="utf-8")
        each = list(audit_rows(rows))  # type: ignore[arg-type]
        limits = Limits(seconds=20, rows=2)
        return audit(f"{tmp_path}/grader.py:reward", each, Settings(timeout=4), limits, **options)  # type: ignore[arg-type]

    return run


def kinds(report: Report) -> set[str]:
    return {finding.kind for finding in report.findings}


# --- verdicts -------------------------------------------------------------------------------------
def test_a_sound_reward_is_not_accused(audited: Audited) -> None:
    report = audited(SOUND)
    assert kinds(report) == set() and report.exit_code == 0 and report.surface
    assert report.false_accepts.total > 100 and report.false_accepts.count == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def reward(completion, answer): return float(answer in completion)", "longer number"),
        ("def reward(completion, answer): return 1.0", "ignores the gold"),
        (
            "import re\n"
            "def reward(completion, answer):\n"
            "    return float(answer in re.findall('[0-9]+', completion))",
            "several answers",
        ),
        (
            "def reward(completion, answer):\n"
            "    try:\n"
            "        return float(eval(completion.split('####')[-1]) == float(answer))\n"
            "    except Exception:\n"
            "        return 0.0",
            "executed",
        ),
        (
            "def reward(completion, answer):\n"
            "    return float(completion.endswith('<answer>' + answer + '</answer>'))",
            "spacing",
        ),
    ],
)  # fmt: skip
def test_a_defect_has_a_witness_that_replays(audited: Audited, code: str, kind: str) -> None:
    report = audited(code)
    [finding] = [each for each in report.findings if each.kind == kind]
    assert replay(report.target, finding.witness, Settings(report.kind), report.chat)[0]
    assert report.exit_code >= 10


def test_the_form_is_learned_from_the_source_and_the_prompt(audited: Audited) -> None:
    report = audited(SOUND.replace("answer>", "verdict>"))
    assert report.surface and "<verdict>" in report.surface.text and not report.findings


@pytest.mark.slow
def test_a_reward_whose_form_is_not_learned_is_not_accused(audited: Audited) -> None:
    report = audited("def reward(completion, answer): return float(completion == '@@' + answer)")
    assert "--wrap" in report.note and not report.findings
    assert audited(
        "def reward(completion, answer): return float(completion.strip() == '@@' + answer)",
        wrap="@@{answer}",
    ).surface


def test_a_reward_of_the_form_alone_may_pay_a_wrong_answer(audited: Audited) -> None:
    code = """
    def reward(completion, answer):
        "Pays the format, whatever the answer."
        return 1.0
    """
    assert not audited(code).findings


# --- hostile targets ------------------------------------------------------------------------------
HOSTILE = {
    "raises": ("raise KeyError(completion)", "raises"),
    "hangs": ("while len(completion) > 5000: pass", "hang"),
    "kills its parent": ("import os; len(completion) > 5000 and os.kill(os.getppid(), 9)", ""),
    "ends its process": ("import os; len(completion) > 5000 and os._exit(0)", "process ended"),
    "forks": ("import os; pid = os.fork(); pid or os._exit(0); pid and os.waitpid(pid, 0)", ""),
    "floods": ("print('x' * 1_000_000)", ""),
    "patches": ("import builtins; builtins.sum = lambda *_: 1", "side effect"),
    "moves": ("import os; os.chdir('/'  if os.getcwd() != '/' else '/tmp')", "side effect"),
    "nan": ("if not completion.strip(): return float('nan')", "not a number"),
    "text": ("if not completion.strip(): return 'bad'", "not a number"),
    "none": ("if not completion.strip(): return None", ""),
    "random": ("import random; return float(answer in completion) * random.random()", "repeated"),
    "alarm": ("import signal; signal.signal(signal.SIGALRM, lambda *_: None)", "thread raises"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_reward_costs_its_own_process_alone(audited: Audited, name: str) -> None:
    line, kind = HOSTILE[name]
    code = textwrap.dedent(SOUND).replace("    boxes =", f"    {line}\n    boxes =")
    if name == "raises":
        code = code.replace("raise KeyError", "if not completion.strip(): raise KeyError")
    report = audited(code)
    assert kind in kinds(report) or not kind
    assert os.getcwd() and sum([2, 3]) == 5
    if not kind:
        assert not report.exit_code


def test_a_reward_that_changes_its_row_is_reported(audited: Audited) -> None:
    code = """
    def reward(completions, answer, info, **columns):
        for each in info:
            each["seen"] = each.get("seen", 0) + 1
        pairs = zip(completions, answer)
        return [float(f"<answer>{gold}</answer>" in text.replace(" ", "")) for text, gold in pairs]
    """
    report = audited(code, [{**row, "info": {}} for row in ROWS])
    assert report.kind == "trl" and "side effect" in kinds(report)


def test_a_reward_sees_none_of_the_secrets(
    audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    code = "import os\nassert 'SECRET_KEY' not in os.environ\n" + textwrap.dedent(SOUND)
    assert not audited(code).findings


def test_a_module_that_cannot_be_loaded_is_one_clear_line(audited: Audited) -> None:
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        audited("1 / 0")
    with pytest.raises(UsageError, match="ends its process"):
        audited("import os; os._exit(0)")


# --- kinds of targets -----------------------------------------------------------------------------
JUDGE = "float(f'<answer>{gold}</answer>' == text.replace(' ', '').strip()[-len(gold) - 17 :])"
SIGNATURES = {
    "trl": f"def reward(prompts, completions, answer, **columns):\n"
    f"    judge = lambda text, gold: {JUDGE}\n"
    "    return [judge(c[0]['content'], a) for c, a in zip(completions, answer)]",
    "verl": f"def reward(data_source, solution_str, ground_truth, extra_info=None):\n"
    f"    text, gold = solution_str, ground_truth\n    return {{'score': {JUDGE}}}",
    "verifiers": "async def reward(completion, answer, state):\n"
    f"    text, gold = completion, answer\n    return {JUDGE}",
    "openrlhf": "def reward(queries, prompts, labels):\n"
    f"    judge = lambda text, gold: {JUDGE}\n"
    "    return {'rewards': [judge(q[len(p):], g) for q, p, g in zip(queries, prompts, labels)]}",
    "lm_eval": "def reward(doc, results):\n"
    f"    text, gold = results[0], doc['answer']\n    return {{'exact_match': {JUDGE}}}",
    "lighteval": "def reward(golds, predictions):\n"
    f"    text, gold = predictions[0], golds[0]\n    return {JUDGE}",
}


@pytest.mark.parametrize("kind", SIGNATURES)
def test_each_kind_of_target_is_recognized_and_called(audited: Audited, kind: str) -> None:
    report = audited(SIGNATURES[kind])
    assert report.kind == kind and report.full == 1.0 and report.false_accepts.count == 0
    assert report.chat == (kind == "trl")


# --- pages ----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_pages_hold_the_findings_and_no_markup_of_texts(audited: Audited) -> None:
    rows = [{"prompt": "<script>alert(1)</script>", "answer": "7"}, *ROWS]
    report = audited("def reward(completion, answer): return float(answer in completion)", rows)
    lines = text(report)
    assert all(len(line) <= 100 for line in lines) and "EXPLOITABLE" in "\n".join(lines)
    page = web_page([report])
    assert "<script" not in page and "script" in page
    results = json.loads(sarif([report]))["runs"][0]["results"]
    assert len(results) == len(report.findings) and results[0]["level"] == "error"
    assert json.dumps(values(report, Settings()))
