"""As much of pytest as tests of one program use, and the collection of their test functions."""
# ruff: noqa: ANN401 - fixtures and parameters have any type

import asyncio
import collections
import contextlib
import decimal
import importlib
import inspect
import io
import itertools
import logging
import os
import pathlib
import re
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import stand_ins

_UNNAMED = object()


class OutcomeException(BaseException):
    """What a test ends with that says so itself: `except Exception` does not catch it."""


class Failed(OutcomeException):
    """The test has failed."""


class XFailed(Failed):
    """The test has failed, as it expected."""


class Skipped(OutcomeException):
    """The test asked not to be run."""


class Exit(Exception):
    """The test asked for the end of all tests."""


class _Raises:
    """What `pytest.raises` returns."""

    def __init__(self, expected: Any, match: str | None) -> None:
        self._expected, self._match = expected, match
        self.value: Any = None
        self.type: Any = None

    def __enter__(self) -> "_Raises":
        return self

    def __exit__(self, kind: Any, error: Any, _trace: Any) -> bool:
        if kind is None:
            raise Failed(f"DID NOT RAISE {self._expected!r}")
        if not issubclass(kind, self._expected):
            return False
        self.value, self.type = error, kind
        return self._match is None or self.match(self._match)

    def match(self, pattern: str) -> bool:
        if not re.search(pattern, str(self.value)):
            raise AssertionError(f"{pattern!r} does not match {str(self.value)!r}")
        return True


class _Approx:
    """A number, or a collection of numbers, with a tolerance."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False
    ) -> None:
        self._expected, self._rel, self._abs, self._nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual: object) -> bool:
        return self._near(actual, self._expected)

    def _near(self, actual: Any, expected: Any) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self._near(actual[key], each) for key, each in expected.items())
            )
        if isinstance(expected, list | tuple):
            return (
                isinstance(actual, list | tuple)
                and len(actual) == len(expected)
                and all(map(self._near, actual, expected))
            )
        numbers = int, float, complex, decimal.Decimal
        if not isinstance(expected, numbers) or isinstance(expected, bool):
            return bool(actual == expected)
        if not isinstance(actual, numbers):
            return False
        if actual != actual or expected != expected:
            return self._nan_ok and actual != actual and expected != expected
        if abs(expected) == float("inf"):
            return bool(actual == expected)
        relative = 1e-6 if self._rel is None else self._rel
        absolute = 1e-12 if self._abs is None else self._abs
        kind: Any = type(expected) if isinstance(expected, decimal.Decimal) else float
        scale: Any = abs(expected)
        bound = kind(absolute)
        if self._abs is None or self._rel is not None:
            bound = max(bound, kind(relative) * scale)
        number: Any = actual
        return bool(actual == expected or abs(number - expected) <= bound)

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"


class _Marks:
    """`pytest.mark`: marks of any name; some of them mean something below."""

    def __getattr__(self, name: str) -> "_Mark":
        return _Mark(name, (), {})


class _Mark:
    """A mark, with its arguments."""

    def __init__(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.name, self._marks = name, [(name, args, named)]

    def __call__(self, *args: Any, **named: Any) -> Any:
        is_target = len(args) == 1 and (inspect.isroutine(args[0]) or inspect.isclass(args[0]))
        if is_target and not named:
            return _marked(args[0], *self._marks[0])
        return _Mark(self.name, args, named)


def _marked(target: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if isinstance(target, type):
        for each, value in vars(target).items():
            if each.startswith("test") and isinstance(value, types.FunctionType):
                _marked(value, name, args, named)
    else:
        target.__dict__.setdefault("_marks", []).append((name, args, named))
    return target


class _Capsys:
    """The fixture `capsys`."""

    def __init__(self) -> None:
        self._pipes = io.StringIO(), io.StringIO()

    def readouterr(self) -> Any:
        texts = [pipe.getvalue() for pipe in self._pipes]
        for pipe in self._pipes:
            pipe.seek(0)
            pipe.truncate()
        return collections.namedtuple("CaptureResult", "out err")(*texts)

    @contextlib.contextmanager
    def capturing(self) -> Iterator["_Capsys"]:
        kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self._pipes
        try:
            yield self
        finally:
            sys.stdout, sys.stderr = kept


class _MonkeyPatch:
    """The fixture `monkeypatch`: changes that end with the test."""

    def __init__(self) -> None:
        self._patches = contextlib.ExitStack()

    def setattr(self, target: Any, name: Any, value: Any = _UNNAMED, raising: bool = True) -> None:
        if isinstance(target, str):
            patch = unittest.mock.patch(target, name, create=not raising)
        else:
            patch = unittest.mock.patch.object(target, name, value, create=not raising)
        self._patches.enter_context(patch)

    def delattr(self, target: Any, name: str, raising: bool = True) -> None:
        if hasattr(target, name) or raising:
            patch = unittest.mock.patch.object(target, name)
            self._patches.enter_context(patch)
            delattr(target, name)

    def setitem(self, mapping: Any, key: Any, value: Any) -> None:
        self._patches.enter_context(unittest.mock.patch.dict(mapping, {key: value}))

    def delitem(self, mapping: Any, key: Any, raising: bool = True) -> None:
        if key in mapping or raising:
            self._patches.enter_context(unittest.mock.patch.dict(mapping))
            del mapping[key]

    def setenv(self, name: str, value: Any, prepend: str | None = None) -> None:
        if prepend and name in os.environ:
            value = f"{value}{prepend}{os.environ[name]}"
        self.setitem(os.environ, name, str(value))

    def delenv(self, name: str, raising: bool = True) -> None:
        self.delitem(os.environ, name, raising)

    def chdir(self, path: Any) -> None:
        self._patches.callback(os.chdir, os.getcwd())
        os.chdir(path)

    def undo(self) -> None:
        self._patches.close()

    @contextlib.contextmanager
    def context(self) -> Iterator["_MonkeyPatch"]:
        inner = _MonkeyPatch()
        try:
            yield inner
        finally:
            inner.undo()


class _Caplog(logging.Handler):
    """The fixture `caplog`."""

    def __init__(self) -> None:
        super().__init__(0)
        self.records: list[logging.LogRecord] = []
        self.handler = self
        self._levels = contextlib.ExitStack()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def clear(self) -> None:
        self.records.clear()

    @property
    def messages(self) -> list[str]:
        return [record.getMessage() for record in self.records]

    @property
    def record_tuples(self) -> list[tuple[str, int, str]]:
        return [(each.name, each.levelno, each.getMessage()) for each in self.records]

    @property
    def text(self) -> str:
        form = "{0.levelname:<8} {0.name}:{0.filename}:{0.lineno} {1}\n"
        return "".join(form.format(each, each.getMessage()) for each in self.records)

    @contextlib.contextmanager
    def at_level(self, level: Any, logger: Any = None) -> Iterator[None]:
        changed = logging.getLogger(logger)
        before = changed.level
        changed.setLevel(level)
        try:
            yield
        finally:
            changed.setLevel(before)

    def set_level(self, level: Any, logger: Any = None) -> None:
        self._levels.enter_context(self.at_level(level, logger))

    @contextlib.contextmanager
    def capturing(self) -> Iterator["_Caplog"]:
        logging.root.addHandler(self)
        with self._levels:
            try:
                yield self
            finally:
                logging.root.removeHandler(self)


class _Warns(warnings.catch_warnings):
    """What `pytest.warns` returns."""

    def __init__(self, expected: Any = Warning, *, match: str | None = None) -> None:
        super().__init__(record=True)
        self._expected, self._match = expected, match
        self.list: list[warnings.WarningMessage] = []

    def __enter__(self) -> "_Warns":  # type: ignore[override]
        self.list = super().__enter__()  # type: ignore[assignment]
        warnings.simplefilter("always")
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[0] is None and not any(map(self._is_expected, self.list)):
            raise Failed(f"DID NOT WARN {self._expected!r}")

    def __getitem__(self, number: int) -> Any:
        return self.list[number]

    def __len__(self) -> int:
        return len(self.list)

    def _is_expected(self, each: Any) -> bool:
        is_like = self._match is None or re.search(self._match, str(each.message))
        return issubclass(each.category, self._expected) and bool(is_like)


def _fixture(function: Any = None, **options: Any) -> Any:
    def mark(target: Any) -> Any:
        target._fixture = options
        return target

    return mark(function) if function is not None else mark


def _raises(expected: Any, *call: Any, match: str | None = None, **named: Any) -> Any:
    context = _Raises(expected, match)
    if call:
        with context:
            call[0](*call[1:], **named)
    return context


def _ending(kind: type[BaseException]) -> Any:
    """Return the function of pytest that ends a test with this outcome."""

    def end(reason: str = "", msg: str = "", **_options: Any) -> None:
        raise kind(reason or msg)

    vars(end)["Exception"] = kind
    return end


class _Param(tuple[Any, ...]):
    """What `pytest.param` returns: the values of one row."""

    marks: Any = ()


def _param(*values: Any, marks: Any = (), **_options: Any) -> _Param:
    row = _Param(values)
    row.marks = marks
    return row


PYTEST = types.ModuleType("pytest")  # what tests import
vars(PYTEST).update(
    approx=_Approx,
    raises=_raises,
    warns=_Warns,
    deprecated_call=lambda **named: _Warns((DeprecationWarning, FutureWarning), **named),
    mark=_Marks(),
    fixture=_fixture,
    fail=_ending(Failed),
    skip=_ending(Skipped),
    xfail=_ending(XFailed),
    exit=_ending(Exit),
    importorskip=importlib.import_module,
    param=_param,
    main=lambda *_args, **_named: 0,
    MonkeyPatch=_MonkeyPatch,
)


# --- running -----------------------------------------------------------------------------------


class _Request:
    """The fixture `request`, as a fixture with `params` uses it."""

    def __init__(self, fixtures: "_Fixtures", function: Any, param: Any = _UNNAMED) -> None:
        self.function, self.node = function, types.SimpleNamespace(name=function.__name__)
        self.addfinalizer = fixtures.addfinalizer
        self.getfixturevalue = fixtures.named
        if param is not _UNNAMED:
            self.param = param


class _Scope:
    """The fixtures that are made once within a scope, and what ends them."""

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}
        self.ends = contextlib.ExitStack()


class _Fixtures:
    """The fixtures of one run of one test."""

    def __init__(self, suite: "_Suite", owner: Any, function: Any, row: dict[str, Any]) -> None:
        self._suite, self._owner, self._function, self._row = suite, owner, function, row
        self._scope = _Scope()
        self.ends = self._scope.ends

    def addfinalizer(self, end: Callable[[], Any]) -> None:
        self.ends.callback(end)

    def arguments(self, function: Any) -> dict[str, Any]:
        """Return the arguments of a test or fixture: from its row, or fixtures of their names."""
        return {
            name: self._row[name] if name in self._row else self.named(name)
            for name in _parameters(function, self._row)
        }

    def named(self, name: str) -> Any:
        function = self._suite.fixture(self._owner, name)
        options = {} if function is None else function._fixture
        param = self._row.get(f"@{name}", _UNNAMED)
        is_wide = options.get("scope", "function") != "function"
        scope = self._suite.scope if is_wide else self._scope
        key = (name, id(param))
        if key not in scope.made:
            scope.made[key] = self._make(name, function, param, scope.ends)
        return scope.made[key]

    def _make(self, name: str, function: Any, param: Any, ends: contextlib.ExitStack) -> Any:
        if function is not None:
            arguments = self.arguments(function)
            if "request" in arguments:
                arguments["request"] = _Request(self, self._function, param)
            value = function(**arguments)
            if inspect.isgenerator(value):
                ends.callback(next, value, None)
                return next(value)
            if inspect.isasyncgen(value):
                ends.callback(lambda: asyncio.run(anext(value, None)))
                return asyncio.run(anext(value))
            return _awaited(value)
        if name in ("capsys", "capfd"):
            return ends.enter_context(_Capsys().capturing())
        if name == "caplog":
            return ends.enter_context(_Caplog().capturing())
        if name == "monkeypatch":
            patch = _MonkeyPatch()
            ends.callback(patch.undo)
            return patch
        if name == "tmp_path":
            return pathlib.Path(tempfile.mkdtemp())
        if name == "tmp_path_factory":
            return types.SimpleNamespace(
                mktemp=lambda base, **_numbered: pathlib.Path(tempfile.mkdtemp("", base)),
                getbasetemp=lambda: pathlib.Path(tempfile.gettempdir()),
            )
        if name == "request":
            return _Request(self, self._function)
        raise ModuleNotFoundError(f"No module named 'pytest', which gives {name}")


def _parameters(function: Any, row: dict[str, Any]) -> Iterator[str]:
    """Return the names of the arguments that a test or fixture must be given."""
    for each in inspect.signature(function).parameters.values():
        named = each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        if each.name in row or (each.default is each.empty and named):
            yield each.name


def _rows(function: Any, marks: Any, suite: "_Suite", owner: Any) -> Iterator[dict[str, Any]]:
    """Return the values of the parameters, one dict for each time that a test runs."""
    tables = []
    for name, args, named in marks:
        if name == "parametrize":
            names, values = (*args, named.get("argvalues"))[:2]
            names = [each.strip() for each in names.split(",")] if isinstance(names, str) else names
            is_indirect = named.get("indirect")
            keys = [
                f"@{each}" if is_indirect is True or each in (is_indirect or ()) else each
                for each in names
            ]
            tables.append([_row(keys, value) for value in values])
    known = {key for table in tables for row in table[:1] for key in row}
    for name in suite.needed(owner, function, known):
        params = suite.fixture(owner, name)._fixture.get("params")
        if params is not None and f"@{name}" not in known:
            values = [each[0] if isinstance(each, _Param) else each for each in params]
            tables.append([{f"@{name}": value} for value in values])
    for combination in itertools.product(*tables):
        row = {name: value for each in combination for name, value in each.items()}
        row["@marks"] = [mark for each in combination for mark in each.get("@marks", ())]
        yield row


def _row(names: Any, value: Any) -> dict[str, Any]:
    if isinstance(value, _Param):
        marks = [*_marks_of(value.marks)]
        values = [value[0]] if len(names) == 1 else value
        return {"@marks": marks, **dict(zip(names, values, strict=True))}
    return dict(zip(names, value, strict=True)) if len(names) > 1 else {names[0]: value}


def _note_of(value: Any, name: str) -> Any:
    """Return what a decorator of ours noted at a function of the tests, or None."""
    function = getattr(value, "__func__", value)
    if type(function) in (types.FunctionType, stand_ins.Function, _Mark):
        return vars(function).get(name)
    return None


def _awaited(value: Any) -> Any:
    async def wait() -> Any:
        return await value

    return asyncio.run(wait()) if inspect.isawaitable(value) else value


class _Suite:
    """The test functions and classes that a text has defined."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.scope = _Scope()

    def fixture(self, owner: Any, name: str) -> Any:
        """Return the function of a fixture, or None."""
        for function in (getattr(owner, name, None), self.names.get(name)):
            if _note_of(function, "_fixture") is not None:
                return function
        named = (each for each in self.names.values() if _note_of(each, "_fixture") is not None)
        return next((each for each in named if each._fixture.get("name") == name), None)

    def needed(self, owner: Any, function: Any, row: Iterable[str] = ()) -> list[str]:
        """Return the fixtures that a test needs, and those that these need."""
        owners = vars(type(owner)).items() if owner is not None else ()
        names = [
            *(args for mark, args, _ in _marks_of(function) if mark == "usefixtures"),
            [
                name
                for name, value in [*self.names.items(), *owners]
                if (_note_of(value, "_fixture") or {}).get("autouse")
            ],
            [name for name in _parameters(function, {}) if name not in row],
        ]
        found: list[str] = []
        waiting = [name for each in names for name in each]
        while waiting:
            name = waiting.pop(0)
            fixture = self.fixture(owner, name)
            if name not in found and fixture is not None:
                found.append(name)
                waiting += _parameters(fixture, {})
        return found

    def run(self, owner: Any, function: Any) -> None:
        """Run a test for each row of its parameters."""
        marks = [*_marks_of(self.names.get("pytestmark")), *_marks_of(function)]
        for row in _rows(function, marks, self, owner):
            self._run_row(owner, function, row, [*marks, *row.pop("@marks")])

    def _run_row(self, owner: Any, function: Any, row: dict[str, Any], marks: list[Any]) -> None:
        if any(self._holds(*mark) for mark in marks if mark[0] in ("skip", "skipif")):
            return
        xfails = [mark for mark in marks if mark[0] == "xfail" and self._holds(*mark)]
        options = xfails[0][2] if xfails else {}
        fixtures = _Fixtures(self, owner, function, row)
        try:
            with fixtures.ends:
                for name in self.needed(owner, function, row):
                    fixtures.named(name)
                _awaited(function(**fixtures.arguments(function)))
                stand_ins.Mirror.peer.raise_lost()
        except (Skipped, XFailed):
            return
        except (Exception, Failed) as error:
            if not (xfails and isinstance(error, options.get("raises") or (Exception, Failed))):
                raise
        else:
            if options.get("strict"):
                raise Failed("[XPASS(strict)] " + str(options.get("reason", "")))

    def _holds(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Whether a mark that may have a condition applies."""
        if name == "skip" or not (args or "condition" in named):
            return name != "skipif"
        condition = args[0] if args else named["condition"]
        return bool(eval(condition, self.names) if isinstance(condition, str) else condition)


def _marks_of(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [mark for each in value for mark in _marks_of(each)]
    if value is None:
        return []
    return _note_of(value, "_marks") or []


def _adopt_marks(name: str, function: stand_ins.Function) -> None:
    """Give a function that the program made of a test the marks of the test of that name."""
    test = getattr(function, "__wrapped__", None)
    if type(test) is types.FunctionType and test.__name__ == name:
        for each in ("_marks", "_fixture"):
            if each in vars(test):
                vars(function).setdefault(each, vars(test)[each])


def run_collected(names: dict[str, Any], before: dict[str, Any]) -> None:
    """Run the test functions and classes that a text has defined, as pytest and unittest would."""
    new = {name: value for name, value in names.items() if before.get(name) is not value}
    for name, value in new.items():
        if type(value) is stand_ins.Function:
            _adopt_marks(name, value)
    suite = _Suite(names)
    classes = [value for value in new.values() if isinstance(value, type)]
    has_case = any(issubclass(each, unittest.TestCase) for each in classes)  # which calls its own
    for name in ("setup_module", "setUpModule")[: 1 if has_case else 2]:
        if name in new:
            new[name]()
    with suite.scope.ends:
        for name, value in new.items():
            if isinstance(value, types.FunctionType) and name.startswith("test"):
                suite.run(None, value)
            elif isinstance(value, type) and not stand_ins.is_mirror(value):
                _run_class(suite, name, value)
    for name in ("teardown_module", "tearDownModule")[: 1 if has_case else 2]:
        if name in new:
            new[name]()


def _run_case(case: Any) -> None:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    if not result.wasSuccessful():
        failed = [text for _, text in result.failures + result.errors]
        last = (failed or ["unexpected success"])[0].strip().splitlines()[-1]
        raise AssertionError(last.removeprefix("AssertionError: "))


def _run_class(suite: _Suite, class_name: str, cls: Any) -> None:
    if issubclass(cls, unittest.TestCase):
        return _run_case(cls)
    if not class_name.startswith("Test"):
        return
    for name, value in vars(cls).items():
        if isinstance(value, type) and not stand_ins.is_mirror(value):
            _run_class(suite, name, value)
    _call_if_there(cls, "setup_class")
    for name in [each for each in dir(cls) if each.startswith("test")]:
        owner = cls()
        method = getattr(owner, name)
        if not callable(method):
            continue
        _call_if_there(owner, "setup_method", method)
        _call_if_there(owner, "setup")
        suite.run(owner, method)
        _call_if_there(owner, "teardown_method", method)
        _call_if_there(owner, "teardown")
    _call_if_there(cls, "teardown_class")


def _call_if_there(owner: Any, name: str, *args: Any) -> None:
    """Call a method, with as many of the arguments as it takes."""
    function = getattr(owner, name, None)
    if callable(function) and _note_of(function, "_fixture") is None:
        function(*args[: len(inspect.signature(function).parameters)])
