"""The audit of rows: weak tests, contradicted golds, leaks, duplicates, flat difficulty.

Each check is another room's; here they run over the rows of anybody, and are counted on one page.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..dataset.dedup import answer_tokens, duplicates
from ..dataset.rows import Source, as_number, read_some
from ..dataset.scoring import Judging, score_rows
from ..dataset.strengthening import COLUMN, Settings, strengthen_rows
from ..errors import UnknownName, UsageError
from ..layout import fenced, tagged
from ..reward_functions import REWARDS, get_reward_functions
from ..reward_functions.coding import CodingRewardFunction
from ..reward_functions.reward_function import BadReference, RewardFunction
from ..types import Sample
from ..verification.derivation import derive
from .rows import CODE, MATHS, NUMBER, AuditRow, audit_row

_TESTED = 20  # coding rows whose tests are searched for surviving mutants
_INPUTS = 200  # of the search of one row
_READING = ("math", "gsm8k", "coding", "program", "humaneval")  # they read a gold without a run
_SHARE = 0.5  # of the rows with a pass rate of 0 or 1, from which difficulty is flat
_RATES = ("pass_rate", "solve_rate", "difficulty_pass_rate", "llama8b_solve_rate")

# One row a check: its title, and what to do.
CHECKS: Mapping[str, tuple[str, str]] = {
    "no gold": (
        "a row has no prompt, or no gold that can be read",
        "Correct or remove these rows.",
    ),
    "contradiction": ("the response fails against the gold", "See which of the two is wrong."),
    "refuted gold": ("the prompt itself gives another answer", "Correct these golds."),
    "leak": ("the prompt states the answer", "Remove the answer from these prompts."),
    "duplicate": ("a row repeats another", "infinite-rl data dedup FILE -o CLEAN"),
    "disputed": ("equal prompts have different golds", "See which of the golds is right."),
    "contamination": ("a row holds text of a benchmark", "infinite-rl data decontaminate FILE"),
    "weak tests": ("wrong programs pass the tests", "infinite-rl strengthen FILE -o STRONGER"),
    "failing program": ("the row's own program fails its tests", "Correct the program or a test."),
    "flat difficulty": ("most rows are always or never solved", "Choose rows by pass rate."),
}


class RowFinding(NamedTuple):
    """A check that a row failed; rows are counted from 1."""

    check: str
    row: int
    id: str
    evidence: str


@dataclass
class DataReport:
    """The audit of a file: its findings, and how many rows each check could judge.

    Of the coding rows with a program, `untested` were beyond the number to be tested, and
    `unnamed` could not be, since they name no language. `foreign` counts rows by a type that is no
    reward of this package: their responses are not judged.
    """

    rows: int = 0
    findings: list[RowFinding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    untested: int = 0
    unnamed: int = 0
    foreign: Counter[str] = field(default_factory=Counter)

    def of(self, check: str) -> list[RowFinding]:
        """The findings of one check."""
        return [each for each in self.findings if each.check == check]


def audit_data(
    source: Source,
    answer: str = "",
    against: Mapping[str, Source] | None = None,
    tested: int = _TESTED,
    on_check: Callable[[str], None] = lambda _: None,
    language: str = "",
) -> DataReport:
    """Check the rows of a file. They are held in memory.

    `answer` names the column of the golds, `against` benchmarks by name. Of coding rows the first
    `tested` have their tests searched; `language` is that of their programs, if "" each row's.
    `on_check` is called with the name of each check.

    Raises:
        UsageError: there is no such source, or a benchmark has no text; StoreError: it is damaged.
    """
    columns = list(read_some(source))
    report = DataReport(len(columns))
    rows = list(_rows(columns, answer, language, report))
    types = [str(each.get("type") or "") for each in columns]
    report.foreign.update(each for each in types if each and each not in REWARDS)
    checks: Mapping[str, Callable[[], list[RowFinding]]] = {
        "leak": lambda: _leaks(rows),
        "contradiction": lambda: _contradictions(rows, report),
        "refuted gold": lambda: _refuted(rows, report),
        "duplicate": lambda: _duplicates(columns, rows, report),
        "contamination": lambda: _contaminated(columns, against or {}),
        "weak tests": lambda: _weak(rows, tested, language, report),
        "flat difficulty": lambda: _flat(columns, report),
    }
    for name, check in checks.items():
        on_check(name)
        report.findings += check()
    report.checked["leak"] = len(rows)
    report.findings.sort(key=lambda each: (list(CHECKS).index(each.check), each.row))
    return report


def _rows(
    columns: Sequence[Mapping[str, Any]], answer: str, language: str, report: DataReport
) -> Iterator[AuditRow]:
    name, rewards = answer or "answer", get_reward_functions(only=_READING)
    is_used = any(each.get(name) is not None for each in columns)  # else responses stand for golds
    for index, each in enumerate(columns):
        report.checked["no gold"] += 1
        try:
            row = audit_row(index, each, answer)
            fault = "" if row.prompt else "there is no prompt"
            has_gold = each.get(name) is not None or row.answer != row.response
            if (is_used and not has_gold) or _is_empty(row.answer):
                fault = fault or "there is no gold"
            fault = fault or _fault_of_gold(row, language, rewards)
        except UsageError:
            row, fault = None, "there is no gold"
        if row is None or fault:
            report.findings.append(RowFinding("no gold", index + 1, _id(each), fault[:300]))
        else:
            yield row


def _is_empty(value: object) -> bool:
    inner = [*value.values()] if isinstance(value, Mapping) else []
    return (
        value in ("", [], {}) or bool(inner) and all(each in ("", [], {}, None) for each in inner)
    )


def _fault_of_gold(row: AuditRow, language: str, rewards: Mapping[str, RewardFunction]) -> str:
    """Why the reward of a row of this package cannot read its gold, or ""."""
    sample = sample_of_row(row)
    reward = rewards.get(sample.type) if sample else None
    if sample is None or reward is None:
        return ""
    if not isinstance(reward, CodingRewardFunction):
        score = reward.score(sample, tagged("0"))
        return score.error_msg if score.status == "unscored" else ""
    try:
        reward.reference(replace(sample, language=language or sample.language))
    except (BadReference, UnknownName) as fault:
        return f"cannot judge: {fault}"
    return ""


def _id(columns: Mapping[str, Any]) -> str:
    return str(columns.get("id") or "")


def _finding(check: str, row: AuditRow, evidence: str) -> RowFinding:
    return RowFinding(check, row.index + 1, _id(row.columns), evidence[:300])


def _leaks(rows: Sequence[AuditRow]) -> list[RowFinding]:
    """Prompts that state the gold as an answer, or hold the whole program."""
    leaks = []
    for row in rows:
        gold = re.escape(row.gold.strip())
        stated = (
            rf"(?:answer|solution|result)(?: is|:| =|=)\s*\$?{gold}(?![\w])(?!\.\d)"
            rf"|\\boxed{{\s*{gold}\s*}}|<answer>\s*{gold}\s*</answer>|####\s*{gold}\s*$"
        )
        pattern = gold if row.kind == CODE and len(gold) > 40 else stated
        if gold and (match := re.search(pattern, row.prompt, re.I | re.M)):
            leaks.append(_finding("leak", row, match[0]))
    return leaks


def sample_of_row(row: AuditRow) -> Sample | None:
    """A row as one of this package; None if no reward of it judges such rows."""
    kind = str(row.columns.get("type") or "")
    language = str(row.columns.get("language") or "")
    if kind:
        text = row.answer if isinstance(row.answer, str) else json.dumps(row.answer)
        return Sample(kind, row.prompt, text, row.response, language)
    if row.kind in (NUMBER, MATHS):
        return Sample("math", row.prompt, row.gold, row.response)
    names = ("tests", "test_list", "test_cases", "answer")
    tests = next((row.columns[name] for name in names if row.columns.get(name)), None)
    texts = tests if isinstance(tests, list) else [tests]
    if row.kind != CODE or not all(isinstance(each, str) for each in texts):
        return None
    program = tagged(f"\n{fenced(row.gold, 'python')}\n")
    answer = json.dumps({"tests": texts})
    return Sample("coding", row.prompt, answer, program, language or "python")


def _contradictions(rows: Sequence[AuditRow], report: DataReport) -> list[RowFinding]:
    """Rows of mathematics whose response states another answer than the gold."""
    pairs = []
    for row in rows:
        sample = sample_of_row(row)
        if row.response and sample and sample.type in ("math", "gsm8k") and not sample.language:
            pairs.append((row, sample))
    report.checked["contradiction"] = len(pairs)
    judged = [
        {
            "type": each.type,
            "prompt": row.prompt,
            "answer": each.answer,
            "response": row.response,
        }
        for row, each in pairs
    ]
    scores = score_rows(judged, Judging()) if judged else ()
    return [
        _finding("contradiction", row, score["error_msg"])
        for (row, _), score in zip(pairs, scores, strict=True)
        if score["status"] == "failed" and score["format_score"] == 1.0
    ]


def _refuted(rows: Sequence[AuditRow], report: DataReport) -> list[RowFinding]:
    refuted = []
    for row in rows:
        sample = sample_of_row(row)
        if sample and sample.type in ("math", "gsm8k"):
            derivation = derive(sample)
            report.checked["refuted gold"] += derivation.agrees is not None
            if derivation.fault:
                refuted.append(_finding("refuted gold", row, derivation.fault))
    return refuted


def _duplicates(
    columns: Sequence[Mapping[str, Any]], rows: Sequence[AuditRow], report: DataReport
) -> list[RowFinding]:
    """Repeated rows. A disputed row that also repeats another disputed one is listed as both.

    Rows without a gold have no dispute; a response that stands for one is none.
    """
    golds = {row.index: row.answer for row in rows if row.answer != row.response}
    columns = [
        {**each, "answer": golds.get(at, each.get("answer"))} for at, each in enumerate(columns)
    ]
    report.checked["duplicate"], report.checked["disputed"] = len(columns), len(golds)
    removed = duplicates(columns)
    by_answer: dict[str, list[int]] = defaultdict(list)
    for each in removed:
        if each.disputed:
            by_answer[answer_tokens(columns[each.row - 1])].append(each.row)
    for numbers in by_answer.values():
        again = duplicates(columns[number - 1] for number in numbers)
        removed += [
            replace(each, row=numbers[each.row - 1], of_row=numbers[each.of_row - 1])
            for each in again
        ]
    return [
        RowFinding(
            "disputed" if each.disputed else "duplicate",
            each.row,
            each.id,
            f"of row {each.of_row}, similarity {each.similarity:.2f}",
        )
        for each in removed
    ]


def _contaminated(
    columns: Sequence[Mapping[str, Any]], against: Mapping[str, Source]
) -> list[RowFinding]:
    if not against:
        return []
    from ..dataset.decontaminate import Benchmarks

    benchmarks = Benchmarks(against)
    findings = []
    for number, row in enumerate(columns, 1):
        if hits := benchmarks.hits(row):
            where = f"{hits[0].benchmark} row {hits[0].benchmark_row}: {hits[0].text}"
            findings.append(RowFinding("contamination", number, _id(row), where[:300]))
    return findings


def _weak(
    rows: Sequence[AuditRow], tested: int, language: str, report: DataReport
) -> list[RowFinding]:
    """Coding rows whose tests accept a mutant that another input tells apart."""
    pairs = [(row, sample_of_row(row)) for row in rows if row.kind == CODE and row.gold]
    samples = [
        (row, replace(sample, language=language or sample.language))
        for row, sample in pairs
        if sample
    ]
    named = [(row, sample) for row, sample in samples if sample.language]
    some = named[:tested]
    report.untested, report.unnamed = len(named) - len(some), len(samples) - len(named)
    report.checked["failing program"] = len(some)
    jobs = [({**vars(sample), "metadata": {}, "id": f"{row.index}"}, "") for row, sample in some]
    findings = []
    settings = Settings(inputs=_INPUTS)
    for (row, _), done in zip(some, strengthen_rows(iter(jobs), settings), strict=True):
        result = done[COLUMN]
        if result["gold_fails"]:
            findings.append(_finding("failing program", row, result["why"]))
        elif result["killable"]:
            report.checked["weak tests"] += 1
            for each in result["wrong"][:1]:
                killed = f"{result['killed_before']} of {result['killable']} mutants are killed; "
                evidence = f"{killed}{each['change']} passes, though {each['test']}"
                findings.append(_finding("weak tests", row, evidence))
    return findings


def _flat(columns: Sequence[Mapping[str, Any]], report: DataReport) -> list[RowFinding]:
    rates = [as_number(next((row[n] for n in _RATES if n in row), None)) for row in columns]
    rated = [rate for rate in rates if rate is not None]
    report.checked["flat difficulty"] = len(rated)
    always, never = sum(rate >= 1 for rate in rated), sum(rate <= 0 for rate in rated)
    if not rated or always + never < _SHARE * len(rated):
        return []
    evidence = f"of {len(rated)} rows {always} are always solved and {never} never: no gradient"
    return [RowFinding("flat difficulty", 0, "", evidence)]


def page(report: DataReport, listed: int = 5) -> list[str]:
    """The report as lines: a count for each check, and some rows of each."""
    lines = [f"{report.rows} rows"]
    for check, (title, mend) in CHECKS.items():
        findings = report.of(check)
        checked = report.checked[check]
        runs = check in ("failing program", "weak tests")
        rest = f" tested, {report.untested} not" if runs and report.untested else ""
        if not findings:
            if checked:
                lines.append(f"  {check}: none of {checked}{rest}")
            continue
        of = f" of {checked}{rest}" if checked and check != "flat difficulty" else ""
        lines += ["", f"{check.upper()}: {title} ({len(findings)}{of})"]
        for each in findings[:listed]:
            where = f"row {each.row}" if each.row else "all rows"
            lines.append(f"   {where}: {' '.join(each.evidence.split())}"[:200])
        if len(findings) > listed:
            lines.append(f"   and {len(findings) - listed} more")
        lines += [f"   mend: {mend}", ""]
    if report.unnamed:
        lines.append(f"not tested: {report.unnamed} coding rows name no language (see --language)")
    for name, count in report.foreign.items():
        lines.append(f"not judged: rows of {name!r}, which is no reward of this package: {count}")
    return lines
