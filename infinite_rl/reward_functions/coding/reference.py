"""The forms of a reference of a coding answer, distinguished by shape.

Pure. Text is never guessed to be code: only text that consists of code fences is code, or text that
as a whole is tests, which no program prints.
"""

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, TypeAlias, TypeVar

from ...errors import shown
from ...parsing.markup import CodeBlock, code_blocks
from ...parsing.syntax import UNREADABLE, syntax_tree
from ...sandbox.checkers import CHECKERS
from ...sandbox.javascript.tokens import tokens
from ...sandbox.runtimes import language_of
from ..compare import RULES, TOLERANT, WITH_TOLERANCE, Tolerance
from ..reward_function import BadReference

_SPEC_START = re.compile(r"""\{\s*["'](?:tests|cases|entry_point|setup|compare)["']\s*:""")
_WITHOUT_RUNTIME = re.compile(
    r"bash|c|c#|c\+\+|cpp|cs|csharp|dart|go|golang|haskell|java|julia|kotlin|lua|perl|php|r|rb|rs"
    r"|ruby|rust|scala|sh|sql|swift"
)
_METHOD = re.compile(r"(?P<class>[^\W\d]\w*)\(\)\.(?P<method>[^\W\d]\w*)")
_FORMS = ("tests", "cases", "output")
_OPTIONS = ("entry_point", "setup", "compare", "tolerance", "language", "file")
_CASE_KEYS = ("input", "args", "kwargs")
_KEYS = (*_FORMS, *_OPTIONS, *_CASE_KEYS)  # an object with two of these says how to judge
_ALL_KEYS = (*_KEYS, "checker", "limits", "preamble")
_MIN_SIMILARITY = 0.8  # of a misspelt key; "text" and "tests" have 0.67
_MIN_PREFIX = 3  # characters of an abbreviated key, such as "lang"
_MAX_KEYS, _MAX_KEY_CHARS = 2 * len(_KEYS), 20  # of an object that may say how to judge
_MISSPELT = {"test": "tests", "case": "cases"}  # with a list, this is not an output
_FILE = re.compile(r"[\w$][\w$.-]*")
# A function that the test defines: it does nothing unless something calls it with an argument.
_HELPER = re.compile(
    r"^(?:async[ \t]+)?(?:def|function\*?)[ \t]+"
    r"(?P<name>(?!test|set_?[uU]p|tear_?[dD]own)[\w$]+)\(\s*[^)\s]"
    r"|^(?:const|let|var)[ \t]+(?P<arrow>[\w$]+)[ \t]*=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|[\w$]+[ \t]*=>|\([^()\n]+\)[ \t]*=>)",
    re.MULTILINE,
)
_MAX_BARE_CHARS = 20_000
_JAVASCRIPT_ASSERTION = re.compile(
    r"(?:console\.assert|(?:require\((['\"])(?:node:)?assert(?:/strict)?\1\)|assert)"
    r"(?:\.strict)?(?:\.[A-Za-z]+)?)\((?P<inside>[^\n]*)\);?"
)
_CALL = re.compile(r"[\w$]\(")
# What a text of tests begins with, and what at least one of a list of tests holds.
_PYTHON_TEST = re.compile(r"(?:assert|import|from|def|class|async\s+def)\b|@\w")
_JAVASCRIPT_TEST = re.compile(
    r"(?:console\.)?assert(?:\.\w+)*\(|(?:describe|it|test)(?:\.\w+)?\(\s*['\"`]"
    r"|(?:const|let|var)\s[^\n=]+=\s*require\(|import\s[^\n;]+\sfrom\s*['\"]"
)
_CHECKED = re.compile(r"assert|\braises\b|\bexpect\(")
_LIST_OF_TEXTS = re.compile(r"\s*\[\s*[\"\]]")
_MAX_TEST_CHARS = 200_000  # of a text that is parsed to see whether it is tests
_COMMENT_LINE = re.compile(r"^[ \t]*(?:#|//)[^\n]*", re.MULTILINE)
_MAX_TOLERANCE = 1e300
_STATED_TIMEOUT = re.compile(r'"limits"\s*:\s*\{[^{}]{0,80}?"timeout"\s*:\s*([0-9]+(?:\.[0-9]+)?)')
_STATED_COUNT = 20  # tests that run together
_MOST = {"timeout": 600, "memory_mb": 4096}  # of a row's own limits
CALL_RULES = ("json", "equal", "wrapped")  # how values are compared
_MAX_NESTED_FENCES = 8  # one around a sample, one around its answer, and some to spare


@dataclass(frozen=True)
class Checker:
    """A program of the row's author that judges an output, in a language of `CHECKERS`."""

    language: str
    code: str


@dataclass(frozen=True)
class Comparison:
    """How a printed text is judged: by a rule of `RULES`, or by a checker."""

    rule: str = TOLERANT
    tolerance: Tolerance | None = None
    checker: Checker | None = None


@dataclass(frozen=True)
class RowLimits:
    """What a row says of one test: seconds and MiB, 0 for the reward's own."""

    timeout: float = 0
    memory_mb: float = 0


_TOLERANT, _NO_LIMITS = Comparison(), RowLimits()


@dataclass(frozen=True)
class Output:
    """The program must print this text.

    `language` is the required language of the program, here and below, or "".
    """

    text: str
    how: Comparison = _TOLERANT
    language: str = ""


@dataclass(frozen=True)
class Predicate:
    """A function of the printed text: True or False, or partial credit in [0, 1]."""

    judge: Callable[[str], Any]


@dataclass(frozen=True)
class ReferenceCode:
    """The program must print what this code prints; `language` is that of its fence, or ""."""

    code: str
    language: str = ""


@dataclass(frozen=True)
class Tests:
    """Each test must pass in the program's namespace. `setup` runs after the program, before them.

    With `entry_point`, tests define `check(candidate)`, which is called with the named function.
    With `expected`, each test is an expression that must have that JSON value. `file` is a name
    under which tests import the program. `preamble` is code before it, such as imports. Where all
    tests call one function first, `called` is its name.
    """

    __test__ = False  # not a test class for pytest to collect

    tests: tuple[str, ...]
    entry_point: str = ""
    setup: str = ""
    expected: tuple[Any, ...] = field(default=(), hash=False)
    file: str = ""
    language: str = ""
    limits: RowLimits = _NO_LIMITS
    preamble: str = ""
    called: str = ""

    def arguments(self) -> dict[str, Any]:
        """The arguments of an executor; `expected` and `file` only if they are not empty."""
        names = ("tests", "entry_point", "setup")
        optional = [name for name in ("expected", "file") if getattr(self, name)]
        return {name: getattr(self, name) for name in (*names, *optional)}


@dataclass(frozen=True)
class Cases:
    """For each standard input, the program must print the paired output."""

    cases: tuple[tuple[str, str], ...]
    how: Comparison = _TOLERANT
    language: str = ""
    limits: RowLimits = _NO_LIMITS


@dataclass(frozen=True)
class Call:
    """A function call and the value that it must return. All values are JSON, or tuples."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    output: Any


@dataclass(frozen=True)
class Calls:
    """Each call of the function `entry_point` must return its output.

    `entry_point` may be a method of a new object, as in "Solution().f"; `preamble` is as in tests.
    Values are compared as `compare` says, one of `CALL_RULES`: as JSON; by Python's `==`, where a
    tuple is a list; or so that the value may also stand in a list of one.
    """

    entry_point: str
    calls: tuple[Call, ...]
    language: str = ""
    limits: RowLimits = _NO_LIMITS
    preamble: str = ""
    compare: str = "json"


Case = TypeVar("Case")
Reference: TypeAlias = Output | Predicate | ReferenceCode | Tests | Cases | Calls


def read_reference(expected: object) -> Reference:
    """Read the reference that `expected` stands for.

    - a callable: a predicate on the printed text
    - a mapping, or JSON text of an object, with one of these sets of keys:
        tests, optionally entry_point, setup   source text that must run without an exception
        entry_point, cases of args, output     calls and their values; kwargs are optional
        cases of input, output                 the printed text; input is optional
        output                                 the printed text, or a value as JSON
      For printed outputs, compare is one of `RULES` (by default "tolerant"), and tolerance bounds
      the error of numbers: a number below 1, which suffices as an absolute or as a relative error,
      or an object with "absolute", "relative" or both. checker judges in place of a rule: an object
      with "language" and "code", or text in Python. limits bound one test, by "timeout" in seconds
      and "memory_mb". preamble, of tests and calls, is code before the program, such as imports.
      compare of calls is one of `CALL_RULES`. language and file are always optional. entry_point is
      a function, or "Solution().f"
    - text that consists of Python `assert` statements, or of lines of `assert` or `console.assert`
      of JavaScript, each of which calls something: tests
    - a list of tests, or its JSON text: source texts that all begin with an assertion, an import or
      a definition (or `test(`, `it(`, `describe(`), and of which one asserts something. An empty
      list is no reference. One such text that begins with no assertion is one test
    - text that consists of code fences in a language with a runtime, or without a language: code,
      or tests as above
    - any other text, number or JSON: the text to be printed. An object with "output" is such a text
      unless another key is one of the above, or similar to one

    Raises:
        BadReference: there is nothing to compare with, tests or cases are malformed, a key has no
            meaning, or code is in another language.
    """
    if callable(expected):
        return Predicate(expected)
    if expected is None:
        raise BadReference("there is no expected output")
    if isinstance(expected, str):
        return _read_text(expected)
    if isinstance(expected, Mapping) and _is_spec(expected):
        return _read_spec(expected)
    tests = _read_list(expected) if isinstance(expected, list | tuple) else None
    return tests or Output(_printed(expected))


def stated_bound(expected: object) -> float:
    """The seconds that a reference's own limits allow all its tests at most, or 0.

    A text is not parsed, since it may be long: what looks like limits counts.
    """
    if isinstance(expected, Mapping):
        expected = json.dumps(expected, default=str) if "limits" in expected else ""
    if not isinstance(expected, str):
        return 0
    most, at = 0.0, expected.find('"limits"')
    while at >= 0:
        if match := _STATED_TIMEOUT.match(expected, at):
            most = max(most, min(float(match[1]), _MOST["timeout"]))
        at = expected.find('"limits"', at + 1)
    return most and most * max(expected.count('"output"'), _STATED_COUNT)


def named_language(label: str) -> str:
    """The programming language that the label of a fence names, or ""."""
    label = label.lower()
    return language_of(label) or (label if _WITHOUT_RUNTIME.fullmatch(label) else "")


def split_method(entry_point: str) -> tuple[str, str]:
    """The class and the method of "Solution().f"; ("", "") for the name of a function."""
    match = _METHOD.fullmatch(entry_point)
    return (match["class"], match["method"]) if match else ("", "")


def _printed(value: object) -> str:
    """A value as text; a mapping or a list as JSON."""
    try:
        if isinstance(value, Mapping | list | tuple):
            return json.dumps(value, ensure_ascii=False, default=str)
        return str(value)
    # Circular, nested too deeply, with 5000 digits or with unusual keys.
    except (ValueError, TypeError, RecursionError) as fault:
        raise BadReference(f"the expected output cannot be written: {fault}") from None


def _read_text(text: str) -> Reference:
    """Code in fences, or the text itself; fences without code are unwrapped."""
    for _ in range(_MAX_NESTED_FENCES):
        # JSON begins with no fence, and may be long.
        blocks = [] if text.startswith("{") else code_blocks(text)
        if not blocks or not _only_fences(text, blocks):
            return _read_bare(text)
        if _hold_code(blocks):
            return _read_code(blocks)
        text = "\n".join(block.code for block in blocks)
    raise BadReference("the expected output has too many nested fences")


def _assertions(text: str, language: str = "") -> Tests | None:
    """The tests of a text that consists of assertions; None for other text."""
    if len(text) > _MAX_BARE_CHARS:
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if language != "python" and lines and all(map(_is_javascript_assertion, lines)):
        # `assert(f(2) == 4)` is also Python: then the language is left open.
        shared = all(line.startswith("assert(") for line in lines) and _python_assertions(text)
        return Tests(tuple(lines), language=language or ("" if shared else "javascript"))
    assertions = () if language == "javascript" else _python_assertions(text)
    return Tests(assertions, language="python") if assertions else None


def _is_javascript_assertion(line: str) -> bool:
    match = _JAVASCRIPT_ASSERTION.fullmatch(line)
    return match is not None and _CALL.search(match["inside"]) is not None


def _python_assertions(text: str) -> tuple[str, ...]:
    """The statements of Python text that consists of `assert`s with calls; else ()."""
    if not text.lstrip().startswith("assert"):
        return ()
    try:
        body = syntax_tree(text.strip()).body
        is_called = [any(isinstance(part, ast.Call) for part in ast.walk(node)) for node in body]
        if not all(is_called) or not all(isinstance(node, ast.Assert) for node in body):
            return ()
        return tuple(ast.unparse(node) for node in body)
    except UNREADABLE:
        return ()


def _read_list(values: Sequence[object]) -> Tests | None:
    """The tests of a list of them; None for a list that is a value. Raises `BadReference`."""
    if not values:
        raise BadReference('there are no tests (an empty list that is printed: {"output": "[]"})')
    texts = [each for each in values if isinstance(each, str)]
    languages = _languages_of_tests(texts) if len(texts) == len(values) else []
    if not languages:
        return None
    return _read_tests({"tests": texts}, languages[0] if len(languages) == 1 else "", "")


def _languages_of_tests(texts: Sequence[str]) -> list[str]:
    """The languages in which all the texts are tests."""
    if not any(map(_CHECKED.search, texts)) or sum(map(len, texts)) > _MAX_TEST_CHARS:
        return []
    kinds = {"python": _is_python_test, "javascript": _is_javascript_test}
    return [language for language, is_test in kinds.items() if all(map(is_test, texts))]


def _is_python_test(text: str) -> bool:
    if not _PYTHON_TEST.match(text.lstrip()):
        return False
    try:
        return bool(syntax_tree(text.strip()).body)
    except UNREADABLE:
        return False


def _is_javascript_test(text: str) -> bool:
    """Whether a text begins as a test does, and its brackets match to the end of a statement."""
    if not _JAVASCRIPT_TEST.match(text.lstrip()):
        return False
    depth, last = 0, ""
    for token in tokens(text):
        depth, last = depth + token.opens - token.closes, token.text
        if depth < 0:
            return False
    return not depth and (last in (")", "}", ";") or text.lstrip().startswith("import"))


def _read_bare(text: str) -> Reference:
    if tests := _assertions(text):
        return tests
    if _LIST_OF_TEXTS.match(text):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return Output(text)
        return _read_list(values) or Output(text)
    is_assertion = text.lstrip().startswith(("assert", "console."))  # with other lines: a text
    if languages := [] if is_assertion else _languages_of_tests([text]):
        return _read_tests({"tests": text}, languages[0] if len(languages) == 1 else "", "")
    if not text.lstrip().startswith("{"):
        return Output(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if _SPEC_START.match(text.lstrip()):
            raise BadReference("the tests are not valid JSON") from None
        return Output(text)
    return _read_spec(value) if _is_spec(value) else Output(text)


def _is_spec(value: Mapping[str, Any]) -> bool:
    """Whether a mapping says how to judge, or tries to. Any other is a value to be printed."""
    if value.keys() & {"tests", "cases"} or {"output"} == value.keys():
        return True
    if any(isinstance(value.get(key), list) for key in _MISSPELT):
        return True
    if "output" in value and ("checker" in value or isinstance(value.get("limits"), Mapping)):
        return True
    if len(value) > _MAX_KEYS:
        return False
    meant = {_meant(key, _KEYS) for key in value} - {""}
    return len(meant) > 1 and not meant.isdisjoint(_FORMS)


def _meant(key: object, keys: Sequence[str]) -> str:
    """The one of `keys` that this is, or is similar to; "" if there is none."""
    if not isinstance(key, str) or len(key) > _MAX_KEY_CHARS:
        return ""
    key = key.lower()
    full = [name for name in keys if len(key) >= _MIN_PREFIX and name.startswith(key)]
    return next(iter([*full, *get_close_matches(key, keys, 1, _MIN_SIMILARITY)]), "")


def _only_fences(text: str, blocks: list[CodeBlock]) -> bool:
    """Whether only white space stands around and between closed blocks."""
    starts, ends = [block.start for block in blocks], [block.end for block in blocks]
    gaps = zip([0, *ends], [*starts, len(text)], strict=True)
    return all(block.closed for block in blocks) and not any(
        text[start:end].strip() for start, end in gaps
    )


def _hold_code(blocks: list[CodeBlock]) -> bool:
    """Whether the blocks hold code, not data of another kind ("json", "text").

    Raises `BadReference` for code in a language without a runtime.
    """
    for block in blocks:
        label = named_language(block.language)
        if label and not language_of(label):
            raise BadReference(f"the reference code is in {label}, which cannot be run")
    return not all(block.language and not language_of(block.language) for block in blocks)


def _read_code(blocks: list[CodeBlock]) -> ReferenceCode | Tests:
    languages = {language_of(block.language) for block in blocks} - {""}
    if len(languages) > 1:
        raise BadReference(f"the reference code is in several languages: {sorted(languages)}")
    code = "\n".join(block.code for block in blocks)
    if not code.strip():
        raise BadReference("the reference code is empty")
    language = next(iter(languages), "")
    return _assertions(code, language) or ReferenceCode(code, language)


def _read_spec(spec: Mapping[str, Any]) -> Reference:
    for key, meant in _MISSPELT.items():
        if key in spec and meant not in spec:
            raise BadReference(f"there is no key {key!r} here, but {meant!r}")
    language, file, limits = _read_language(spec), _read_file(spec), read_limits(spec)
    if "tests" in spec:
        _allow(spec, "tests", "entry_point", "setup", "preamble")
        tests = _read_tests(spec, language, file)
        return replace(tests, limits=limits, preamble=_read_preamble(spec))
    if "cases" not in spec:
        if spec.keys() & {*_CASE_KEYS}:
            raise BadReference('a case stands in a list, as in {"cases": [{"input", "output"}]}')
        _allow(spec, "output", "compare", "tolerance", "checker")
        if spec.get("output") is None:
            raise BadReference("there is no expected output")
        wanted, how = _printed(spec["output"]), _read_compare(spec)
        if how.checker or limits != _NO_LIMITS:
            return Cases((("", wanted),), how, language, limits)
        return Output(wanted, how, language)
    if spec.get("entry_point"):
        _allow(spec, "cases", "entry_point", "preamble", "compare")
        calls = _read_each(spec["cases"], _read_call)
        name, rule = _read_name(spec["entry_point"]), spec.get("compare", "json")
        if rule not in CALL_RULES:
            raise BadReference(f"compare of calls must be one of {', '.join(CALL_RULES)}")
        return Calls(name, calls, language, limits, _read_preamble(spec), rule)
    _allow(spec, "cases", "compare", "tolerance", "checker")
    return Cases(_read_each(spec["cases"], _read_case), _read_compare(spec), language, limits)


def _read_preamble(spec: Mapping[str, Any]) -> str:
    preamble = spec.get("preamble", "")
    if not isinstance(preamble, str):
        raise BadReference(f"preamble must be a text, not {shown(preamble)}")
    return preamble


def _allow(spec: Mapping[str, Any], *keys: str) -> None:
    keys = (*keys, "language", "file", "limits")
    if unknown := sorted(map(str, spec.keys() - {*keys})):
        near = [meant for key in unknown if (meant := _meant(key, _ALL_KEYS)) in keys]
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BadReference(f"keys that have no meaning here: {', '.join(unknown)}{hint}")


def _read_language(spec: Mapping[str, Any]) -> str:
    label = spec.get("language", "")
    if not isinstance(label, str):
        raise BadReference(f"language must be a text, not {shown(label)}")
    return named_language(label) or label.lower()


def _read_file(spec: Mapping[str, Any]) -> str:
    """The name of the program's file, such as "bank.py"; not a path, since there is one file."""
    name = spec.get("file") or ""
    if name and not (isinstance(name, str) and _FILE.fullmatch(name)):
        raise BadReference(
            f'file must be the name of the program\'s file, as "bank.py", not {shown(name)}'
        )
    stem = PurePosixPath(name).stem
    if stem in sys.stdlib_module_names or stem == "program":
        raise BadReference(f"file may not have the name of a module of Python's: {stem}")
    return str(name)


def _read_compare(spec: Mapping[str, Any]) -> Comparison:
    if "checker" in spec:
        if beside := spec.keys() & {"compare", "tolerance"}:
            raise BadReference(f"a checker compares by itself: {min(beside)} has no meaning here")
        return Comparison(checker=_read_checker(spec["checker"]))
    rule = spec.get("compare", TOLERANT)
    if not isinstance(rule, str) or rule not in RULES:
        near = get_close_matches(rule, RULES, 1) if isinstance(rule, str) else []
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BadReference(f"compare must be one of {', '.join(RULES)}, not {shown(rule)}{hint}")
    if "tolerance" not in spec:
        return Comparison(rule)
    if rule not in WITH_TOLERANCE:
        raise BadReference(f"compare {rule} has no tolerance; {', '.join(WITH_TOLERANCE)} have one")
    return Comparison(rule, _read_tolerance(spec["tolerance"]))


def _read_checker(value: object) -> Checker:
    if isinstance(value, str):
        value = {"language": "python", "code": value}
    if not isinstance(value, Mapping) or value.keys() != {"language", "code"}:
        raise BadReference('a checker must be a text in Python, or have "language" and "code"')
    language, code = value["language"], value["code"]
    if not isinstance(language, str) or language not in CHECKERS:
        raise BadReference(f"a checker is in {' or '.join(CHECKERS)}, not in {shown(language)}")
    if not isinstance(code, str) or not code.strip():
        raise BadReference("the code of a checker must be a text that is not empty")
    return Checker(language, code)


def read_limits(spec: Mapping[str, Any]) -> RowLimits:
    """Read the "limits" of an answer, if it has any. Raises `BadReference`."""
    limits = spec.get("limits", {})
    if not isinstance(limits, Mapping) or limits.keys() - _MOST.keys():
        raise BadReference('limits must be an object with "timeout", "memory_mb" or both')
    for name, value in limits.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value <= _MOST[name]:
            raise BadReference(
                f"the {name} of limits must be a number above 0, at most {_MOST[name]}: "
                f"{shown(value)}"
            )
    return RowLimits(**limits)


def _read_tolerance(value: object) -> Tolerance:
    """One number bounds both errors, as in the checkers of contests."""
    errors: Mapping[Any, Any] = (
        value if isinstance(value, Mapping) else {"absolute": value, "relative": value}
    )
    if not errors or errors.keys() - {"absolute", "relative"}:
        raise BadReference('tolerance must be a number, or have "absolute", "relative" or both')
    for name, error in errors.items():
        if (
            isinstance(error, bool)
            or not isinstance(error, (int, float))
            or not 0 <= error < _MAX_TOLERANCE
        ):
            raise BadReference(f"the {name} tolerance must be a number from 0 on: {shown(error)}")
    if errors.get("relative", 0) >= 1:
        raise BadReference("a relative tolerance must be below 1")
    return Tolerance(**{name: float(error) for name, error in errors.items()})


def _read_name(name: object) -> str:
    if not isinstance(name, str):
        raise BadReference("entry_point must be a text")
    if name and not (name.replace("$", "_").isidentifier() or _METHOD.fullmatch(name)):
        raise BadReference(
            f'entry_point must be the name of a function, or "Solution().f": {name!r}'
        )
    return name


def _read_tests(spec: Mapping[str, Any], language: str, file: str) -> Tests:
    tests, entry_point = spec["tests"], _read_name(spec.get("entry_point") or "")
    setup = spec.get("setup") or ""
    if isinstance(setup, list | tuple) and all(isinstance(line, str) for line in setup):
        setup = "\n".join(setup)
    if not isinstance(setup, str):
        raise BadReference("setup must be a text")
    if isinstance(tests, str):
        tests = [tests]
    if not isinstance(tests, list | tuple) or not tests:
        raise BadReference("there are no tests")
    if not all(isinstance(test, str) and test.strip() for test in tests):
        raise BadReference("each test must be a text that is not empty")
    if not entry_point and (idle := _unused_helper(tests)):
        raise BadReference(
            f"nothing calls {idle}: the function that it is to check is named by an entry_point"
        )
    return Tests(tuple(tests), entry_point, setup, (), file, language)


def _unused_helper(tests: Sequence[str]) -> str:
    """A function that the tests define but never name again, such as `check`, or ""."""
    code = _COMMENT_LINE.sub("", "\n".join(tests))
    counts = Counter(re.findall(r"[\w$]+", code))
    names = (match["name"] or match["arrow"] for match in _HELPER.finditer(code))
    return next((name for name in names if counts[name] == 1), "")


def _read_each(cases: object, read: Callable[[object], Case]) -> tuple[Case, ...]:
    if not isinstance(cases, list | tuple) or not cases:
        raise BadReference("there are no cases")
    return tuple(map(read, cases))


def _read_case(case: object) -> tuple[str, str]:
    if isinstance(case, Mapping) and case.keys() & {"args", "kwargs"}:
        raise BadReference("cases with arguments need an entry_point, and no input")
    if not isinstance(case, Mapping) or case.keys() - {"input"} != {"output"}:
        raise BadReference('each case must have an "output", and may have an "input"')
    stdin, output = case.get("input", ""), case["output"]
    for text in (stdin, output):
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise BadReference("the input and the output of a case must be texts or numbers")
    return _printed(stdin), _printed(output)


def _read_call(case: object) -> Call:
    if not isinstance(case, Mapping) or case.keys() - {"kwargs"} != {"args", "output"}:
        raise BadReference(
            'with an entry_point each case must have "args" and "output", and may have "kwargs"'
        )
    args, kwargs = case["args"], case.get("kwargs", {})
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        raise BadReference("args must be a list, and kwargs an object")
    if not all(isinstance(name, str) for name in kwargs):
        raise BadReference("the names in kwargs must be texts")
    return Call(tuple(args), dict(kwargs), case["output"])
