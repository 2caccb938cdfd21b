"""What a reader may expect of the text and the code of every coding row."""

import ast
import re
from collections import Counter
from functools import cache

import pytest
from labelled import assert_none

from infinite_rl.parsing.sections import code_blocks
from infinite_rl.procedural import families, make_problem
from infinite_rl.procedural.code_tables import without_unneeded
from infinite_rl.procedural.families import family_levels

LANGUAGES = ("python", "javascript")
SEEDS = 3  # for each family and level
FENCED = re.compile(r"```.*?```", re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
SLIPS = {
    "two spaces": r"\S  +\S|^- ",
    "a plural of one": r"(?<!-)(?<!digit )(?<!depth )\b1 "
    r"(?!(is|has|as|plus|times|less|does|was)\b)[a-z]+s\b",
    "a wrong article": r"\ba (?!one|onc|u|along)[aeiou]|\ban (?!h)[bcdfgj-np-tv-z]",
    "an empty bracket or sentence": r"\(\s*\)|\w [.,;:](?!\S)|(?<!\.)\.\.(?!\.)|,,",
    "a word of the generator": r"[«»$]|both languages",
}
CHANGES = {"append", "add", "push", "set", "delete", "pop", "clear"}


@cache
def rows() -> list[tuple[str, str, str, str, str]]:
    """A name, the language, the prompt, and the response's words and code."""
    found = []
    for language in LANGUAGES:
        for family in families(language):
            for level in family_levels(language, family):
                for seed in range(SEEDS):
                    problem = make_problem(language, seed, level, family)
                    [block] = code_blocks(problem.response)
                    words = problem.response.split("<answer>")[0]
                    name = f"{family}, level {level}, seed {seed}"
                    found.append((name, language, problem.prompt, words, block.code))
    return found


def prose(text: str) -> str:
    """The text without code."""
    return CODE.sub("`x`", FENCED.sub("", text))


@pytest.mark.parametrize("slip", SLIPS)
def test_prompts_and_explanations_are_free_of_slips(slip: str) -> None:
    faults = []
    for name, language, prompt, words, _ in rows():
        text = prose(f"{prompt}\n{words}")
        faults += [
            f"{name} ({language}): {text[max(0, m.start() - 40) : m.end() + 20]!r}"
            for m in re.finditer(SLIPS[slip], text)
            if m[0] != "- "
        ]
    assert_none(faults)


def test_a_program_is_never_told_to_return() -> None:
    programs = 0
    for name, _, prompt, _, _ in rows():
        if "The input is one line" in prompt:
            programs += 1
            assert not re.search(r"\breturn", prose(prompt)), name
    assert programs > 20


def test_an_explanation_names_only_what_its_code_or_task_has() -> None:
    faults = []
    for name, language, prompt, words, code in rows():
        known = set(re.findall(r"\w+", f"{prompt}\n{code}"))
        missing = set(re.findall(r"[A-Za-z_]\w*", " ".join(CODE.findall(words)))) - known
        faults += [f"{name} ({language}): {sorted(missing)}"] if missing else []
    assert_none(faults)


def unread(code: str) -> list[str]:
    """The Python variables that are set or changed, but never read."""
    tree = ast.parse(code)
    reads, named = Counter[str](), set()
    changed = set()
    for node in ast.walk(tree):
        base = None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value.func
            if isinstance(call, ast.Attribute) and call.attr in CHANGES:
                base = call.value
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            base = node.value
        if isinstance(base, ast.Name):
            changed.add(id(base))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            reads[node.id] += isinstance(node.ctx, ast.Load) and id(node) not in changed
            named |= {node.id} if isinstance(node.ctx, ast.Store) else set()
    return sorted(name for name in named if not reads[name] and name != "_")


def unread_javascript(code: str) -> list[str]:
    """The variables of a `const` or `let` that occur nowhere else, but to be changed."""
    named = {
        name
        for names in re.findall(r"\b(?:const|let) (\w+|\[[^=]*?\]) (?:=|of)", code)
        for name in re.findall(r"[A-Za-z]\w*", names)
    }
    changes = "|".join(CHANGES)
    rest = re.sub(rf"^\s*(?:else )?(\w+)\.(?:{changes})\(", "", code, flags=re.MULTILINE)
    words = Counter(re.findall(r"\w+", rest))
    return sorted(name for name in named if words[name] < 2)


def test_solutions_have_no_variables_that_nobody_reads() -> None:
    faults = []
    for name, language, _, _, code in rows():
        unused = unread(code) if language == "python" else unread_javascript(code)
        faults += [f"{name} ({language}): {unused}"] if unused else []
    assert_none(faults)


def test_an_unread_variable_is_seen() -> None:
    assert unread("a = []\nfor b, _ in c:\n    a.append(1)\n    d[b] = 2\nd = {}") == ["a", "d"]
    code = "const a = [];\nlet [b, c] = d;\nfor (const e of c) {\n  a.push(b);\n}"
    assert unread_javascript(code) == ["a", "e"]


def test_a_line_stays_only_if_another_one_needs_its_name() -> None:
    lines = "?seen:seen = set()\ntotal = 0\n?seen:seen.add(total)\n"
    assert without_unneeded(lines + "return total") == "total = 0\nreturn total"
    assert without_unneeded(lines + "return seen") == (
        "seen = set()\ntotal = 0\nseen.add(total)\nreturn seen"
    )
