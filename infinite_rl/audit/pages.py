"""The report as text of 80 columns, as JSON values, as SARIF, and as one HTML page."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from ..errors import UsageError, store_errors
from .findings import Finding, Report
from .probes import IN_TIME, KINDS, REFUSE, SAME, UNEQUAL
from .process import Settings
from .surfaces import without_work
from .targets import Witness

_WIDTH = 80
_QUOTED = 300  # characters of a witness on a page
_LEVELS = {"exploitable": "error", "false reject": "error", "hang": "error"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WANTED = "give a REPORT.json that `infinite-rl audit TARGET --rows FILE -o REPORT.json` wrote"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}pre{background:#f4f4f4;padding:.6rem;white-space:pre-wrap;"
    "overflow-wrap:anywhere}table{border-collapse:collapse}td,th{padding:.2rem .8rem;"
    "text-align:left;border-bottom:1px solid #ccc}"
)


def text(report: Report) -> list[str]:
    """The report of one target, as lines."""
    lines = _summary(report)
    for number, finding in enumerate(report.findings, 1):
        head, *rest = _finding(number, finding, report.threshold)
        lines += ["", *wrap(head, _WIDTH, subsequent_indent="   "), *rest]
    return lines


def _summary(report: Report) -> list[str]:
    """The target, how it is paid, the rates, and the parts that were not audited."""
    probed = f", {report.probed} of them probed in full (--sample)"
    rows = f"{report.rows} row{'s' * (report.rows != 1)}{probed * (report.probed < report.rows)}"
    lines = [f"{report.target} ({report.kind}), {rows}"]
    if report.surface:
        form = without_work(report.surface.text)[-80:]
        lines += _folded(
            f"right answers are paid in the form {quoted(form)}: the gold earns {report.full:g}, "
            f"a wrong answer {report.floor:g}; a completion that earns {report.threshold:g} or "
            "more counts as paid"
        )
        lines.append(f"false accepts: {report.false_accepts}")
        lines.append(f"false rejects: {report.false_rejects}")
        if report.is_unequal:
            lines += _folded("the same call has other results: both rates are of single calls")
    lines.append(f"{report.calls} calls in {report.seconds:.1f} s, {report.call_ms:.2g} ms a call")
    if report.cut:
        cut = "; ".join(report.cut)
        lines += _folded(f"the time was over, and these were cut: {cut}. --seconds gives more")
    if report.note:
        lines += _folded(f"note: {report.note}")
    if not report.findings:
        by = " by the probes that ran" * bool(report.cut)
        lines.append(f"nothing was found{by}" if report.surface else "nothing could be judged")
    return lines


def _finding(number: int, finding: Finding, threshold: float) -> list[str]:
    """A finding as lines. `threshold` is the one that the page states before."""
    about, witness = finding.about, finding.witness
    row, completion = witness.pairs[0]
    count = f"{finding.count} of {finding.total} probes"
    if finding.of_rows > 1:
        count += f", {finding.rows} of {finding.of_rows} rows"
    severity = about.severity.upper() if finding.is_certain else f"PERHAPS {about.severity.upper()}"
    lines = [f"{number}. {severity}: {about.title} ({count})"]
    if not finding.is_certain:
        lines += _folded(
            f"this may be chance: {finding.shown} of {finding.calls} same calls showed it"
        )
    lines += _folded(
        f"row: {quoted(str(row.get('prompt')))}, gold {quoted(str(row.get('answer')))}"
    )
    if witness.expect == REFUSE and witness.threshold != threshold:
        lines += _folded(
            f"wrong answers may earn parts: this one is paid if it earns {witness.threshold:g}"
        )
    lines += _folded(f"completion: {quoted(completion)}")
    lines += _folded(f"result: {outcome(finding)}")
    lines += _folded(finding.cost) if finding.cost else []
    return lines + _folded(f"mend: {about.mend}")


def outcome(finding: Finding) -> str:
    """The target's reply to the witness, in words."""
    reply, witness = finding.reply, finding.witness
    if finding.kind == "executed":
        return "the code ran"
    if finding.kind == UNEQUAL:
        return reply.what
    if witness.expect == IN_TIME and not reply.fault:
        return f"one call took {reply.seconds:.1f} s"
    if reply.changed and witness.expect == SAME:
        return f"the call changed {', '.join(reply.changed)}"
    value = (
        f"{reply.reward:g}"
        if reply.reward is not None
        else ", ".join(filter(None, (reply.fault, reply.what)))
    )
    if witness.expect == SAME:
        return f"called otherwise ({witness.how}, {len(witness.pairs)} calls): {value}"
    return value


def quoted(value: str) -> str:
    """A text in quotes, with its middle left out if it is long."""
    if len(value) > _QUOTED:
        half = _QUOTED // 2
        value = f"{value[:half]} [{len(value) - 2 * half} characters] {value[-half:]}"
    return json.dumps(value, ensure_ascii=True)


def _folded(line: str) -> list[str]:
    return wrap(line, _WIDTH, initial_indent="   ", subsequent_indent="     ")


def table(reports: Sequence[Report]) -> list[str]:
    """A comparison of several targets on the same rows."""
    width = max(len(_short(report.target)) for report in reports)
    lines = [f"{'target':<{width}}  false accepts        false rejects        ms/call  worst"]
    for report in reports:
        rates = [
            f"{rate.count}/{rate.total}".rjust(8)
            + (f" {rate.count / rate.total:>7.1%}" if rate.total else " " * 8)
            for rate in (report.false_accepts, report.false_rejects)
        ]
        worst = report.worst or ("none" if report.surface else "not judged")
        lines.append(
            f"{_short(report.target):<{width}}  {rates[0]:<19}  {rates[1]:<19}  "
            f"{report.call_ms:>7.2g}  {worst}"
        )
    return lines


def _short(target: str) -> str:
    return target if len(target) <= 30 else f"...{target[-27:]}"


# --- values ---------------------------------------------------------------------------------------


def values(report: Report, settings: Settings) -> dict[str, Any]:
    """The report as JSON values; each finding has a witness that `audit replay` reads."""
    return {
        "target": report.target,
        "kind": report.kind,
        "rows": report.rows,
        "probed": report.probed,
        "form": report.surface and report.surface.text,
        "full": report.full,
        "floor": report.floor,
        "note": report.note,
        "cut": report.cut,
        "worst": report.worst,
        "false_accepts": vars(report.false_accepts),
        "false_rejects": vars(report.false_rejects),
        "calls": report.calls,
        "seconds": round(report.seconds, 3),
        "call_ms": round(report.call_ms, 3),
        "findings": [
            {
                "kind": finding.kind,
                "severity": finding.about.severity,
                "title": finding.about.title,
                "mend": finding.about.mend,
                "count": finding.count,
                "total": finding.total,
                "rows": finding.rows,
                "of_rows": finding.of_rows,
                "shown": finding.shown,
                "calls": finding.calls,
                "cost": finding.cost,
                "result": outcome(finding),
                "reward": finding.reply.reward,
                "witness": {
                    **vars(finding.witness),
                    "target": report.target,
                    "target_kind": report.kind,
                    "python": settings.python,
                    "chat": report.chat,
                    "timeout": settings.timeout,
                },
            }
            for finding in report.findings
        ],
    }


def witnesses(path: Path) -> list[Mapping[str, Any]]:
    """The witnesses in a report or in a file of one witness; none if the report has no finding.

    Raises:
        StoreError: the file cannot be read; UsageError: it is no report and no witness.
    """
    with store_errors(f"cannot read {path}"):
        data = path.read_bytes()
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not JSON: {_WANTED}") from None
    if isinstance(content, Mapping) and "pairs" in content:
        return [content]
    try:
        findings = [each for report in content["reports"] for each in report["findings"]]
        return [finding["witness"] for finding in findings]
    except (KeyError, TypeError):
        raise UsageError(f"{path} is JSON, but not a report of an audit: {_WANTED}") from None


def witness_of(value: Mapping[str, Any]) -> tuple[str, Witness, Settings, bool]:
    """The target, the witness and how to run it. Raises UsageError if it is malformed."""
    try:
        pairs = [(row, text) for row, text in value["pairs"]]
        witness = Witness(value["kind"], value["expect"], pairs, value["threshold"], value["how"])
        settings = Settings(value["target_kind"], value["python"], value["timeout"])
        return value["target"], witness, settings, bool(value["chat"])
    except KeyError as error:
        raise UsageError(f"not a witness of an audit: it lacks {error}; {_WANTED}") from None
    except (TypeError, ValueError):
        raise UsageError(f"not a witness of an audit: its pairs are malformed; {_WANTED}") from None


def sarif(reports: Sequence[Report]) -> str:
    """The findings as SARIF 2.1.0, for the pages of a code host."""
    rules = [
        {
            "id": kind.replace(" ", "-"),
            "shortDescription": {"text": about.title},
            "help": {"text": about.mend},
        }
        for kind, about in KINDS.items()
    ]
    results = [
        {
            "ruleId": finding.kind.replace(" ", "-"),
            "level": _level(finding),
            "message": {"text": _message(finding, report.threshold)},
            "locations": [
                {"physicalLocation": {"artifactLocation": {"uri": _file(report.target)}}}
            ],
        }
        for report in reports
        for finding in report.findings
    ]
    driver = {"name": "infinite-rl audit", "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _level(finding: Finding) -> str:
    return _LEVELS.get(finding.about.severity, "warning") if finding.is_certain else "note"


def _message(finding: Finding, threshold: float) -> str:
    lines = _finding(1, finding, threshold)
    return " ".join(line.strip() for line in lines).removeprefix("1. ")


def _file(target: str) -> str:
    return target.rpartition(":")[0] if ".py:" in target else target


def web_page(reports: Sequence[Report]) -> str:
    """One HTML page that loads and runs nothing; texts of models are escaped."""
    body = ["<h1>Audit of rewards</h1>", "<table><tr><th>target</th><th>false accepts</th>"]
    body.append("<th>false rejects</th><th>worst</th></tr>")
    for report in reports:
        cells = (report.target, report.false_accepts, report.false_rejects, report.worst or "none")
        body.append("<tr>" + "".join(f"<td>{_escaped(str(cell))}</td>" for cell in cells) + "</tr>")
    body.append("</table>")
    for report in reports:
        first, *summary = _summary(report)
        body.append(f"<h2>{_escaped(first)}</h2><pre>{_escaped(chr(10).join(summary))}</pre>")
        for number, finding in enumerate(report.findings, 1):
            heading, *lines = _finding(number, finding, report.threshold)
            body.append(f"<h3>{_escaped(heading)}</h3><pre>{_escaped(chr(10).join(lines))}</pre>")
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>Audit of rewards</title><style>{_STYLE}</style></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


def _escaped(value: str) -> str:
    return html.escape(
        "".join(char if char.isprintable() or char == "\n" else "?" for char in value)
    )
