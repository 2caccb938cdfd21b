"""The interpreter of the tests: runs them unmodified, where the program never was.

A name that the tests read and do not define is asked of the program. What they import from a module
of the program's is, too. What the program gives is plain data or a stand-in; see `peer`.
"""
# ruff: noqa: ANN401 - values of any type cross

import ast
import builtins
import doctest
import importlib.abc
import importlib.machinery
import json
import logging
import marshal
import os
import re
import reprlib
import symtable
import sys
import traceback
import types
import unittest.mock
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import green
import peer
import plain
import shared
import small_pytest
import stand_ins
import values
from shown import cut, failed_assertion
from stand_ins import Mirror, handle_of

_MESSAGE_CHARS, _SHOWN_BITS = 500, 2048
_NO_CODE = SyntaxError, ValueError, RecursionError, MemoryError  # what compiling a text may raise
_LOADS_ANEW = re.compile(
    r"\bsys\.modules\.pop|\bdel sys\.modules|\bimportlib\.reload\b|\brunpy\b|\binspect\.getsource"
    r"|\bspec_from_file_location\b|\bSourceFileLoader\b|\btestfile\b|\bexec\([^\n]*\bread"
)
_CATCH_ALL = BaseException, Exception, AssertionError
_LINKS = re.compile(r"\bsymlink|\bhardlink|\bos\.link\b")


class Judge(peer.Peer):
    """The side of the tests."""

    failures = AssertionError, small_pytest.Failed

    def __init__(self, exchange: Callable[[str], str]) -> None:
        super().__init__(exchange, is_judge=True)
        self._bound: dict[str, Any] = {}  # names of the program that it has not bound anew since
        self._classes: frozenset[str] = frozenset()
        self._shown: set[int] = set()  # handles of classes that the tests show to be classes
        self._own: set[int] = set()  # handles of objects that the tests made from those
        self.operations["input"] = lambda prompt: builtins.input(prompt)
        self.operations["readline"] = lambda: sys.stdin.readline()
        self.operations["read"] = lambda: sys.stdin.read()
        self._streams = sys.stdin, sys.stdout, sys.stderr
        self._input, self._environ = builtins.input, dict(_environ())
        # What to do on the program's side before the next request.
        self.bridged: list[tuple[Any, ...]] = []
        self._shared: frozenset[str] = frozenset()
        self._watched: frozenset[str] = frozenset()
        self.names: dict[str, Any] = {}
        self.starless: frozenset[str] = frozenset()  # names that no star import brings
        self.imported: dict[str, Any] = {}  # what imports from the program gave
        self._pushed: dict[str, Any] = {}
        self.exits: list[SystemExit] = []  # that the program raised, or passed on
        self.may_stop = False  # whether the tests speak of StopIteration
        self.refused = ""  # why what the tests were to send does not cross
        self.logs = False  # whether the tests look at what is logged
        self._offered: list[str] = []  # what the tests define and the program may lack
        self._show_warning = warnings._showwarnmsg_impl  # type: ignore[attr-defined]

    def show(self, classes: Iterable[str]) -> None:
        """Let objects of these classes answer comparisons where the tests make them."""
        self._classes = frozenset(classes)

    def named(self, name: str, operation: str = "name") -> Any:
        """Return what the program binds to a name. Raises KeyError."""
        if name not in self._bound:
            value = self._bound[name] = self.ask(operation, name)
            if name in self._classes and isinstance(value, Mirror):
                self._shown.add(value._handle)
        return self._bound[name]

    def public_names(self) -> list[str]:
        """Return the names that the program defines."""
        names = [name for name in self.ask("names") if type(name) is str and name.isidentifier()]
        return [name for name in names if not name.startswith("_")]

    def star_names(self) -> list[str]:
        """Return what `from solution import *` brings: nothing that the tests have already.

        The program's own exceptions are brought, whose names those of Python may be.
        """
        return [
            name
            for name in self.public_names()
            if (name not in self.starless or self._is_own_error(name))
            and (name not in self.names or self.names[name] is self.imported.get(name, peer))
        ]

    def _is_own_error(self, name: str) -> bool:
        known, value = vars(builtins).get(name), self.named(name)
        if known in _CATCH_ALL or not isinstance(known, type) or not isinstance(value, Mirror):
            return False
        return issubclass(known, Exception) and issubclass(value, Exception)

    # --- what crosses beside a request -----------------------------------------------------------

    def header(self) -> list[Any] | None:
        """Say what of the tests' surroundings the program shares."""
        stdin, stdout, stderr = self._streams
        recorded = warnings._showwarnmsg_impl is not self._show_warning  # type: ignore[attr-defined]
        captures = [sys.stdout is not stdout, sys.stderr is not stderr, recorded, self.logs]
        asks = builtins.input is not self._input or sys.stdin is not stdin
        changes, self.bridged = self.bridged, []
        is_moved = _environ() != self._environ
        is_quiet = not (any(captures) or is_moved)
        if is_quiet and not (asks or changes or self._shared or self._offered):
            return None
        if is_moved:
            self._environ = dict(_environ())
            changes.append(("environ", dict(os.environ)))
        for name in self._shared:
            if name in self.names and self.names[name] is not self._pushed.get(name, peer):
                self._pushed[name] = self.names[name]
                changes.append(("assign", name, self.names[name]))
        for name in [name for name in self._offered if name in self.names]:
            self._offered.remove(name)
            value = self.names[name]
            if not (isinstance(value, type) and issubclass(value, unittest.TestCase)):
                changes.append(("offer", name, value))
        return [captures, asks, [[each[0], *map(self.encode, each[1:])] for each in changes]]

    def share(self, given: Iterable[str], watched: Iterable[str], offered: Iterable[str]) -> None:
        """Give the program these names as the tests assign them, and take the watched ones back.

        The offered are classes, which the program gets if it has none of that name, as LeetCode's
        `TreeNode`.
        """
        self._offered = [*offered]
        self._watched = frozenset(watched)
        self._shared = frozenset(given) | self._watched
        if self._watched:
            self.bridged.append(("watch", [*self._watched]))

    def hear(self, footer: list[Any] | None) -> None:
        """Forget the names that the program has bound anew, and print what it printed."""
        if footer is None:
            return
        stale, out, err, rebound, warned, logged = footer
        for name in stale:
            self._bound.pop(name, None)
        for name, form in rebound:
            if name in self._watched:
                self.names[name] = self._pushed[name] = self.decode(form)
        if out:
            sys.stdout.write(str(out))
        if err:
            sys.stderr.write(str(err))
        for name, level, message, form in logged:
            error = self.decode(form)
            if not isinstance(error, BaseException | None):
                raise values.Refused("what was logged is no error")
            cause = None if error is None else (type(error), error, None)
            logger = logging.getLogger(str(name))
            if logger.isEnabledFor(level):
                record = logger.makeRecord(logger.name, level, "program.py", 0, message, (), cause)
                logger.handle(record)
        for form, text in warned:
            warnings.warn_explicit(str(text), self.decode(form), "program.py", 1)

    def _arrived(self, error: BaseException, mark: int) -> BaseException:
        """Keep the program from ending a loop or a test as if all was well."""
        name = type(error).__name__
        if self.is_failure(error):
            self.take_back(error, mark)
            return error
        if isinstance(error, SystemExit):
            self.exits.append(error)
        if isinstance(error, StopIteration | StopAsyncIteration) and not self.may_stop:
            return RuntimeError(f"the program raised {name}")
        if isinstance(error, Exception | SystemExit | KeyboardInterrupt) and name != "SkipTest":
            return error
        return peer.Left(f"the program raised {name}")

    # --- failures of the tests that the program gets ---------------------------------------------

    def is_failure(self, error: Any) -> bool:
        """Whether this is a failed assertion of the tests' own."""
        return isinstance(error, self.failures) and self.their_handle(error) is None

    def hand_over(self, error: Any) -> BaseException | None:
        if not self.is_failure(error):
            return None
        if all(error is not each for each in self.lost):
            self.lost.append(error)
        return error  # type: ignore[no-any-return]

    def take_back(self, error: BaseException, mark: int) -> None:
        if self.is_failure(error):
            self.lost = [each for each in self.lost[:mark] if each is not error]

    def raise_lost(self) -> None:
        """Raise a failed assertion that the program has caught, or an unread error.

        A SystemExit that ended a thread counts only if the program raised it.
        """
        lost, self.lost = self.lost, []
        for error in [*lost, *green.unread_errors()]:
            if not isinstance(error, SystemExit) or any(error is each for each in self.exits):
                raise error

    def encode_error(self, error: BaseException) -> Any:
        self.hand_over(error)
        return super().encode_error(error)

    def note_refused(self, error: values.Refused) -> None:
        self.refused = f"what the tests hand over cannot leave them: {error}"

    # --- what the program's objects may answer ---------------------------------------------------

    def note_returned(self, operation: str, form: Any) -> None:
        """What the program gives back is no longer of the tests' own making."""
        if operation in ("call", "method", "name") and isinstance(form, list) and form[0] == "h":
            self._own.discard(form[1])

    def note_made(self, cls: type, made: Any) -> None:
        handle = handle_of(made)
        if vars(cls).get("_handle") in self._shown and handle is not None and type(made) is cls:
            self._own.add(handle)

    def may_answer(self, stand_in: Any, name: str, args: tuple[Any, ...]) -> bool:
        """An object that claims to be like plain data is not asked, unless the tests made it."""
        if handle_of(stand_in) in self._own:
            return True
        if isinstance(stand_in, values.DATA):
            return name.startswith("__") and name not in stand_ins.BY_CONTENT
        if name not in stand_ins.CLAIMS:
            return True
        return any(isinstance(arg, Mirror) or handle_of(arg) is not None for arg in args)

    def checked(self, stand_in: Any, name: str, answer: Any) -> Any:
        handle = handle_of(answer)
        if handle is None:
            return answer
        if name in stand_ins.COMPARISONS:
            return NotImplemented
        if name in stand_ins.ARITHMETIC and handle_of(stand_in) in self._own:
            self._own.add(handle)
        return answer


def _environ() -> Any:
    """Return the environment in a mapping that is quickly compared."""
    return getattr(os.environ, "_data", os.environ)


# --- the tests' surroundings -------------------------------------------------------------------


class _Builtins(dict[str, Any]):
    """Python's builtins, and behind them the names of the program."""

    def __init__(self, judge: Judge, facts: dict[str, Any]) -> None:
        super().__init__(vars(builtins))
        self._judge, self._bound = judge, frozenset(facts["unread"])
        self._modules = facts["libraries"]
        for name in facts["subjects"]:
            self.pop(name, None)
        judge.starless = frozenset(self) | self._modules.keys()
        self["globals"] = lambda: _Globals(judge)

    def __missing__(self, name: str) -> Any:
        if name.startswith("__") or name in self._bound:
            raise KeyError(name)
        if name in self._modules:
            return importlib.import_module(self._modules[name])
        try:
            return self._judge.named(name)
        except KeyError:
            if name in vars(builtins):
                return vars(builtins)[name]
            raise


class _Globals(dict[str, Any]):
    """What `globals()` is for tests: the program's names, and their own."""

    def __init__(self, judge: Judge) -> None:
        super().__init__({name: judge.named(name) for name in judge.public_names()})
        self.update(judge.names)
        self._names = judge.names

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._names[name] = value


class _ProgramModule(types.ModuleType):
    """The program, as a module that tests import."""

    def __init__(self, name: str, judge: Judge) -> None:
        super().__init__(name)
        object.__setattr__(self, "_judge", judge)
        self.__file__ = "program.py"

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return object.__getattribute__(self, "_judge").star_names()
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            judge = object.__getattribute__(self, "_judge")
            judge.imported[name] = value = judge.named(name, "attribute")
            return value
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def __dir__(self) -> list[str]:
        return object.__getattribute__(self, "_judge").public_names()  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            object.__getattribute__(self, "_judge").ask("assign", name, value)

    def __delattr__(self, name: str) -> None:
        object.__getattribute__(self, "_judge").ask("unbind", name)


class _Importer(importlib.abc.Loader):
    """Finds the program under the names that its tests import it by."""

    def __init__(self, judge: Judge, names: Iterable[str]) -> None:
        self._judge, self._names = judge, frozenset(names)

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if name in self._names:
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _ProgramModule(spec.name, self._judge)

    def exec_module(self, _module: types.ModuleType) -> None:
        """There is nothing to run: the program has run."""


# --- what the texts of the tests show ----------------------------------------------------------


def _parsed(text: str) -> ast.Module:
    """Return the tree of a text; an empty one if the text is no code."""
    try:
        return ast.parse(text)
    except _NO_CODE:
        return ast.Module([], [])


def shown_classes(texts: Sequence[str]) -> frozenset[str]:
    """Return the capitalized names that tests use as classes.

    That they are called is not enough, since functions may have capital letters, too.
    """
    classes: set[str] = set()
    parser = doctest.DocTestParser()
    examples = [each for text in texts if ">>> " in text for each in parser.get_examples(text)]
    for text in [*texts, "".join(each.source for each in examples)]:
        classes.update(_shown(_parsed(text)))
    return frozenset(classes) - vars(builtins).keys() - {""}


def _constructed(node: ast.AST) -> str:
    """Return the capitalized name that the expression calls, or ""."""
    of = node.func if isinstance(node, ast.Call) else None
    name: str = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
    return name if name[:1].isupper() else ""


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from ((ast.unparse(target), node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign) and node.value:
            yield ast.unparse(node.target), node.value


def _used(node: ast.AST) -> Iterator[ast.expr]:
    """Return what a node uses as an object that is no plain value."""
    if isinstance(node, ast.Attribute) and node.attr not in plain.DATA_ATTRIBUTES:
        yield node.value
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.withitem):
        yield node.context_expr
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield node.func
    elif isinstance(node, ast.For):
        yield node.iter


def _shown(tree: ast.Module) -> Iterator[str]:
    classes = {key: _constructed(value) for key, value in _assigned(tree)}
    for node in ast.walk(tree):
        for used in _used(node):
            yield _constructed(used) or classes.get(ast.unparse(used), "")
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            yield from (part.id for part in node.args[1:] if isinstance(part, ast.Name))
        elif isinstance(node, ast.Compare) and _constructed(node.left) == _constructed(
            node.comparators[0]
        ):
            yield _constructed(node.left)


def watched_names(text: str) -> frozenset[str]:
    """Return the names that a test sets to a constant only to compare them with constants.

    That has a meaning only if the program changes them: `calls = 0`, a call, `assert calls == 1`.
    """
    tree = _parsed(text)
    named = [
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    ]
    compared: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            kinds = {type(each) for each in operands}
            if ast.Constant in kinds and kinds <= {ast.Name, ast.Constant}:
                compared.update(id(each) for each in operands)
    reads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    for name, value in _assigned(tree):  # a copy that is itself compared with constants only
        if isinstance(value, ast.Name) and {id(n) for n in reads if n.id == name} <= compared:
            compared.add(id(value))
    loose = {node.id for node in reads if id(node) not in compared}
    loose |= {
        ast.unparse(node.target) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)
    }
    return frozenset(named) & {node.id for node in reads} - loose


class _Symbols:
    """The names that texts read, assign and define at their top level."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self.assigned: set[str] = set()
        self.classes: set[str] = set()
        self.functions: set[str] = set()
        for text in texts:
            try:
                self._walk(symtable.symtable(text, "test", "exec"), is_top=True)
            except _NO_CODE:
                continue

    def _walk(self, table: symtable.SymbolTable, is_top: bool = False) -> None:
        for symbol in table.get_symbols():
            if is_top or symbol.is_global():
                name = symbol.get_name()
                if symbol.is_referenced():
                    self.read.add(name)
                if symbol.is_imported() or symbol.is_namespace() or symbol.is_assigned():
                    self.bound.add(name)
                if symbol.is_assigned() and not symbol.is_namespace():
                    self.assigned.add(name)
        for child in table.get_children():
            name, is_class = child.get_name(), child.get_type() == "class"
            if is_top and not name.startswith("Test" if is_class else "test"):
                (self.classes if is_class else self.functions).add(name)
            self._walk(child)


def subjects_of(symbols: _Symbols, entry_point: str, names_none: bool) -> frozenset[str]:
    """Return the names of builtins that the program is asked for first.

    A program may define `sum` itself, and a test of it then names nothing else. `names_none`: no
    import names what is the program's.
    """
    if entry_point:
        return frozenset((entry_point,))
    free = symbols.read - symbols.bound - {"__name__", "__file__", "__doc__"}
    if any(name not in vars(builtins) for name in free) or not names_none:
        return frozenset()
    return frozenset(free)


_OTHERS = {name: name for name in ("pytest", "numpy", "pandas")} | {"np": "numpy", "pd": "pandas"}
_LOUD = {"antigravity", "this"}  # which do something when they are imported
_LIBRARIES = _OTHERS | {
    name: name for name in sys.stdlib_module_names - _LOUD if not name.startswith("_")
}


def libraries_of(
    symbols: _Symbols, texts: Sequence[str], entry_point: str, names_program: bool
) -> dict[str, str]:
    """Return the modules that tests use and forgot to import, by their names in the tests.

    The task may ask for a class named `calendar`. So a name counts as a module only if the tests
    use another name of the program, and if the module has every attribute that they read of it.
    """
    free = symbols.read - symbols.bound - vars(builtins).keys() - {"__file__"}
    found = (free & _LIBRARIES.keys()) - {entry_point}
    if not found or not (names_program or entry_point or free - found):
        return {}
    nodes = [node for text in texts for node in ast.walk(_parsed(text))]
    owners: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            if name in found and _has(name, node.attr):
                owners.add(id(node.value))
    others = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in owners}
    return {name: _LIBRARIES[name] for name in found - others}


def _has(name: str, attribute: str) -> bool:
    """Whether a module has an attribute; one that is not of the standard library has any."""
    try:
        return name in _OTHERS or hasattr(importlib.import_module(name), attribute)
    except (ImportError, AttributeError, NotImplementedError, OSError):  # see `library`
        return False


# --- running them ------------------------------------------------------------------------------


# Functions that take classes, and their arguments that are classes.
_CLASSES_OF = {
    **dict.fromkeys(("raises", "assertRaises", "assertRaisesRegex"), slice(1)),
    **dict.fromkeys(
        ("isinstance", "issubclass", "assertIsInstance", "assertNotIsInstance"), slice(1, 2)
    ),
    "suppress": slice(None),
}


class _Fence(type):
    """A class that stands for one that a name of the program is bound to, such as Exception.

    The tests' own failures are none of its objects.
    """

    _fenced: Any
    _judge: Judge

    def __instancecheck__(cls, value: Any) -> bool:
        return not cls._judge.is_failure(value) and isinstance(value, cls._fenced)

    def __subclasscheck__(cls, other: type) -> bool:
        error = sys.exc_info()[1]
        is_own = cls._judge.is_failure(error) and type(error) is other
        return not is_own and issubclass(other, cls._fenced)


class _Fences:
    """Lets names of the program that are bound to Exception and the like catch no own failure."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        facts = {"__module__": "builtins", "_judge": judge}
        self._made = [
            (kind, _Fence(kind.__name__, (kind,), {"_fenced": kind, **facts}))
            for kind in _CATCH_ALL
        ]

    def caught(self, classes: Any) -> Any:
        """Return what `except` is to catch: of a failure of the tests, no class of `_CATCH_ALL`."""
        if not self._judge.is_failure(sys.exc_info()[1]):
            return classes
        found = classes if isinstance(classes, tuple) else (classes,)
        return tuple(each for each in found if all(each is not kind for kind in _CATCH_ALL))

    def asked(self, classes: Any) -> Any:
        """Return what is asked whether an object is of a class."""
        if isinstance(classes, tuple):
            return tuple(map(self.asked, classes))
        return next((made for kind, made in self._made if kind is classes), classes)


class _AssertionTexts(ast.NodeTransformer):
    """Let a failed `assert a == b` say what `a` and `b` were.

    Let names of the program that stand for classes not catch such a failure; see `_Fences`.
    """

    def __init__(self, tree: ast.AST) -> None:
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        imported = {each.asname or each.name for node in imports for each in node.names}
        catch_all = {each.__name__ for each in _CATCH_ALL}  # no star imports these
        self._native = catch_all if "*" in imported else vars(builtins).keys() - imported
        own = {name for name, value in _assigned(tree) if self._names_builtins(value)}
        self._native = self._native | own

    def _names_builtins(self, node: ast.expr) -> bool:
        """Whether an expression is made of names of builtins alone, as `(ValueError, KeyError)`."""
        parts = {type(each) for each in ast.walk(node)}
        return parts <= {ast.Name, ast.Load, ast.Tuple} and not self._is_named(node)

    def _is_named(self, node: ast.expr) -> bool:
        """Whether an expression may name a class of the program."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return not names <= self._native

    def _wrapped(self, name: str, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Starred) or not self._is_named(node):
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.generic_visit(node)
        if node.type is not None:
            node.type = self._wrapped("@caught", node.type)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        places = _CLASSES_OF.get(getattr(node.func, "attr", getattr(node.func, "id", "")))
        if places is not None:
            node.args[places] = [self._wrapped("@asked", each) for each in node.args[places]]
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        text = ast.Constant(ast.unparse(node.test))
        self.generic_visit(node)
        test = node.test
        new: list[ast.stmt] = []
        names: list[ast.Name] = []
        shown_names: list[ast.expr] = []
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            for name, operand in (("@left", test.left), ("@right", test.comparators[0])):
                new.append(ast.Assign([ast.Name(name, ast.Store())], operand))
                names.append(ast.Name(name, ast.Load()))
                if not _is_literal(operand):
                    shown_names.append(names[-1])
            holds: ast.expr = ast.Compare(names[0], test.ops, [names[1]])
        else:
            holds = test
        message = node.msg or ast.Constant(None)
        failed = ast.Name("@failed", ast.Load())
        told = ast.Call(failed, [text, message, ast.List(shown_names, ast.Load())], [])
        new.append(ast.If(ast.UnaryOp(ast.Not(), holds), [ast.Raise(told)], []))
        stored: list[ast.expr] = [ast.Name(each.id, ast.Store()) for each in names]
        if stored:  # or a weak reference would never be without its object
            new.append(ast.Assign(stored, ast.Constant(None)))
        return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in new]


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (*_NO_CODE, TypeError):
        return False
    return True


def _failed(text: str, message: Any, values: list[Any]) -> AssertionError:
    if message is not None and type(message) is not str:
        message = _REPR.shown(message)
    return AssertionError(failed_assertion(text, message, [*map(_REPR.shown, values)]))


def plan(
    setup: str, texts: list[str], entry_point: str, modules: list[str], kind: str
) -> tuple[bytes, str]:
    """Return what is known of tests before there is a program, and the steps of plain ones.

    The first is for `Tests`; or, if the second is not "", for the program's side. The texts are
    "tests", "expressions" whose values are expected, or "judged": those are not taken as plain.
    """
    if kind == "expressions":
        codes = [[_compiled(text, f"test_{n}.py", "eval")] for n, text in enumerate(texts, 1)]
        return marshal.dumps(codes), json.dumps([])
    if kind == "judged":
        return _full_plan(setup, texts, entry_point, modules), ""
    try:
        tests = plain.plain_steps(setup, texts, entry_point, modules)
        encode = peer.Peer(str, is_judge=True).encode
        forms = [[[*step[1:4], encode(step.expected)] for step in steps] for steps in tests]
        return marshal.dumps([[step.code for step in steps] for steps in tests]), json.dumps(forms)
    except Exception:  # not plain, no code, or a constant such as 1 / 0: `Tests` tells which
        return _full_plan(setup, texts, entry_point, modules), ""


def _unbridged(text: str) -> str:
    """Return why the sandbox cannot run a test, or ""."""
    if _LOADS_ANEW.search(text):
        return "it loads the program anew, or reads its source"
    if _LINKS.search(text):
        return "files in memory have no links"
    if "weakref" in text and re.search(r"^\s*del ", text, re.M) and "gc.collect" not in text:
        return "it looks for an object that has gone, without gc.collect()"
    return ""


def _full_plan(setup: str, texts: list[str], entry_point: str, modules: list[str]) -> bytes:
    whole = "\n".join((setup, *texts))
    symbols = _Symbols([setup, *texts])
    names = "|".join(map(re.escape, modules))
    is_starred = bool(re.search(rf"\bfrom\s+(?:{names})\s+import\s+\*", whole))
    subjects = subjects_of(symbols, entry_point, is_starred or "import" not in whole)
    importing = rf"\b(?:import|from|import_module|__import__)\b[^\n]*\b(?:{names})\b"
    names_program = re.search(importing, whole)
    is_shared = not names_program  # tests that import the program have own names
    watched = {name for text in texts * is_shared for name in watched_names(text)}
    facts = {
        "modules": [*modules],
        "classes": [*shown_classes([setup, *texts])],
        "subjects": [*subjects],
        "libraries": libraries_of(symbols, [setup, *texts], entry_point, bool(names_program)),
        "unread": [] if subjects else [*symbols.bound - symbols.read],
        "shared": [*(symbols.assigned | symbols.functions) - symbols.read - {"check"}] * is_shared,
        "watched": [*watched],
        "may_stop": "StopIteration" in whole,
        "offered": [*symbols.classes] * is_shared,
        "logs": "caplog" in whole or "Logs(" in whole,
        "runs_examples": "doctest" in whole,
        "shared_words": [word for word in shared.WORDS if word in whole],
    }
    codes = [_compiled(text, f"test_{n}.py") for n, text in enumerate(texts, 1)]
    reasons = map(_unbridged, [setup, *texts])
    if reason := next(filter(None, reasons), ""):
        codes = [f"ModuleNotFoundError: this test cannot run here: {reason}"] * len(texts)
    check = _compiled(f"check({entry_point})", "check.py") if entry_point else None
    return marshal.dumps((facts, _compiled(setup, "setup.py"), codes, check))


def _compiled(text: str, filename: str, mode: str = "exec") -> types.CodeType | str:
    """Return a test's code, or why it cannot be compiled."""
    try:
        parsed = ast.parse(text, filename, mode)
        tree = _AssertionTexts(parsed).visit(parsed)
        return compile(tree, filename, mode, dont_inherit=True)
    except _NO_CODE as error:
        return brief(error)


def _find_examples_of(judge: Judge) -> None:
    """Let doctest find the examples in the texts of the program."""
    find = doctest.DocTestFinder.find

    def find_with_program(self: Any, owner: Any, name: Any = None, *args: Any, **named: Any) -> Any:
        is_main = owner is sys.modules["__main__"]
        examples = find(self, owner, name, *args, **named) if is_main else []
        is_program = is_main or isinstance(owner, _ProgramModule)
        if not is_program and handle_of(owner) is None and not isinstance(owner, Mirror):
            return find(self, owner, name, *args, **named)
        part = "" if is_program else owner.__name__
        for qualified, text in judge.ask("docs"):
            if f"{qualified}.".startswith(f"{part}."[part == "" :]):
                title = f"{owner.__name__}.{qualified}".strip(".") if is_program else qualified
                examples.append(_asked_examples(judge, self._parser, text, title))
        return [each for each in examples if each.examples or not self._exclude_empty]

    doctest.DocTestFinder.find = find_with_program  # type: ignore[method-assign,assignment]


def _asked_examples(judge: Judge, parser: Any, text: str, title: str) -> Any:
    """Return the examples of a text of the program, which run where the program is."""
    sources: list[str] = []

    def run_example(number: int) -> None:
        sys.stdout.write(str(judge.ask("example", title, sources[number])))

    names = {"run_example": run_example, "__builtins__": builtins}
    test = parser.get_doctest(text, names, title, None, 0)
    for number, example in enumerate(test.examples):
        sources.append(example.source)
        example.source = f"run_example({number})\n"
    return test


class Tests:
    """The tests of one program, in the order of their plan."""

    def __init__(self, judge: Judge, planned: bytes) -> None:
        facts, self._setup, self._codes, self._check = marshal.loads(planned)
        self._judge = judge
        judge.show(facts["classes"])
        module = types.ModuleType("__main__")
        self._names = judge.names = vars(module)
        self._names["__builtins__"] = _Builtins(judge, facts)
        fences = _Fences(judge)
        self._names.update({"@failed": _failed, "@caught": fences.caught, "@asked": fences.asked})
        judge.scopes = [vars(builtins), self._names["__builtins__"]]
        sys.modules["__main__"] = module
        sys.modules["pytest"] = small_pytest.PYTEST
        # What it would run is collected afterwards.
        ran = types.SimpleNamespace(result=unittest.TestResult())
        vars(unittest)["main"] = lambda *_args, **_named: ran
        green.is_watched = True
        judge.may_stop = facts["may_stop"]
        shared.share(judge, facts["shared_words"])
        sys.meta_path.insert(0, _Importer(judge, facts["modules"]))
        judge.share(facts["shared"], facts["watched"], facts["offered"])
        judge.logs = facts["logs"]
        if facts["runs_examples"]:
            _find_examples_of(judge)

    def run_setup(self) -> str | None:
        """Run the setup; return why it failed, or None."""
        return self._outcome(lambda: self._execute(self._setup))

    def run(self) -> Iterator[tuple[str | None, str]]:
        """Run each test; yield why it failed, or None; and why it cannot be judged, or ""."""
        for code in self._codes:
            message = self._outcome(lambda: self._run(code))  # noqa: B023 - called at once
            yield message, self._judge.refused
            self._judge.refused = ""

    def _outcome(self, run: Callable[[], None]) -> str | None:
        self._judge.lost = []
        green.unread_errors()  # of a test before
        try:
            run()
            self._judge.raise_lost()
        except peer.Left as error:
            return str(error)
        except BaseException as error:  # whatever is raised fails the test
            return brief(error)
        return None

    def _run(self, code: types.CodeType | str) -> None:
        before = dict(self._names)
        try:
            self._execute(code)
        except SystemExit as error:
            # The tests' own may be `sys.exit(pytest.main())`: they are collected all the same.
            is_own = all(error is not each for each in self._judge.exits)
            if not is_own or error.code not in (0, None, False):
                raise
        if self._check is None:
            small_pytest.run_collected(self._names, before)
        elif "check" in self._names:
            self._execute(self._check)
        else:  # the program's own would be no judge
            raise NameError("name 'check' is not defined")

    def _execute(self, code: types.CodeType | str) -> None:
        if isinstance(code, str):
            raise _Broken(code)
        exec(code, self._names)


class _Repr(reprlib.Repr):
    """As `repr`, but short, and without asking an object of the program's for its text."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 200
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 30

    def shown(self, value: Any) -> str:
        return str(cut(self.repr(value)))

    def repr_int(self, value: int, level: int) -> str:
        if value.bit_length() > _SHOWN_BITS:
            return f"<an integer of {value.bit_length()} bits>"
        return super().repr_int(value, level)

    def repr_instance(self, value: Any, level: int) -> str:
        is_plain = isinstance(value, Mirror) or type(value) is float  # a NaN has a handle
        if handle_of(value) is not None and not is_plain:
            return f"<{type(value).__name__} object>"
        return super().repr_instance(value, level)


_REPR = _Repr()


class _Broken(Exception):
    """The test is no code; the text says why."""


def brief(error: BaseException) -> str:
    """Return an error in one short text."""
    try:
        if isinstance(error, _Broken):
            text = str(error)
        elif isinstance(error, SyntaxError) and error.lineno:
            text = "".join(traceback.format_exception_only(error)).strip()
        else:
            text = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    except Exception:  # its class is the program's or the tests' own
        text = type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()[:_MESSAGE_CHARS]
