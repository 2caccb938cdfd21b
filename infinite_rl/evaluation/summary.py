"""Scores for people: a table in Markdown, and a self-contained HTML page.

No score stands without its interval, its truncation rate and its format errors. The output of a
model is text here, never markup, and control characters are made visible.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from pathlib import Path
from string import Template

from ..dataset import rows
from ..files.atomic import write_text
from .config import EvaluationConfig
from .score import Score

MARKDOWN, PAGE = "summary.md", "summary.html"
_MAX_ANSWERS, _MAX_CHARS = 30, 2_000  # of a task on the page, and of a text
_CONVENTIONS = {
    "own": "strict by our checks, more lenient with a text's language than its authors' checker: "
    "by 0.9 points of prompts for texts of 45 words, by 3.5 for 5 words, of those in one case; "
    "--convention published judges as that does",
    "published": "strict, languages as the published checker has them (langdetect)",
}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_SETTINGS = (
    *("model", "backend", "base_url", "prompt_template", "system", "few_shot", "samples"),
    *("temperature", "top_p", "max_new_tokens", "stop", "limit", "seed", "dtype", "timeout"),
    "convention",
)


def write_summary(out: Path, config: EvaluationConfig, scores: Mapping[str, Score]) -> None:
    """Write both files. Raises StoreError if they are not writable."""
    write_text(out / MARKDOWN, markdown(config, scores))
    write_text(out / PAGE, page(config, scores, out))


def table(scores: Mapping[str, Score]) -> list[list[str]]:
    """Return the cells of a table: the headings, then a row per task."""
    ks = sorted({k for score in scores.values() for k in score.pass_at} | {1})
    head = ["task", "items", "samples", *(f"pass@{k} [95 %]" for k in ks), "truncated"]
    head += ["format errors", "unscored", "not asked", "tokens p50", "tokens p95"]
    body = [
        [
            *(plain(name, 80), str(score.items), str(score.samples)),
            *(str(score.pass_at.get(k) or "-") for k in ks),
            *(_percent(score.truncated), _percent(score.format_errors)),
            *(str(score.unscored), str(score.unasked)),
            *("-" if n is None else str(n) for n in (score.tokens_p50, score.tokens_p95)),
        ]
        for name, score in scores.items()
    ]
    return [head, *body]


def notes(scores: Mapping[str, Score], convention: str = "own") -> Iterator[str]:
    """Yield a line for each caveat of the scores; `convention` is that of the evaluation."""
    for name, score in scores.items():
        if score.truncated_passed:
            yield (
                f"{name}: {score.truncated_passed} truncated answers would have passed; "
                "they count as not solved"
            )
        if score.instructions is not None:
            yield f"{name}: {_percent(score.instructions)} of all instructions were followed"
            yield f"{name}: {_CONVENTIONS[convention]}"
        for k, estimate in score.pass_at.items():
            if estimate.items < score.items:
                yield (
                    f"{name}: pass@{k} is of {estimate.items} of {score.items} items: the others "
                    f"have fewer than {k} answers that can be judged"
                )
        for reason in score.reasons:
            yield f"{name}: no verdict: {plain(reason, 200)}"


def markdown(config: EvaluationConfig, scores: Mapping[str, Score]) -> str:
    """Return the table with the settings."""
    lines = [
        *("# Evaluation", "", *markdown_lines(table(scores)), ""),
        *(f"- {_escaped(note)}" for note in notes(scores, config.convention)),
        *("", *(f"- {name}: `{value}`" for name, value in settings(config)), ""),
    ]
    return "\n".join(lines)


def in_words(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield each row of a table as a line of its own: "gsm8k: items 3, samples 1, ..."."""
    head, *body = cells
    for name, *row in body:
        pairs = zip(head[1:], row, strict=True)
        yield f"{name}: " + ", ".join(f"{column} {cell}" for column, cell in pairs)


def markdown_lines(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return cells as a table of Markdown; the first row has the headings."""
    head, *body = ("| " + " | ".join(map(_escaped, row)) + " |" for row in cells)
    return [head, "| " + " | ".join("---" for _ in cells[0]) + " |", *body]


def settings(config: EvaluationConfig) -> Iterator[tuple[str, str]]:
    """Yield the settings that a score depends on, as text."""
    values = {**config.values(), "temperature": config.sampling_temperature}
    values["max_new_tokens"] = config.max_new_tokens or "the task's own"
    for name in _SETTINGS:
        if values[name] not in ("", [], None):
            yield name, plain(str(values[name]), 300).replace("`", "'")


def plain(text: str, most: int = _MAX_CHARS) -> str:
    """Return text with control and format characters as U+FFFD, at most `most` characters.

    Such characters would move a terminal's cursor, or reverse the direction of a line.
    """
    visible = "".join(
        "\ufffd" if unicodedata.category(char) in _HIDDEN and char not in "\n\t" else char
        for char in text[:most]
    )
    return visible if len(text) <= most else f"{visible} ... ({len(text)} characters)"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _escaped(text: str) -> str:
    """Return text as one line of Markdown without markup."""
    return re.sub(r"([\\`*_\[\]<>|&])", r"\\\1", " ".join(text.split()))


# --- HTML ----------------------------------------------------------------------------------------


def page(config: EvaluationConfig, scores: Mapping[str, Score], out: Path) -> str:
    """Return the page. It loads nothing, and no script may run in it."""
    head, *body = table(scores)
    rows = [_html_cells("th", head), *(_html_cells("td", row) for row in body)]
    pairs = ((_html(name), _html(value)) for name, value in settings(config))
    template = files(__package__).joinpath(PAGE).read_text(encoding="utf-8")
    return Template(template).substitute(
        model=_html(config.model),
        table="\n".join(f"<tr>{cells}</tr>" for cells in rows),
        notes="\n".join(f"<li>{_html(note)}</li>" for note in notes(scores, config.convention)),
        settings="\n".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in pairs),
        failures="\n".join(part for name in scores for part in _failures(name, out)),
    )


def _html(text: str) -> str:
    return html.escape(plain(text), quote=True)


def _html_cells(tag: str, cells: Iterable[str]) -> str:
    return "".join(f"<{tag}>{_html(cell)}</{tag}>" for cell in cells)


def _failures(name: str, out: Path) -> Iterator[str]:
    """Yield the first answers of a task that have not passed, folded up."""
    yield f"<h2>{_html(name)}: answers that do not count as solved (the first {_MAX_ANSWERS})</h2>"
    failed = (
        record
        for record in rows.read(out / name / "records.jsonl")
        if record["status"] != "passed" or record["finish_reason"] == "length"
    )
    for record in islice(failed, _MAX_ANSWERS):
        status = "truncated" if record["finish_reason"] == "length" else record["status"]
        why = record["unasked"] or record["error_msg"]
        label = f"{record['id']}, sample {record['sample']}: {status}. {why[:200]}"
        yield f"<details><summary>{_html(label)}</summary>"
        for part in ("prompt", "answer", "completion"):
            yield f"<h4>{part}</h4><pre>{_html(record[part] or '')}</pre>"
        yield "</details>"
