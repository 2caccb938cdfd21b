"""The parser's promises. `corpus/` holds ugly outputs with the parse that each must give."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from labelled import Tables, assert_none

from infinite_rl import layout
from infinite_rl.errors import UsageError
from infinite_rl.parsing.markup import format_of, split_thinking
from infinite_rl.parsing.sections import ExampleParser, Parsed, code_blocks, tag_matches

CORPUS = Path(__file__).parent / "corpus"
tables = Tables(__file__)
parse = ExampleParser.parse_text


def table_rows() -> Iterator[tuple[str, dict[str, str]]]:
    for path in sorted(CORPUS.glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            yield f"{path.stem} {row['id']}", row


def test_every_output_gives_its_parse() -> None:
    cases, faults = sorted(CORPUS.glob("*.txt")), []
    for path in cases:
        text = path.read_bytes().decode("utf-8")
        parsed = parse(text)
        got = {
            **parsed,
            "strategy": parsed.strategy,
            "tags": ExampleParser.extract_answer_tags(text),
            "how": [match.how for match in tag_matches(text)],
        }
        if got != json.loads(path.with_suffix(".json").read_text(encoding="utf-8")):
            faults.append((path.stem, got))
    assert_none(faults)
    assert len(cases) >= 60


def test_every_form_of_a_sample_is_read_and_what_is_none_is_refused() -> None:
    """Tables of texts with their three sections, compared but for their spaces."""
    faults, cases = [], 0
    for name, row in table_rows():
        parsed, cases = parse(row["text"]), cases + 1
        if not (row["complete"] or parsed.complete):
            continue
        wanted = [row.get(section, "").split() for section in layout.SECTIONS]
        sections = [section.split() for section in parsed.values()]
        if (parsed.complete, sections) != (row["complete"], wanted):
            faults.append((name, dict(parsed)))
    assert_none(faults)
    assert cases >= 240


def test_a_clean_text_is_read_as_if_there_were_no_short_cut() -> None:
    for name, row in table_rows():
        text = row["text"]
        for once_more in (text, with_heads(text)):
            short = parse(once_more)
            with patch("infinite_rl.parsing.sections._clean", lambda _: None):
                long = parse(once_more)
            assert dict(short) == dict(long), name
            assert (short.strategy, short.origins) == (long.strategy, long.origins), name


def with_heads(text: str) -> str:
    """The sections of a text, once more under clean heads."""
    parsed = parse(text)
    return layout.render(parsed["prompt"] or text, parsed["answer"] or text, parsed["response"])


@tables
def test_a_text_gives_its_three_sections(
    promise: str, text: str | None, prompt: str, answer: str, response: str, source: str
) -> None:
    parsed = parse(text)
    assert dict(parsed) == {"prompt": prompt, "answer": answer, "response": response}
    assert f"{parsed.strategy}: {' '.join(parsed.origins.values())}" == source
    complete = all((prompt, answer, response)) and source.endswith(": head head head")
    assert parsed.complete == complete == (not parsed.lacking)


@tables
def test_the_last_tag_counts(
    promise: str, text: str | None, tags: list[str] | None, contents: list[str], forms: list[str]
) -> None:
    assert ExampleParser.extract_answer_tags(text, tags) == contents
    matches = tag_matches(text)
    assert [match.how for match in matches] == forms
    score = 1.0 if forms == ["well_formed"] else 0.4 if forms else 0.0
    assert format_of(matches) == score


@tables
def test_a_fence_has_a_language_and_code(
    promise: str, text: str | None, blocks: list[tuple[str, str, str | None]]
) -> None:
    """A closed block has its place in the text; one that lacks a fence has none here."""
    found = [
        (each.language, each.code, (text or "")[each.start : each.end] if each.closed else None)
        for each in code_blocks(text)
    ]
    assert found == blocks


def test_a_deep_object_is_read_like_any_text() -> None:
    assert parse('{"a":' * 100_000).strategy == "none"


def test_a_parse_is_a_mapping_of_the_three_sections() -> None:
    parsed = parse("[PROMPT]\np\n[ANSWER]\na\n[RESPONSE]\nr")
    assert parsed == dict(parsed) == {"prompt": "p", "answer": "a", "response": "r"}
    assert parsed.get("nothing", "-") == "-" and parsed != Parsed()
    assert pickle.loads(pickle.dumps(parsed)) == parsed


@pytest.mark.parametrize("text", ["I thought of thinking.", "a", ""])
def test_a_text_that_speaks_of_thoughts_has_no_thinking_part(text: str) -> None:
    assert split_thinking(text) == (text, "")


def test_a_folder_gives_its_examples_by_stem_in_order_as_utf_8(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "README.md", "c.txt"):
        (tmp_path / name).write_bytes(f"\ufeff[PROMPT]\r\nπ in {name}?\r\n[ANSWER]\r\n3".encode())
    assert ExampleParser.parse_file(str(tmp_path / "c.txt")).prompt == "π in c.txt?"
    examples = ExampleParser.get_all_examples(tmp_path)
    assert list(examples) == ["a", "b"] and examples["b"].prompt == "π in b.md?"


def test_a_file_or_folder_that_is_absent_or_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"[PROMPT]\n\xe9")
    with pytest.raises(FileNotFoundError):
        ExampleParser.parse_file(tmp_path / "absent.md")
    with pytest.raises(UsageError, match=r"latin\.md is not UTF-8"):
        ExampleParser.parse_file(tmp_path / "latin.md")
    with pytest.raises(UsageError, match="no folder of examples"):
        ExampleParser.get_all_examples(tmp_path / "absent")
