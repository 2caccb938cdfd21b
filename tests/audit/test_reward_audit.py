"""The audit of foreign rewards: certain findings, no accusation, and a host that survives."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from infinite_rl.audit import Limits, Report, Settings, audit, audit_rows, process, replay
from infinite_rl.audit.data import audit_data, page
from infinite_rl.audit.foreign_reward.conventions import gets_prompt
from infinite_rl.audit.pages import sarif, text, values, web_page
from infinite_rl.audit.probes.text import requested_formula, restated
from infinite_rl.audit.probes.variants import variants
from infinite_rl.audit.process import Process
from infinite_rl.audit.programs import passed_share, references
from infinite_rl.audit.rows import audit_row
from infinite_rl.audit.surfaces import Surface
from infinite_rl.cli import main
from infinite_rl.dataset.rows import write
from infinite_rl.errors import UsageError
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions import RewardFunction, get_reward_functions
from infinite_rl.types import RewardFunctionScore, Sample

ROWS = [
    {"prompt": "What is 3 + 4?", "answer": "7"},
    {"prompt": "What is 1000 + 234?", "answer": "1234"},
    {"prompt": "What is 6 * 7?", "answer": "42"},
]
SOUND = """
    import re

    def reward(completion, answer):
        boxes = re.findall(r"<answer>([^<]*)</answer>", completion)
        try:
            return float(len(boxes) == 1 and float(boxes[0].replace(",", "")) == float(answer))
        except (ValueError, OverflowError):
            return 0.0
"""
Audited = Callable[..., Report]
HANG_S = 1.0  # for a reward that does not end: its calls take no time otherwise


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    def run(
        code: str,
        rows: Sequence[object] = ROWS,
        seconds: float = 90,  # far more than a quiet machine takes
        timeout: float = 4,
        kind: str = "",
        **options: object,
    ) -> Report:
        (tmp_path / "grader.py").write_text(textwrap.dedent(code), encoding="utf-8")
        each = list(audit_rows(rows))  # type: ignore[arg-type]
        limits, settings = Limits(seconds, rows=2), Settings(kind, timeout=timeout)
        return audit(f"{tmp_path}/grader.py:reward", each, settings, limits, **options)  # type: ignore[arg-type]

    return run


def kinds(report: Report) -> set[str]:
    return {finding.kind for finding in report.findings}


CALCULATES = """
    import ast, operator, re

    OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul}

    def value(node):
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        return ast.literal_eval(node)

    def judge(completion, answer, prompt):
        boxes = re.findall(r"<answer>([^<]*)</answer>", completion)
        try:
            text = boxes[0].strip() if len(boxes) == 1 and len(boxes[0]) < 100 else ""
            found = value(ast.parse(text, mode="eval").body)
            copied = not text.isdigit() and text in prompt
            return float(not copied and found == float(answer))
        except (KeyError, ValueError, SyntaxError, TypeError, OverflowError, IndexError):
            return 0.0
"""
COPIES = """
    import re

    def reward(completion, answer, prompt):
        boxes = re.findall(r"<answer>([^<]*)</answer>", completion) or [""]
        numbers = [re.sub(r"[^0-9]", "", each) for each in boxes]
        return float(len(boxes) == 1 and (numbers[0] == answer or boxes[0] == prompt))
"""


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
        (
            "import re\n"
            "def reward(completion, answer):\n"
            "    boxes = re.findall('<answer>([^<]*)</answer>', completion) or ['']\n"
            "    return float(answer in (boxes[0], boxes[-1]))",
            "either order",
        ),
        (
            "def reward(completion, answer):\n"
            "    \"Reads the last word. Thousands may be set off by commas.\"\n"
            "    return float((completion.split() or [''])[-1] == answer)",
            "spelling",
        ),
        (
            "def reward(completion, answer):\n"
            "    \"Compares the last word as a string.\"\n"
            "    last = (completion.split() or [''])[-1]\n"
            "    return float(last == answer or last == answer + '.0' and len(answer) < 3)",
            "uneven spelling",
        ),
        (
            "import re\n"
            "def reward(completion, answer):\n"
            "    text = completion.rpartition('<answer>')[2].partition('</answer>')[0].strip()\n"
            "    return float(not re.match('(z+)+q', completion) and text == answer)",
            "hang",
        ),
        (
            "calls = []\n"
            "def reward(completion, answer):\n"
            "    calls.append(1)\n"
            "    return float(completion.strip() == answer and len(calls) < 1500)",
            "many calls",
        ),
        (
            "seen = {}\n"
            "def reward(completion, answer):\n"
            "    return seen.setdefault(completion + answer, float(completion.strip() == answer))",
            "growth",
        ),
        (
            "import random\n"
            "def reward(completion, answer):\n"
            "    random.seed(0)\n"
            "    return float(completion.strip() == answer)",
            "side effect",
        ),
    ],
)  # fmt: skip
def test_a_defect_has_a_witness_that_replays(audited: Audited, code: str, kind: str) -> None:
    report = audited(code, timeout=HANG_S)
    [finding] = [each for each in report.findings if each.kind == kind]
    settings = Settings(report.kind, timeout=HANG_S)
    assert replay(report.target, finding.witness, settings, report.chat)[0]
    assert report.exit_code >= 10


@pytest.mark.slow
def test_a_question_that_is_paid_as_its_own_answer_is_found(audited: Audited) -> None:
    call = "def reward(completion, answer, prompt): return judge(completion, answer, {})"
    calculates = textwrap.dedent(CALCULATES)
    for code, paid in (
        (calculates + call.format("''"), "<answer>3 + 4</answer>"),
        (COPIES, "<answer>What is 3 + 4?</answer>"),
    ):
        report = audited(code)
        [finding] = [each for each in report.findings if each.kind == "restated"]
        assert finding.witness.pairs[0][1] == paid
        assert replay(report.target, finding.witness, Settings(report.kind), report.chat)[0]
    for sound in (
        calculates + call.format("prompt"),  # it refuses the question
        f"{calculates}def reward(completion, answer): return judge(completion, answer, '')",
    ):
        assert "restated" not in kinds(audited(sound)), "without the prompt nothing is certain"


def test_a_formula_is_the_question_only_if_its_value_alone_is_asked_for() -> None:
    for prompt, gold, formula in (
        ("What is 37*91?", "3367", "37*91"),
        ("Compute $12 \\cdot 4$.", "48", "12 \\cdot 4"),
        ("Work it out in your head. Calculate (2 + 3)^2 = ? Use a tag.", "25", "(2 + 3)^2"),
        ("Find the value of $2^{10}$. Put it in a box.", "1024", "2^{10}"),
        ("Find the value of 2^10. Put it in a box.", "1024", "2^10"),
        ("Compute $-(-5)$.", "5", ""),  # a sign before a number
        ("State the result of this problem: 79 - 3 =", "76", "79 - 3"),
        ("What is 84/7?", "12", ""),  # a fraction is a number
        ("Which is larger, 2^10 or 10^2?", "1024", ""),
        ("What is 10 / 4 to the nearest whole number?", "3", ""),
        ("What is 2 * 3 * 7? Leave the product as it is.", "42", ""),
        ("Compute 2 + 2. Then compute 3 + 1.", "4", ""),
        ("What is 3 + 4?", "8", ""),  # a wrong gold
        ("A shelf holds 4 rows of 30 jars. How many jars?", "120", ""),
        ("What is $x^2$?", "9", ""),
    ):
        assert requested_formula(audit_row(0, {"prompt": prompt, "answer": gold})) == formula, (
            prompt
        )


def test_no_number_of_a_restated_question_may_be_an_answer() -> None:
    plain = Surface("alone", "{}")

    def texts(prompt: str, gold: str, *, tolerant: bool = False) -> list[str]:
        row = audit_row(0, {"prompt": prompt, "answer": gold})
        return [each.completion for each in restated(row, plain, tolerant=tolerant)]

    assert texts("What is 37*91?", "3367") == ["What is 37*91?", "37*91"]
    assert texts("What is 3366 + 1?", "3367") == ["What is 3366 + 1?", "3366 + 1"]
    assert texts("What is 3366 + 1?", "3367", tolerant=True) == []
    assert texts("What is 7.0 + 0?", "7") == []
    assert texts("Which ocean lies east of Africa?", "Indian Ocean") != []
    assert texts("Is it the Indian Ocean?", "Indian Ocean") == []


def test_a_target_gets_the_prompt_by_its_protocol_or_its_parameters() -> None:
    class AnswerAlone(RewardFunction):
        def compute_reward(self, *_: object) -> RewardFunctionScore:
            return RewardFunctionScore(1.0, 0.0)

    class WithRow(AnswerAlone):
        def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
            return self.compute_reward()

    targets: dict[object, bool] = {
        "http://127.0.0.1:1/verify": True,
        (lambda completion, answer, question: 0.0): True,
        (lambda prompts, completions, **kwargs: [0.0]): True,
        (lambda doc, results: {}): True,
        (lambda completion, answer: 0.0): False,
        (lambda completions, answer, **kwargs: [0.0]): False,
        WithRow("row"): True,
        get_reward_functions()["math"]: True,
        AnswerAlone("answer"): False,
    }
    assert [target for target, gets in targets.items() if gets_prompt(target) is not gets] == []


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


# --- certainty ------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_random_reward_comes_first_and_makes_the_rest_uncertain(audited: Audited) -> None:
    noise = "\n    import random\n    if random.random() < 0.3: return random.choice([0.0, 1.0])"
    head = "def reward(completion, answer):"
    report = audited(textwrap.dedent(SOUND).replace(head, head + noise))
    first, *others = report.findings
    assert first.kind == "repeated" and first.reply.what.endswith("same calls")
    paid = [each for each in others if each.about.severity == "exploitable"]
    assert paid and not any(each.is_certain for each in paid) and not any(e.cost for e in paid)
    assert report.worst == "unstable" and report.exit_code == 10
    lines = "\n".join(text(report))
    assert "PERHAPS EXPLOITABLE" in lines and "\n1. UNSTABLE: the same call" in lines
    assert {"note", "warning"} == {
        each["level"] for each in json.loads(sarif([report]))["runs"][0]["results"]
    }


@pytest.mark.slow
def test_a_reward_with_noise_is_certain_to_pay_what_it_always_pays(audited: Audited) -> None:
    code = """
    import random

    def reward(completion, answer):
        return float(answer in completion) + random.random() / 100
    """
    first, second, *_ = audited(code).findings
    assert first.kind == "repeated" and second.is_certain
    assert second.about.severity == "exploitable"


@pytest.mark.slow
def test_a_reward_that_keeps_state_is_unequal_and_its_other_findings_are_certain(
    audited: Audited,
) -> None:
    code = """
    seen = {}

    def reward(completion, answer):
        seen[completion] = seen.get(completion, 0) + 1
        return float(answer in completion and seen[completion] < 3)
    """
    first, *others = audited(code).findings
    assert first.kind == "repeated"
    assert any(each.about.severity == "exploitable" and each.is_certain for each in others)


# --- time -----------------------------------------------------------------------------------------
STUCK = "while True: pass"


def test_a_target_whose_import_does_not_end_is_left_when_the_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "grader.py").write_text(f"def reward(completion, answer): return 1.0\n{STUCK}\n")
    with pytest.raises(UsageError, match="--seconds"):
        audit(f"{tmp_path}/grader.py:reward", list(audit_rows(ROWS)), limits=Limits(0.5))


@pytest.mark.slow
def test_a_call_that_the_time_cuts_is_no_hang_and_the_page_says_what_was_cut(
    audited: Audited,
) -> None:
    code = f"def reward(completion, answer):\n    {STUCK}"
    report = audited(code, seconds=4, timeout=1000)
    assert not report.findings and report.exit_code == 1
    assert report.cut == ["the search for the form of a right answer, and all probes"]
    assert "these were cut: the search for the form" in "\n".join(text(report))
    assert values(report, Settings())["cut"] == report.cut


@pytest.mark.slow
def test_what_failed_before_the_time_was_over_is_called_again_and_found(audited: Audited) -> None:
    code = """
    import time

    calls = []

    def reward(completion, answer):
        calls.append(1)
        while len(calls) > 500: time.sleep(1)
        return float(answer in completion)
    """
    report = audited(code, seconds=8, timeout=1000)
    assert "hedge" in kinds(report) and "hang" not in kinds(report)
    assert [each.partition(",")[0] for each in report.cut][0] == "the probes"


def test_a_reward_that_pays_for_length_is_reported_and_one_that_caps_it_is_not(
    audited: Audited,
) -> None:
    code = """
    def reward(completion, answer):
        right = completion.split()[-1:] == [answer]
        return right * (1.0 + min(0.5, 0.001 * len(completion)) * BONUS)
    """
    found = audited(code.replace("BONUS", "1"), seconds=30)
    (padding,) = (each for each in found.findings if each.kind == "padding")
    assert padding.is_certain and "earns 1.5 in place of 1" in padding.cost
    assert padding.witness.pairs[0][1].startswith("word word")
    assert "padding" not in kinds(audited(code.replace("BONUS", "0.1"), seconds=30))


def test_the_page_says_how_many_rows_were_probed_and_fits_80_columns(audited: Audited) -> None:
    rows = [{"prompt": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(5)]
    report = audited("def reward(completion, answer): return float(answer in completion)", rows)
    lines = text(report)
    assert lines[0].endswith("5 rows, 2 of them probed in full (--sample)")
    assert max(map(len, lines[1:])) <= 80 and report.findings


_WORKS = """
    import time
    def reward(completion, answer):
        time.sleep({seconds} * ("work" in completion))
        return float(completion == answer)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "kind", "said"),
    [(1.3, "slow", "one call took 1."), (100, "hang", "timeout, no reply in 2 s")],
)
def test_texts_that_took_the_time_while_the_form_was_learned_are_a_finding(
    audited: Audited, seconds: float, kind: str, said: str
) -> None:
    report = audited(_WORKS.format(seconds=seconds), seconds=16, timeout=2)
    assert "the search for the form" in report.cut[0]
    [finding] = report.findings
    assert finding.kind == kind and said in "\n".join(text(report))
    assert "work" in finding.witness.pairs[0][1] and report.exit_code == 12


@pytest.mark.slow
def test_a_reward_that_is_slow_on_every_text_has_no_slow_text(audited: Audited) -> None:
    report = audited(_WORKS.format(seconds=1.3).replace('"work"', '""'), seconds=8)
    assert report.cut and not report.findings


@pytest.mark.slow
def test_a_failure_without_a_second_call_in_time_is_named_and_is_no_finding(
    audited: Audited,
) -> None:
    code = """
    import os, time

    def reward(completion, answer):
        # With the third process: the first was cut at the probes, the second at the calls.
        with open("starts", "a") as file:
            file.write("x" * (not STARTED))
        STARTED.append(1)
        while os.path.getsize("starts") > 2 or len(STARTED) > 500: time.sleep(1)
        return float(answer in completion)

    STARTED = []
    """
    report = audited(code, seconds=8, timeout=1000)
    assert not report.findings and report.exit_code == 1
    assert report.cut[-1].startswith("second calls, so no findings: ")
    assert "hedge" in report.cut[-1]


# --- form -----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_form_that_tells_right_from_wrong_is_preferred(audited: Audited) -> None:
    code = """
    def reward(completion, answer):
        last = (completion.split() or [""])[-1]
        return float(last == answer or not last.isdigit())
    """
    report = audited(code)
    assert report.surface and report.surface.text.endswith(" {}") and report.floor == 0.0
    assert "nothing" in kinds(report)


def test_a_reward_of_the_form_alone_may_pay_a_wrong_answer(audited: Audited) -> None:
    code = """
    def reward(completion, answer):
        "Pays the format, whatever the answer."
        return 1.0
    """
    assert not audited(code).findings


# --- code -----------------------------------------------------------------------------------------
PROGRAMS = [
    {
        "prompt": "Write add(a, b).",
        "answer": "def add(a, b):\n    return a + b\n",
        "tests": ["assert add(1, 2) == 3", "assert add(-4, 4) == 0", "assert add(9, 5) == 14"],
    }
]


# A harness whose programs run in a child: to fork takes a tenth of what a new interpreter takes.
FORKS = """
    import os, signal

    def run(program):
        child = os.fork()
        if not child:
            status = 1
            try:
                for stream in range(3):
                    os.dup2(os.open(os.devnull, os.O_RDWR), stream)
                signal.alarm(1)
                exec(program, {"__name__": "__main__"})
                status = 0
            except SystemExit as left:
                status = int(bool(left.code))
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == -signal.SIGALRM:
            raise TimeoutError
        return status
"""


@pytest.mark.slow
def test_programs_that_forge_their_verdict_are_sent_to_a_harness(audited: Audited) -> None:
    code = """
    def reward(completion, tests):
        program = completion.split("```python")[-1].split("```")[0]
        return float(run(program + "\\n".join(tests)) == 0)
    """
    report = audited(FORKS + code, PROGRAMS)
    assert {"forgery", "raises"} <= kinds(report) and "same program" not in kinds(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judged", "comparison"),
    [("tests[:2]", "value == expected"), ("tests", "str(value) == str(expected)")],
)
def test_a_harness_that_judges_loosely_pays_a_program_that_fails_its_tests(
    audited: Audited, judged: str, comparison: str
) -> None:
    code = f"""
    import ast

    def reward(completion, tests):
        scope = {{}}
        try:
            exec(completion.split("```python")[-1].split("```")[0], scope)
            for test in {judged}:
                compare = ast.parse(test).body[0].test
                value = scope["add"](*map(ast.literal_eval, compare.left.args))
                expected = ast.literal_eval(compare.comparators[0])
                if not ({comparison}):
                    return 0.0
        except BaseException:
            return 0.0
        return 1.0
    """
    report = audited(code, PROGRAMS, timeout=HANG_S)
    assert "wrong program" in kinds(report) and "same program" not in kinds(report)


@pytest.mark.slow
def test_a_harness_in_this_sandbox_is_not_accused(tmp_path: Path) -> None:
    (tmp_path / "harness.py").write_text(
        "from infinite_rl import get_reward_functions\n"
        "JUDGE = get_reward_functions(only=['coding'])['coding']\n"
        "def reward(completion, tests):\n"
        "    return float(JUDGE.compute_reward(completion, {'tests': tests}).passed)\n"
    )
    each = list(audit_rows(PROGRAMS))
    settings = Settings(timeout=20, memory=0, keep=("HOME", "XDG_CACHE_HOME"))
    report = audit(f"{tmp_path}/harness.py:reward", each, settings, Limits(60, 1))
    assert report.surface and not report.findings


@pytest.mark.slow
def test_a_harness_in_process_is_attacked_anew_after_a_program_has_patched_it(
    audited: Audited,
) -> None:
    code = """
    import ast

    def reward(completion, tests):
        program = completion.split("```python")[-1].split("```")[0]
        if any(word in program for word in ("open", "eval", "os.", "subprocess")):
            return 0.0
        try:
            scope = {}
            exec(program, scope)
            for test in tests:
                compare = ast.parse(test).body[0].test
                expected = ast.literal_eval(compare.comparators[0])
                if scope["add"](*map(ast.literal_eval, compare.left.args)) != expected:
                    return 0.0
        except BaseException:
            return 0.0
        return 1.0
    """
    report = audited(code, PROGRAMS, timeout=HANG_S)
    assert {"patched", "forgery", "same program"} <= kinds(report)
    [refused] = [each for each in report.findings if each.kind == "same program"]
    assert "opening" in refused.witness.pairs[0][1]


SCRIPT = {
    "prompt": "Print the sum of the numbers.",
    "inputs": ["1 2", "3 4", "9 9"],
    "outputs": ["3", "7", "18"],
    "solution": "def total(line):\n    parts = line.split()\n    return sum(map(int, parts))\n\n\n"
    "print(total(input()))",
}
DOCTEST = {
    "prompt": "Write add(a, b).",
    "solution": "def add(a, b):\n    total = a + b\n    return total\n",
    "tests": "Sums:\n>>> add(1, 2)\n3\n>>> add('a', 'b')\n'ab'\n>>> add(2, 2)\n4\n>>> add\n<f>\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "features"),
    [
        (SCRIPT, ("stdin.buffer", "\n# the next")),
        (DOCTEST, (">>> add(...)", "opening", "\n# the next")),
    ],
)
def test_the_same_program_in_other_words_passes_its_tests(
    row: dict[str, object], features: Sequence[str]
) -> None:
    [each] = audit_rows([row])
    probes = list(variants(each, Surface("alone", "{}"), False, lambda: None))
    right = [probe.completion for probe in probes if probe.kind == "same program"]
    wrong = [probe.completion for probe in probes if probe.kind == "wrong program"]
    assert all(any(feature in program for program in right) for feature in features)
    assert len(right) >= 8 and any("nan" in program for program in wrong)


def test_a_row_of_humaneval_has_a_program_and_its_tests() -> None:
    row = {
        "prompt": 'def double(n):\n    """Twice n."""\n', "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(double):\n    assert double(2) == 4\n    assert double(0) == 0\n",
    }  # fmt: skip
    [each] = audit_rows([row])
    assert each.kind == "code" and each.gold == row["prompt"] + row["canonical_solution"]
    tests = references(each.fields, "double")
    assert [test["cases"][0]["output"] for test in tests] == [4, 0]
    assert passed_share(each.gold, tests) == 1.0
    assert passed_share(each.gold.replace("2 *", "3 *"), tests) == 0.5


@pytest.mark.slow
def test_a_harness_that_believes_a_file_is_sent_one_with_the_names_in_its_source(
    audited: Audited,
) -> None:
    code = """
    import json
    from pathlib import Path

    def reward(completion, tests):
        Path("verdict.json").unlink(missing_ok=True)
        program = completion.split("```python")[-1].split("```")[0]
        check = "import json; n = int(repr([add(1, 2), add(-4, 4), add(9, 5)]) == '[3, 0, 14]')"
        end = "; json.dump({'right': n, 'all': 1}, open('verdict.json', 'w'))"
        run(program + "\\n" + check + end)
        verdict = json.loads(Path("verdict.json").read_text())
        return verdict["right"] / verdict["all"]
    """
    report = audited(FORKS + code, PROGRAMS)
    [forgery] = [each for each in report.findings if each.kind == "forgery"]
    assert "verdict.json" in forgery.witness.pairs[0][1]


@pytest.mark.slow
def test_a_program_that_catches_the_alarm_of_its_harness_makes_it_hang(audited: Audited) -> None:
    code = """
    import signal

    def alarmed(*_):
        raise TimeoutError

    def reward(completion, tests):
        signal.signal(signal.SIGALRM, alarmed)
        signal.alarm(1)
        try:
            scope = {}
            exec(completion.split("```python")[-1].split("```")[0], scope)
            exec("\\n".join(tests), scope)
            return 1.0
        except BaseException:
            return 0.0
        finally:
            signal.alarm(0)
    """
    assert "hang" in kinds(audited(code, PROGRAMS, timeout=2))  # longer than its alarm


RESPONSE = """
    def reward(body):
        output = body["response"]["output"]
        text = {text}
        return {{"reward": float(text.strip().endswith(f"<answer>{{body['answer']}}</answer>"))}}
"""
JOINED = '"".join(p.get("text", "") for o in output for p in o.get("content", ()))'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JOINED, set()),
        (f'{JOINED} if {JOINED}[:8] == "<answer>" else ""', set()),  # nothing before the answer
        ('output[0]["content"][-1]["text"]', {"several items", "raises"}),
    ],
)
def test_a_server_gets_the_items_of_a_model_that_reasons(
    audited: Audited, text: str, expected: set[str]
) -> None:
    report = audited(RESPONSE.format(text=text), kind="nemo_gym")
    assert report.full == 1.0 and kinds(report) & {"several items", "raises"} == expected


# --- hostile targets ------------------------------------------------------------------------------
HOSTILE = {
    "raises": ("raise KeyError(completion)", "raises"),
    "hangs": ("import time; len(completion) > 5000 and time.sleep(100)", "hang"),
    "kills its parent": ("import os; len(completion) > 5000 and os.kill(os.getppid(), 9)", ""),
    "ends its process": ("import os; len(completion) > 5000 and os._exit(0)", "process ended"),
    "forks": ("import os; pid = os.fork(); pid or os._exit(0); pid and os.waitpid(pid, 0)", ""),
    "floods": ("print('x' * 100_000)", ""),  # more than a pipe holds
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
    report = audited(code, timeout=HANG_S if name == "hangs" else 4)
    assert kind in kinds(report) or not kind
    assert os.getcwd() and sum([2, 3]) == 5
    if not kind:
        assert not report.exit_code


def test_a_reward_that_hangs_ends_with_the_audit_that_is_killed(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    (tmp_path / "spins.py").write_text(
        "import os, pathlib\n"
        f"pathlib.Path({str(alive)!r}).write_text(str(os.getpid()))\n"
        "while True: pass\n"
    )
    target = f"{tmp_path / 'spins.py'}:f"
    code = f"from infinite_rl.audit.process import Process; Process({target!r})"
    audit = subprocess.Popen([sys.executable, "-c", code])
    while not (alive.is_file() and alive.read_text()):
        assert audit.poll() is None
        time.sleep(0.05)
    audit.kill()
    audit.wait()
    reward = Path(f"/proc/{alive.read_text()}")
    deadline = time.monotonic() + 60
    while reward.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not reward.exists()


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


def test_a_module_of_the_target_is_not_hidden_by_one_of_ours(tmp_path: Path) -> None:
    """Nor by one of this room: the process may have any interpreter, and any module's name."""
    folder = Path(process.__file__).parent
    ours = {path.stem for path in folder.rglob("*.py")} - {"__init__"}
    assert {"calls", "loading", "rows"} <= ours
    for name in ours:
        (tmp_path / f"{name}.py").write_text("OURS = False\n", encoding="utf-8")
    imported = "\n".join(f"import {name}; assert not {name}.OURS" for name in sorted(ours))
    (tmp_path / "own_target.py").write_text(
        f"{imported}\ndef reward(completion, answer):\n    return 1.0\n", encoding="utf-8"
    )
    with Process(f"{tmp_path}/own_target.py:reward") as target:
        assert target.description.kind == "plain"


def test_the_process_of_a_target_needs_the_standard_library_alone() -> None:
    folder = Path(process.__file__).parent / "foreign_reward"
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, path


def test_a_module_that_cannot_be_loaded_is_one_clear_line(audited: Audited) -> None:
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        audited("1 / 0")
    with pytest.raises(UsageError, match="ends its process"):
        audited("import os; os._exit(0)")


def test_the_middle_process_and_all_that_a_target_started_are_gone(audited: Audited) -> None:
    code = "import subprocess\nsubprocess.Popen(['sleep', '1234567'])\n" + textwrap.dedent(SOUND)
    assert not audited(code).findings
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(b"1234567" in line for line in lines)


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


@pytest.mark.parametrize("target", ["Numbers", "instance"])
def test_a_reward_function_of_this_package_is_called_by_its_own_rules(
    audited: Audited, tmp_path: Path, target: str
) -> None:
    code = textwrap.dedent(SOUND).replace("reward", "judged") + textwrap.dedent("""
        from infinite_rl import RewardFunction, RewardFunctionScore

        class Numbers(RewardFunction):
            def compute_reward(self, model_output, expected_output, answer_tag="answer"):
                right = judged(model_output, expected_output)
                return RewardFunctionScore(1.0, 0.9, status="passed" if right else "failed")

        instance = Numbers("numbers")
    """)
    report = audited(f"{code}\nreward = {target}")
    assert report.kind == "infinite_rl" and report.full == 1.0 and report.surface
    assert kinds(report) == set()


def test_the_misspelt_name_of_a_target_has_a_suggestion(audited: Audited) -> None:
    with pytest.raises(UsageError, match=r"there is no reward in /.*did you mean rewards\?"):
        audited("def rewards(completion, answer): return 1.0")


def test_a_reward_of_the_length_alone_is_not_accused(audited: Audited) -> None:
    code = """
    def reward(completion, answer):
        # Length only: correctness is another function's part.
        return min(1.0, len(completion) / 1000)
    """
    report = audited(code)
    assert not report.findings and "form alone" in report.note


# --- rows -----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_audit_of_rows_lists_what_is_wrong_with_them() -> None:
    spiders = "How many legs have 9 spiders altogether on the wall of our house?"
    rows = [
        {"prompt": "What is 3 + 4?", "answer": "8", "response": "So <answer>7</answer>"},
        {"prompt": "How many legs have 7 cows? The answer is 28.", "answer": "28"},
        *({"prompt": spiders, "answer": answer} for answer in ("72", "72", "70")),
        {"prompt": "Nothing", "answer": ""},
        {
            "prompt": "Write largest(a), which returns the largest number of a list.",
            "answer": "def largest(a):\n    best = a[0]\n    for x in a:\n"
            "        if x > best:\n            best = x\n    return best\n",
            "tests": ["assert largest([3]) == 3", "assert largest([5, 5]) == 5"],
        },
        *({"prompt": f"Task {n}", "answer": f"{n}", "pass_rate": 1.0} for n in range(3)),
    ]
    report = audit_data(rows, against={"animals": [{"prompt": spiders}]})
    others = [each for each in report.findings if each.check != "contamination"]
    assert {(each.check, each.row) for each in others} == {
        ("contradiction", 1), ("refuted gold", 1), ("leak", 2), ("duplicate", 4), ("disputed", 5),
        ("no gold", 6), ("weak tests", 7), ("flat difficulty", 0),
    }  # fmt: skip
    assert [each.row for each in report.of("contamination")] == [3, 4, 5]
    assert any(line.startswith("WEAK TESTS") for line in page(report))


def test_rows_without_a_gold_and_with_one_that_no_reward_reads_are_found() -> None:
    program = tagged(f"\n{fenced('def f(x): return 2 * x', 'python')}\n")
    shared = {"prompt": "Double x.", "type": "coding", "language": "python", "response": program}
    golds = [None, "", [], {}, {"tests": []}, '{"tests": []}', {"cases": [{"input": "2"}]}]
    rows = [{**shared, "answer": gold} for gold in [*golds, {"tests": ["assert f(2) == 4"]}]]
    rows += [{**shared, "answer": "assert f(2) == 4", "language": "cobol"}]
    rows += [
        {"prompt": "Halve 8.", "type": "math", "answer": gold} for gold in ("4", "\\frac{", None)
    ]
    found = {each.row: each.evidence for each in audit_data(rows).of("no gold")}
    assert [*found] == [*range(1, 8), 9, 11, 12]
    assert found[1] == "there is no gold" and "must have an" in found[7] and "cobol" in found[9]


def test_rows_of_another_reward_are_said_to_be_judged_by_none() -> None:
    rows = [{"prompt": "Six?", "answer": "6", "type": "roman", "response": "<answer>7</answer>"}]
    report = audit_data(rows)
    assert not report.findings and report.foreign == {"roman": 1}
    assert page(report)[-1].startswith("not judged: rows of 'roman', which is no reward of this")


def test_a_set_of_numbers_is_no_program_where_the_row_says_that_it_is_maths() -> None:
    row = {"prompt": "Solve it.", "answer": "{3 - 2*i, 3 + 2*i}", "type": "math"}
    report = audit_data([{**row, "response": "<answer>3 - 2i, 3 + 2i</answer>"}])
    assert not report.unnamed and not report.findings and report.checked["contradiction"] == 1


def test_a_row_without_the_column_of_the_others_has_no_gold() -> None:
    rows = [{"prompt": "Add 1 to 2.", "answer": "3"}, {"prompt": "Add 1 to 3.", "response": "9"}]
    assert [each.row for each in audit_data(rows).of("no gold")] == [2]


def test_rows_whose_response_stands_for_a_gold_have_one() -> None:
    rows = [{"prompt": "Add 1 to 2.", "answer": None, "response": "<answer>3</answer>"}] * 2
    assert not audit_data(rows).of("no gold")


def test_what_was_not_tested_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tagged(f"\n{fenced('def f(x): return 3 * x', 'python')}\n")
    row = {"type": "program", "answer": {"tests": ["assert f(2) == 4"]}, "response": program}
    rows = [{**row, "prompt": f"Multiply {n} by two, {'and ' * n}return it."} for n in range(3)]
    source = str(tmp_path / "rows.jsonl")
    write(rows, source)
    assert main(["audit", "rows", source]) == 1
    page = capsys.readouterr().out
    assert "not tested: 3 coding rows name no language" in page and "FAILING" not in page
    assert main(["audit", "rows", source, "--language", "python", "--tested", "2"]) == 1
    page = capsys.readouterr().out
    assert "FAILING PROGRAM: the row's own program fails its tests (2 of 2 tested, 1 not)" in page
    assert "name no language" not in page
    assert main(["audit", "rows", source, "--language", "pyhton"]) == 2
    assert "did you mean python?" in capsys.readouterr().err


def test_a_copy_of_a_disputed_row_is_a_duplicate_too() -> None:
    prompt = "How many legs have 9 spiders altogether on the wall of our house?"
    rows = [{"prompt": prompt, "answer": answer} for answer in ("70", "72", "72", "71", "72")]
    report = audit_data(rows)
    assert [each.row for each in report.of("disputed")] == [2, 3, 4, 5]
    copies = {each.row: each.evidence for each in report.of("duplicate")}
    assert list(copies) == [3, 5] and all(each.startswith("of row 2,") for each in copies.values())


def test_a_refuted_gold_is_shown_with_the_value_that_is_right() -> None:
    [refuted] = audit_data([{"prompt": "What is 3 + 4?", "answer": "8"}]).of("refuted gold")
    assert refuted.evidence == "by evaluation its answer is 7"


def test_sound_rows_are_not_accused() -> None:
    rows = [{**row, "response": f"<answer>{row['answer']}</answer>"} for row in ROWS]
    assert not audit_data(rows).findings


# --- pages ----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_pages_hold_the_findings_and_no_markup_of_texts(audited: Audited) -> None:
    rows = [{"prompt": "<script>alert(1)</script>", "answer": "7"}, *ROWS]
    report = audited("def reward(completion, answer): return float(answer in completion)", rows)
    _target, *lines = text(report)  # the first has the path of the file
    assert max(map(len, lines)) <= 100
    assert "EXPLOITABLE" in "\n".join(lines)
    markup = web_page([report])
    assert "<script" not in markup and "script" in markup
    results = json.loads(sarif([report]))["runs"][0]["results"]
    assert len(results) == len(report.findings) and results[0]["level"] == "error"
    assert json.dumps(values(report, Settings()))


def test_the_page_says_from_when_a_completion_is_paid_before_the_first_finding(
    audited: Audited,
) -> None:
    report = audited("def reward(completion, answer): return 2 * float(answer in completion)")
    page = " ".join(" ".join(text(report)).split())
    assert 0 < page.index("a completion that earns 1 or more counts as paid") < page.index("1. EXP")
    markup = web_page([report])
    assert 0 < markup.index("earns 1 or") < markup.index("1. EXP")


# --- the command ----------------------------------------------------------------------------------
@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grader.py").write_text(textwrap.dedent(SOUND), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))

    def run(line: str) -> tuple[int, str]:
        code = main(["audit", *line.split()])
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


def test_nothing_is_left_beside_the_audited_file(
    command: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    before = set(tmp_path.iterdir())
    assert command("grader.py:reward --rows rows.jsonl --sample 1")[0] == 0
    assert set(tmp_path.iterdir()) == before


def test_a_file_is_replaced_only_if_that_is_said(
    command: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    (tmp_path / "old.json").write_text("old")
    for line in ("grader.py:reward --rows rows.jsonl", "rows rows.jsonl"):
        assert command(f"{line} -o old.json") == (
            2, "error: old.json is there already: --overwrite replaces it\n",
        )  # fmt: skip
        assert (tmp_path / "old.json").read_text() == "old"
    code, output = command("rows rows.jsonl -o old.json --overwrite")
    assert code == 0 and "in old.json" in output
    assert json.loads((tmp_path / "old.json").read_text()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# a page", "is not JSON: give a REPORT.json"),
        ("[" * 100_000, "is not JSON: give a REPORT.json"),
        ("[1, 2]", "is JSON, but not a report of an audit: give a REPORT.json"),
        ('{"reports": [{"findings": [{}]}]}', "is JSON, but not a report of an audit"),
        ('{"pairs": [1]}', "not a witness of an audit"),
        ('{"pairs": []}', "not a witness of an audit: it lacks 'kind'"),
    ],
)
def test_replay_says_that_a_file_is_no_report_and_what_to_give(
    command: Callable[[str], tuple[int, str]], tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "file").write_text(content, encoding="utf-8")
    code, output = command("replay file")
    assert code == 2 and message in output and "infinite-rl audit TARGET" in output


def test_a_report_without_a_finding_has_nothing_to_replay(
    command: Callable[[str], tuple[int, str]],
) -> None:
    assert command("grader.py:reward --rows rows.jsonl --sample 1 -o a.json")[0] == 0
    code, output = command("replay a.json")
    assert code == 0 and "has no finding" in output


def test_rows_are_counted_from_1_in_each_text(
    command: Callable[[str], tuple[int, str]], tmp_path: Path
) -> None:
    rows = [*ROWS, {"prompt": "no gold"}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert "row 4 has no gold" in command("grader.py:reward --rows rows.jsonl")[1]
    assert "row 4:" in command("rows rows.jsonl")[1]


def test_the_targets_share_the_seconds_of_the_run(
    command: Callable[[str], tuple[int, str]],
) -> None:
    code, output = command("grader.py:reward grader.py:reward --rows rows.jsonl --sample 1")
    first, second = re.findall(r"auditing \S+: \d+ of (\d+) s: the search for the form", output)
    assert code == 0 and first == "60" and int(second) > 60  # the first leaves most of its share


# --- the guide ------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_newcomer_gets_the_page_of_the_guide_with_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    reward, _, command, finding = re.findall(r"^```\w+\n(.*?)^```$", guide, re.M | re.S)[:4]
    monkeypatch.chdir(tmp_path)
    Path("reward.py").write_text(reward, encoding="utf-8")
    rows = [ROWS[0], {"prompt": "A shelf holds 4 rows of 30 jars.", "answer": "120"}]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(shlex.split(command)[1:]) == 14
    assert finding in capsys.readouterr().out
    assert main(["audit", "replay", "audit.json", "--number", "1"]) == 1
    Path("reward.py").write_text(textwrap.dedent(SOUND).replace("reward(", "my_reward("))
    assert main(["audit", "replay", "audit.json"]) == 0
