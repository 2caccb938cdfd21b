"""Scores to read: a table in Markdown, and a page of HTML that holds everything itself.

No score stands without its interval, its truncation rate and its format errors. What a model has
written is text there, never markup, and what a terminal or a reader would obey is made visible.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..dataset import rows
from ..files.atomic import write_text
from .config import EvaluationConfig
from .score import Estimate, Score

MARKDOWN, PAGE = "summary.md", "summary.html"
_SHOWN, _CHARS = 30, 2_000  # answers of a task on the page, and characters of a text
_TOLD = (
    *(
        "model",
        "backend",
        "base_url",
        "prompt_template",
        "system",
        "few_shot",
        "samples",
        "temperature",
    ),
    *("top_p", "max_new_tokens", "stop", "limit", "seed", "dtype", "timeout"),
)


def write_summary(out: Path, config: EvaluationConfig, scores: Mapping[str, Score]) -> None:
    """Write both files. Raises StoreError where they cannot be written."""
    write_text(out / MARKDOWN, markdown(config, scores))
    write_text(out / PAGE, page(config, scores, out))


def table(scores: Mapping[str, Score]) -> list[list[str]]:
    """The cells of a table, a row a task, under a row of headings."""
    ks = sorted({k for score in scores.values() for k in score.pass_at} | {1})
    head = ["task", "items", "samples", *(f"pass@{k} [95 %]" for k in ks), "truncated"]
    head += ["format errors", "unscored", "not asked", "tokens p50", "tokens p95"]
    return [head, *(_cells(name, score, ks) for name, score in scores.items())]


def notes(scores: Mapping[str, Score]) -> Iterator[str]:
    """What else there is to know of the scores, a line each."""
    for name, score in scores.items():
        if score.truncated_passed:
            yield (
                f"{name}: {score.truncated_passed} answers that were cut off would have passed; "
                "they count as not solved"
            )
        if score.instructions is not None:
            yield f"{name}: {_percent(score.instructions)} of all instructions were followed"
        for k, estimate in score.pass_at.items():
            if estimate.items < score.items:
                yield (
                    f"{name}: pass@{k} is of {estimate.items} of {score.items} items: the others "
                    f"have fewer than {k} answers that can be judged"
                )
        for reason in score.reasons:
            yield f"{name}: no verdict: {plain(reason, 200)}"


def markdown(config: EvaluationConfig, scores: Mapping[str, Score]) -> str:
    """The table, with the settings it was made with."""
    lines = [
        "# Evaluation",
        "",
        *table_lines(scores),
        "",
        *(f"- {_escaped(note)}" for note in notes(scores)),
        "",
        *(f"- {name}: `{value}`" for name, value in told(config)),
        "",
    ]
    return "\n".join(lines)


def table_lines(scores: Mapping[str, Score]) -> list[str]:
    """The table as lines of Markdown: the headings, a rule, a line a task."""
    return markdown_lines(table(scores))


def in_words(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each row of a table as a line of its own: "gsm8k: items 3, samples 1, ..."."""
    head, *body = cells
    for name, *row in body:
        yield f"{name}: " + ", ".join(
            f"{what} {cell}" for what, cell in zip(head[1:], row, strict=True)
        )


def markdown_lines(cells: Sequence[Sequence[str]]) -> list[str]:
    """Cells as a table of Markdown; the first row holds the headings."""
    head, *body = cells
    return [_line(head), _line("---" for _ in head), *map(_line, body)]


def told(config: EvaluationConfig) -> Iterator[tuple[str, str]]:
    """The settings that a score depends on, as text."""
    values = {**config.values(), "temperature": config.sampling_temperature}
    values["max_new_tokens"] = config.max_new_tokens or "the task's own"
    for name in _TOLD:
        if values[name] not in ("", [], None):
            yield name, plain(str(values[name]), 300).replace("`", "'")


def page(config: EvaluationConfig, scores: Mapping[str, Score], out: Path) -> str:
    """The page. It loads nothing, and no script may run in it."""
    head, *body = table(scores)
    parts = [
        _HEAD,
        f"<h1>{_html(config.model)}</h1>",
        f"<table><tr>{_html_cells('th', head)}</tr>",
        *(f"<tr>{_html_cells('td', row)}</tr>" for row in body),
        "</table><ul>",
        *(f"<li>{_html(note)}</li>" for note in notes(scores)),
        "</ul><h2>Settings</h2><dl>",
        *(f"<dt>{_html(name)}</dt><dd>{_html(value)}</dd>" for name, value in told(config)),
        "</dl>",
        *(part for name in scores for part in _answers(name, out)),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def plain(text: str, most: int = _CHARS) -> str:
    """Text in which nothing is hidden: control and format characters are shown as U+FFFD.

    Those would move a terminal's cursor, or turn a line's direction around. At most `most`
    characters of it, with a word on how many there are.
    """
    shown = "".join(
        "\ufffd" if unicodedata.category(char) in _HIDDEN and char not in "\n\t" else char
        for char in text[:most]
    )
    return shown if len(text) <= most else f"{shown} ... ({len(text)} characters)"


_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co"})


def _cells(name: str, score: Score, ks: Sequence[int]) -> list[str]:
    estimates = [_estimate(score.pass_at.get(k)) for k in ks]
    return [
        *(plain(name, 80), str(score.items), str(score.samples), *estimates),
        *(_percent(score.truncated), _percent(score.format_errors)),
        *(str(score.unscored), str(score.unasked)),
        *("-" if n is None else str(n) for n in (score.tokens_p50, score.tokens_p95)),
    ]


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:.2f} % [{low:.2f}, {high:.2f}]"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    """Text as one line of Markdown that is no markup."""
    return re.sub(r"([\\`*_\[\]<>|&])", r"\\\1", " ".join(text.split()))


# --- HTML ----------------------------------------------------------------------------------------

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em;
       color: #222; background: #fff }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid #bbb; padding: .3em .6em; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em }
dd { margin: 0; overflow-wrap: anywhere } pre { white-space: pre-wrap; overflow-wrap: anywhere;
     background: #f4f4f4; padding: .6em; max-height: 24em; overflow: auto }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 }
  pre { background: #262626 } th, td { border-color: #555 } }
</style></head><body>"""


def _html(text: str) -> str:
    return html.escape(plain(text), quote=True)


def _html_cells(tag: str, cells: Iterable[str]) -> str:
    return "".join(f"<{tag}>{_html(cell)}</{tag}>" for cell in cells)


def _answers(name: str, out: Path) -> Iterator[str]:
    """The first answers of a task that have not passed, folded up."""
    records = out / name / "records.jsonl"
    yield f"<h2>{_html(name)}: answers that do not count as solved (the first {_SHOWN})</h2>"
    for record in islice(filter(_is_open, rows.read(records)), _SHOWN):
        status = "cut off" if record["finish_reason"] == "length" else record["status"]
        why = record["unasked"] or record["error_msg"]
        label = f"{record['id']}, sample {record['sample']}: {status}. {why[:200]}"
        yield f"<details><summary>{_html(label)}</summary>"
        for part in ("prompt", "answer", "completion"):
            yield f"<h4>{part}</h4><pre>{_html(record[part] or '')}</pre>"
        yield "</details>"


def _is_open(record: Mapping[str, Any]) -> bool:
    return bool(record["status"] != "passed" or record["finish_reason"] == "length")
