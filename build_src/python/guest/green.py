"""Threads in an interpreter that has one: each gives way where it would block.

The main thread runs as it is. Another is a generator that yields what it waits for: those functions
of the program that may block are compiled once more, as their twins, where `f(x)` reads

    yield from .steps(.twin(f)(x))

so that a lock, a queue or a sleep deep down lets others run (`_Yielding`). What blocks in the
library is written as a generator below, and a plain function around it (`_blocking`). Where no
generator can be left, as in the main thread or below `sorted`, a wait runs the others on top of it
(`_drive`).
"""

import _threading_local
import ast
import asyncio
import builtins
import concurrent.futures
import copy
import functools
import linecache
import queue
import threading
import time
import types
import typing
from collections.abc import Callable, Generator
from typing import Any

Steps = Generator[tuple[Callable[[], Any], float | None], None, Any]

_FIRST_IDENT = 2  # the main thread has 1
_GENERATORS = 0x2A0  # the flags of generators and coroutines in a code object
_WAITS = {
    "acquire",
    "exception",
    "get",
    "join",
    "put",
    "result",
    "shutdown",
    "sleep",
    "wait",
    "wait_for",
}
_UNKNOWN = "?"
_CONSUMERS = {  # what takes all of a generator at once, or as much as decides it
    *("all", "any", "dict", "extend", "frozenset", "join", "list", "max", "min", "set", "sorted"),
    *("sum", "tuple"),
}
_LOOK_AT_CALLER = {"dir", "locals", "super", "vars"}  # where they are given no argument
_FILE = (lambda: 0).__code__.co_filename
_clock = time.monotonic
_native_sleep = time.sleep
_tasks: list["_Task"] = []  # started and not ended, in the order of their turns
_running: list["_Task"] = []  # whose code is on the stack; the last one runs
_twins: dict[types.FunctionType, Callable[..., Steps]] = {}  # what blocks, as generators
_codes: dict[types.CodeType, types.CodeType | None] = {}  # of functions: those of their twins
_twin_codes: set[int] = set()  # identities, of codes that live as long as the program
_MOST_TURNS = 1000  # of threads that tests leave behind
is_watched = False  # whether this is the interpreter of tests, which ask what went wrong
# Unread errors. The key is the id of the thread that ended with the error, or of the future that
# holds it. Thread and future are kept, so that no other object gets their id.
_unread: dict[int, tuple[Any, BaseException]] = {}
_expected: set[type[BaseException]] = set()  # errors that were read: more of a kind are no news


class _Task:
    """A started thread, and what it waits for."""

    def __init__(self, thread: threading.Thread) -> None:
        self.thread = thread
        self._steps = self._body()
        self._ready: Callable[[], Any] = lambda: True
        self.deadline: float | None = None

    def _body(self) -> Steps:
        try:
            yield from _steps(_twin(self.thread.run)())
        except SystemExit as error:
            note_unread(error, error)
        except BaseException as error:  # as Python does: of a thread the hook is told
            if threading.excepthook is threading.__excepthook__:
                note_unread(error, error)
            trace = error.__traceback__
            while trace and trace.tb_frame.f_code.co_filename == _FILE:
                trace = trace.tb_next
            told = [type(error), error.with_traceback(trace), trace, self.thread]
            threading.excepthook(threading.ExceptHookArgs(told))

    def can_run(self) -> bool:
        if self in _running:
            return False
        return bool(self._ready()) or (self.deadline is not None and _clock() >= self.deadline)

    def step(self) -> None:
        """Run until the thread waits again or ends; its next turn comes after all others."""
        _tasks.remove(self)
        _tasks.append(self)
        _running.append(self)
        try:
            self._ready, self.deadline = next(self._steps)
        except StopIteration:
            _tasks.remove(self)
            threading._active.pop(self.thread._ident, None)
        finally:
            _running.pop()


def _until(ready: Callable[[], Any], timeout: float | None = None) -> Steps:
    """Wait until `ready()`: True, or False after `timeout` seconds."""
    deadline = None if timeout is None else _clock() + timeout
    while not ready():
        if deadline is not None and _clock() >= deadline:
            return False
        yield ready, deadline
    return True


def _drive(steps: Steps) -> Any:
    """What the generator returns; while it waits, others run."""
    try:
        while True:
            _run_others(*next(steps))
    except StopIteration as end:
        return end.value


def _run_others(ready: Callable[[], Any], deadline: float | None) -> None:
    while not ready():
        if deadline is not None and _clock() >= deadline:
            return
        task = next((task for task in _tasks if task.can_run()), None)
        if task is not None:
            task.step()
            continue
        waits = [deadline, *(task.deadline for task in _tasks if task not in _running)]
        times = [moment for moment in waits if moment is not None]
        if not times:
            raise RuntimeError("deadlock: every thread waits for what no thread can do")
        _native_sleep(max(0.0, min(times) - _clock()))


def finish() -> None:
    """Run what is left of the threads that are no daemons, as Python does when it ends."""
    _drive(_until(lambda: all(task.thread.daemon for task in _tasks)))


def note_unread(owner: Any, error: BaseException) -> None:
    """Remember an error until somebody reads it."""
    if is_watched:
        _unread[id(owner)] = owner, error


def note_read(owner: Any) -> None:
    """Forget the error of a future that somebody reads."""
    if id(owner) in _unread:
        _expected.add(type(_unread.pop(id(owner))[1]))


def unread_errors() -> list[BaseException]:
    """Run the threads that need not wait. Return each unread error once."""
    for _ in range(_MOST_TURNS):
        task = next((each for each in _tasks if _is_due(each)), None)
        if task is None:
            break
        task.step()
    found = [error for _owner, error in _unread.values() if type(error) not in _expected]
    _unread.clear()
    _expected.clear()
    return found


def _is_due(task: _Task) -> bool:
    return not task.thread.daemon and task.can_run()


# --- functions as generators -------------------------------------------------------------------


def _blocking(steps: Callable[..., Steps]) -> Any:
    """The plain function of a generator, which blocks; threads take the generator."""

    @functools.wraps(steps)
    def plain(*args: Any, **options: Any) -> Any:
        return _drive(steps(*args, **options))

    _twins[plain] = steps
    _twin_codes.add(id(steps.__code__))
    return plain


def _twin(function: Any) -> Any:
    """What a thread calls instead: a function that makes a generator, if this one may block."""
    if isinstance(function, functools.partial):
        return functools.partial(_twin(function.func), *function.args, **function.keywords)
    if isinstance(function, types.MethodType):
        return types.MethodType(_twin(function.__func__), function.__self__)
    return (isinstance(function, types.FunctionType) and _twin_of(function)) or function


def _steps(result: Any) -> Any:
    """For `yield from`: the generator that a twin made, or nothing but the result of a function."""
    is_twin = type(result) is types.GeneratorType and id(result.gi_code) in _twin_codes
    return result if is_twin else _Result(result)


class _Result:
    """An iterator that ends at once, and so costs a traceback no frame."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __iter__(self) -> "_Result":
        return self

    def __next__(self) -> None:
        raise StopIteration(self._value)  # in no local: that would be a cycle, kept until `gc`


def _twin_of(function: types.FunctionType) -> Callable[..., Steps] | None:
    if function in _twins:
        return _twins[function]
    code = function.__code__
    if code not in _codes:
        _codes[code] = _twin_code(function)
        _twin_codes.add(id(_codes[code]))
    made = _codes[code]
    if made is None:
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells |= {f".{name}": types.CellType(helper) for name, helper in _HELPERS.items()}
    closure = tuple(cells[name] for name in made.co_freevars)
    twin = types.FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, closure
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


def _twin_code(function: types.FunctionType) -> types.CodeType | None:
    """The function's code with `yield from` at each call; None where there is no source."""
    code = function.__code__
    source = _read(code.co_filename)
    found = [node for node in ast.walk(source.tree) if _is_source_of(node, code)]
    if len(found) != 1 or code.co_name not in source.waits or code.co_flags & _GENERATORS:
        return None
    node = copy.deepcopy(found[0])
    body = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
    turned = _Yielding(function, source).body_of(body)
    names = (*(f".{name}" for name in _HELPERS), *code.co_freevars)
    made = compile(_nested(node.args, turned, names), code.co_filename, "exec", dont_inherit=True)
    for name in ("outer", "twin"):  # the function inside the function that has its free variables
        parts = [const for const in made.co_consts if isinstance(const, types.CodeType)]
        made = next(part for part in parts if part.co_name == name)
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _nested(arguments: ast.arguments, body: list[Any], names: tuple[str, ...]) -> ast.Module:
    """A function of these arguments and this body inside one whose locals are `names`."""
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [default and ast.Constant(None) for default in arguments.kw_defaults]
    outer = _function("outer", _parameters(*names), [_generator("twin", arguments, body)])
    return ast.fix_missing_locations(ast.Module([ast.copy_location(outer, body[-1])], []))


def _generator(name: str, arguments: ast.arguments, body: list[Any]) -> ast.FunctionDef:
    always = ast.Expr(ast.YieldFrom(ast.Tuple([], ast.Load())))  # though nothing in it may yield
    return _function(name, arguments, [always, *body])


def _function(name: str, arguments: ast.arguments, body: list[Any]) -> ast.FunctionDef:
    return ast.FunctionDef(name, arguments, body, [], type_params=[])


def _parameters(*names: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


class _Source(typing.NamedTuple):
    """A file of the program."""

    tree: ast.Module
    plain: set[str]  # names that surely stand for a function, class or module
    waits: set[str]  # names of functions that may block

    def may_wait(self, node: ast.AST) -> bool:
        return any(_called(part, self.plain) in self.waits for part in ast.walk(node))


@functools.cache
def _read(filename: str) -> _Source:
    known = linecache.cache.get(filename, ())  # one item where a traceback asked in vain
    tree = ast.parse("".join(known[2]) if len(known) > 2 else "")
    plain = set(vars(builtins))  # what may be called without a wait
    waits = {*_WAITS, _UNKNOWN}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            plain.add(node.name)
        elif isinstance(node, ast.alias):
            plain.add(node.asname or node.name)
            waits |= {node.asname} if node.asname and node.name in _WAITS else set()
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            waits.add(node.attr)  # it may be anything
    calls: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            made = calls.setdefault(getattr(node, "name", "<lambda>"), set())
            made |= {_called(part, plain) for part in ast.walk(node)}
    while grown := {name for name, made in calls.items() if made & waits} - waits:
        waits |= grown
    return _Source(tree, plain, waits)


def _called(node: ast.AST, plain: set[str]) -> str:
    """The name of what is called here; "" where nothing is."""
    if isinstance(node, ast.With):
        return _UNKNOWN
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    name = getattr(node.func, "id", _UNKNOWN)
    calls_another = name == "iter" and len(node.args) == 2
    return name if (name in plain or name in _WAITS) and not calls_another else _UNKNOWN


def _is_source_of(node: ast.AST, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        body = node.body
        place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
        return code.co_name == "<lambda>" and place in code.co_positions()
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) == code.co_firstlineno


class _Yielding(ast.NodeTransformer):
    """Calls and `with` of one function as `yield from`; functions inside it are left as they are.

    A comprehension that may wait becomes a call of a local generator function, as it was one before
    Python 3.12: `[f(x) for x in xs]` is `yield from .0(xs)`, where `.0` loops.
    """

    def __init__(self, function: types.FunctionType, source: _Source) -> None:
        code = function.__code__
        self._owner = "".join(code.co_qualname.split(".")[-2:-1]).lstrip("_")
        local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self._shadowed = local | set(function.__globals__)
        self._source = source
        self._globals: set[str] = set()
        self._made: list[ast.stmt] = []  # the functions of comprehensions
        self._bound: set[str] = set()  # by `:=` in comprehensions
        self._count = 0

    def body_of(self, body: list[Any]) -> list[Any]:
        parts = [part for statement in body for part in ast.walk(statement)]
        self._globals.update(*(part.names for part in parts if isinstance(part, ast.Global)))
        turned = self._visited(body)
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in sorted(self._bound)]
        binding = ast.Assign(targets, ast.Constant(None))  # never runs, makes the names local
        return [*turned, ast.If(ast.Constant(0), [binding], [])] if targets else turned

    def _visited(self, body: list[Any]) -> list[Any]:
        """The statements, after the functions of their comprehensions."""
        around, self._made = self._made, []
        block = self.visit(ast.Module(body, []))
        made, self._made = self._made, around
        return [*made, *block.body]

    def _left(self, node: Any) -> Any:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                part.attr = self._mangled(part.attr)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _left
    visit_GeneratorExp = _left

    def _mangled(self, name: str) -> str:
        is_private = self._owner and name.startswith("__") and not name.endswith("__")
        return f"_{self._owner}{name}" if is_private else name

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in _CONSUMERS - self._shadowed and [*map(type, node.args)][:1] == [
            ast.GeneratorExp
        ]:
            items: Any = node.args[0]
            if name in ("all", "any") and self._can_turn(items):
                return self._turned(items, *_until_found(items.elt, name == "any"))
            if self._can_turn(items):
                node.args[0] = ast.copy_location(ast.ListComp(items.elt, items.generators), items)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id):
            return node  # such as super() and locals(), which look at their caller
        twin = ast.Call(_name(".twin"), [node.func], [])
        call = ast.copy_location(ast.Call(twin, node.args, node.keywords), node)
        steps = ast.Call(_name(".steps"), [call], [])
        return ast.copy_location(ast.YieldFrom(ast.copy_location(steps, node)), node)

    def _comprehension(self, node: Any) -> Any:
        return self._turned(node, *_collecting(node)) if self._can_turn(node) else self._left(node)

    visit_ListComp = visit_SetComp = visit_DictComp = _comprehension

    def _can_turn(self, node: Any) -> bool:
        bare = [
            part.func for part in ast.walk(node) if isinstance(part, ast.Call) and not part.args
        ]
        names = {getattr(function, "id", "") for function in bare}
        is_async = any(generator.is_async for generator in node.generators)
        return self._source.may_wait(node) and not is_async and not names & _LOOK_AT_CALLER

    def _turned(self, node: Any, before: list[Any], body: list[Any], result: ast.expr) -> Any:
        """A call of the function that does `body` for each item, between `before` and `result`."""
        name = f".{self._count}"
        self._count += 1
        first = self.visit(node.generators[0].iter)  # evaluated outside
        node.generators[0].iter = _name(".items")
        for generator in reversed(node.generators):
            for test in reversed(generator.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(generator.target, generator.iter, body, [])]
        body = self._visited([*self._scopes(node), *before, *body, ast.Return(result)])
        function = _generator(name, _parameters(".items"), body)
        self._made.append(ast.fix_missing_locations(ast.copy_location(function, node)))
        call = ast.YieldFrom(ast.Call(_name(name), [first], []))
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _scopes(self, node: ast.AST) -> list[ast.stmt]:
        """What makes `:=` in a comprehension bind the names of the function around it."""
        targets = [part.target for part in ast.walk(node) if isinstance(part, ast.comprehension)]
        own = {part.id for target in targets for part in ast.walk(target) if hasattr(part, "id")}
        bound = {part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)} - own
        self._bound |= bound - self._globals
        kinds = ((ast.Nonlocal, bound - self._globals), (ast.Global, bound & self._globals))
        return [kind(sorted(names)) for kind, names in kinds if names]

    def visit_For(self, node: ast.For) -> Any:
        """`for x in iter(f, end)` calls `f` in a `while`, where it can wait."""
        call = node.iter
        is_calling = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "iter"
        if not is_calling or len(call.args) != 2 or "iter" in self._shadowed:
            return self.generic_visit(node)
        function, end, item = (f".{part}{self._count}" for part in ("call", "end", "item"))
        self._count += 1
        given = ast.Assign([_tuple(ast.Store(), function, end)], ast.Tuple(call.args, ast.Load()))
        next_item = ast.NamedExpr(ast.Name(item, ast.Store()), ast.Call(_name(function), [], []))
        is_end = ast.Compare(
            _tuple(ast.Load(), end), [ast.Eq()], [ast.Tuple([next_item], ast.Load())]
        )
        body = [ast.Assign([node.target], _name(item)), *node.body]
        loop = ast.While(ast.UnaryOp(ast.Not(), is_end), body, node.orelse)
        places = [ast.copy_location(part, node) for part in (given, loop)]
        return [self.generic_visit(ast.fix_missing_locations(part)) for part in places]

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        for item in node.items:
            call = ast.Call(_name(".enter"), [item.context_expr], [])
            item.context_expr = ast.copy_location(ast.YieldFrom(call), item.context_expr)
        return node


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _tuple(context: ast.expr_context, *names: str) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def _collecting(node: Any) -> tuple[list[Any], list[Any], ast.expr]:
    """How a comprehension begins, what it does for each item, and its result."""
    empty: ast.expr
    one: ast.expr
    if isinstance(node, ast.DictComp):
        empty, one = ast.Dict([], []), ast.Dict([node.key], [node.value])
    elif isinstance(node, ast.SetComp):
        empty = ast.Set([ast.Starred(ast.Tuple([], ast.Load()), ast.Load())])
        one = ast.Set([node.elt])
    else:
        empty, one = ast.List([], ast.Load()), ast.List([node.elt], ast.Load())
    operator = ast.Add() if isinstance(node, ast.ListComp) else ast.BitOr()
    into = ast.Name(".result", ast.Store())
    return [ast.Assign([into], empty)], [ast.AugAssign(into, operator, one)], _name(".result")


def _until_found(item: ast.expr, wanted: bool) -> tuple[list[Any], list[Any], ast.expr]:
    """The same for `any` (an item that is true is wanted) and `all`."""
    test = item if wanted else ast.UnaryOp(ast.Not(), item)
    return [], [ast.If(test, [ast.Return(ast.Constant(wanted))], [])], ast.Constant(not wanted)


def _enter(manager: Any) -> Steps:
    if not isinstance(manager, (Lock, threading.Condition, threading.Semaphore)):
        return manager
    yield from _steps(_twin(manager.acquire)())
    return _Held(manager)


class _Held:
    """A lock that a `with` has taken."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *error: object) -> None:
        self._lock.release()


_HELPERS = {"twin": _twin, "steps": _steps, "enter": _enter}

# --- what blocks -------------------------------------------------------------------------------


class Lock:
    """`threading.Lock`."""

    def __init__(self) -> None:
        self._holder: int | None = None
        self._depth = 0

    def _is_free(self) -> bool:
        return self._holder is None

    @_blocking
    def acquire(self, blocking: bool = True, timeout: float = -1) -> Steps:
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if blocking and not self._is_free():
            seconds = timeout if _tasks else 0  # alone, nobody could release it meanwhile
            yield from _until(self._is_free, None if timeout == -1 else seconds)
        if not self._is_free():
            return False
        self._holder = get_ident()
        self._depth += 1
        return True

    def release(self) -> None:
        if self._holder is None:
            raise RuntimeError("release unlocked lock")
        self._depth -= 1
        if self._depth == 0:
            self._holder = None

    def locked(self) -> bool:
        return self._holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._holder, self._depth = None, 0

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"


class RLock(Lock):
    """`threading.RLock`."""

    def _is_free(self) -> bool:
        return self._holder is None or self._holder == get_ident()

    def _is_owned(self) -> bool:
        return self._holder == get_ident()

    def release(self) -> None:
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        super().release()

    def _release_save(self) -> int:
        depth, self._depth, self._holder = self._depth, 0, None
        return depth

    def _acquire_restore(self, depth: int) -> None:
        self._depth, self._holder = depth, get_ident()


@_blocking
def _wait(self: Any, timeout: float | None = None) -> Steps:
    if not self._is_owned():
        raise RuntimeError("cannot wait on un-acquired lock")
    waiter = Lock()
    waiter.acquire()
    self._waiters.append(waiter)
    saved = self._release_save()
    told = yield from _until(waiter._is_free, timeout)
    if not told:
        self._waiters.remove(waiter)
    lock = self._lock
    yield from _until(lock._is_free)
    self._acquire_restore(saved)
    return told


@_blocking
def _wait_for(self: Any, predicate: Callable[[], Any], timeout: float | None = None) -> Steps:
    end = None if timeout is None else _clock() + timeout
    while not (result := (yield from _steps(_twin(predicate)()))):
        left = None if end is None else end - _clock()
        if left is not None and left <= 0:
            break
        yield from _twins[_wait](self, left)
    return result


@_blocking
def _wait_event(self: Any, timeout: float | None = None) -> Steps:
    yield from _until(self.is_set, timeout)
    return self.is_set()


@_blocking
def _acquire_semaphore(self: Any, blocking: bool = True, timeout: float | None = None) -> Steps:
    if not blocking and timeout is not None:
        raise ValueError("can't specify timeout for non-blocking acquire")
    yield from _until(lambda: self._value > 0, timeout if blocking else 0)
    if self._value == 0:
        return False
    self._value -= 1
    return True


@_blocking
def _wait_barrier(self: Any, timeout: float | None = None) -> Steps:
    yield from _until(lambda: self._state in (0, -2))  # 0 filling, 1 draining, -2 broken
    if self._state == -2:
        raise threading.BrokenBarrierError
    index = self._count
    self._count += 1
    if self._count == self._parties:
        if self._action:
            yield from _steps(_twin(self._action)())
        self._state = 1
    elif not (yield from _until(lambda: self._state != 0, timeout or self._timeout)):
        self._state = -2
    self._count -= 1
    if self._state < 0:
        raise threading.BrokenBarrierError
    if self._count == 0:
        self._state = 0
    return index


@_blocking
def _get(self: Any, block: bool = True, timeout: float | None = None) -> Steps:
    if block and timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    yield from _until(lambda: self._qsize() or self.is_shutdown, timeout if block else 0)
    if not self._qsize():
        raise queue.ShutDown if self.is_shutdown else queue.Empty
    return self._get()


@_blocking
def _put(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> Steps:
    if block and timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    has_room = lambda: self.maxsize <= 0 or self._qsize() < self.maxsize or self.is_shutdown  # noqa: E731
    yield from _until(has_room, timeout if block else 0)
    if self.is_shutdown:
        raise queue.ShutDown
    if not has_room():
        raise queue.Full
    self._put(item)
    self.unfinished_tasks += 1


@_blocking
def _join_queue(self: Any) -> Steps:
    yield from _until(lambda: not self.unfinished_tasks)


@_blocking
def _get_simple(self: Any, block: bool = True, timeout: float | None = None) -> Steps:
    if not (yield from _twins[_acquire_semaphore](self._count, block, timeout if block else None)):
        raise queue.Empty
    return self._queue.popleft()


@_blocking
def _sleep(seconds: float, /) -> Steps:
    seconds = float(seconds)
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    if not _tasks:
        _native_sleep(seconds)
    else:
        end = _clock() + seconds
        yield (lambda: _clock() >= end), end


# --- threads and pools -------------------------------------------------------------------------


def get_ident() -> int:
    return _running[-1].thread._ident if _running else 1


def _current_thread() -> Any:
    return _running[-1].thread if _running else threading.main_thread()


def _start(thread: Any) -> None:
    """Run the thread until it waits for something, which is what Python does in most cases."""
    if thread._started.is_set():
        raise RuntimeError("threads can only be started once")
    thread._started.set()
    _start.last += 1
    thread._ident = thread._native_id = _start.last
    threading._active[thread._ident] = thread
    thread._os_thread_handle = types.SimpleNamespace(is_done=lambda: not _has_task(thread))
    task = _Task(thread)
    _tasks.append(task)
    task.step()


_start.last = _FIRST_IDENT - 1


@_blocking
def _run(self: Any) -> Steps:
    if self._target is not None:
        yield from _steps(_twin(self._target)(*self._args, **self._kwargs))


@_blocking
def _run_timer(self: Any) -> Steps:
    if not (yield from _twins[_wait_event](self.finished, self.interval)):
        yield from _steps(_twin(self.function)(*self.args, **self.kwargs))
    self.finished.set()


@_blocking
def _join(self: Any, timeout: float | None = None) -> Steps:
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if self is _current_thread():
        raise RuntimeError("cannot join current thread")
    yield from _until(lambda: not _has_task(self), None if timeout is None else max(timeout, 0))


def _has_task(thread: Any) -> bool:
    return any(task.thread is thread for task in _tasks)


def _is_alive(thread: Any) -> bool:
    """A program that asks again and again waits: each time somebody else has a turn."""
    task = next((task for task in _tasks if task.can_run()), None)
    if task is not None and not _running:
        task.step()
    return thread is threading.main_thread() or _has_task(thread)


def _submit(pool: Any, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    if pool._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    vars(pool).setdefault("_futures", []).append(future)
    slots = vars(pool).setdefault("_slots", [])  # the numbers of busy workers

    @_blocking
    def work() -> Steps:
        yield from _until(lambda: len(slots) < pool._max_workers)
        slot = min(set(range(pool._max_workers)) - set(slots))
        slots.append(slot)
        _current_thread().name = f"{pool._thread_name_prefix or 'ThreadPoolExecutor-0'}_{slot}"
        if future.set_running_or_notify_cancel():
            try:
                future.set_result((yield from _steps(_twin(fn)(*args, **options))))
            except BaseException as error:  # it belongs to whoever asks for the result
                note_unread(future, error)
                future.set_exception(error)
        slots.remove(slot)

    vars(pool).setdefault("_started", []).append(worker := threading.Thread(target=work))
    worker.start()
    return future


@_blocking
def _shutdown(pool: Any, wait: bool = True, *, cancel_futures: bool = False) -> Steps:
    pool._shutdown = True
    for future in vars(pool).get("_futures", ()) if cancel_futures else ():
        future.cancel()
    workers = vars(pool).get("_started", [])
    if wait:
        yield from _until(lambda: not any(map(_has_task, workers)))


_plain_result = concurrent.futures.Future.result
_plain_exception = concurrent.futures.Future.exception


@_blocking
def _result(self: Any, timeout: float | None = None) -> Steps:
    yield from _until(self.done, timeout)
    note_read(self)
    return _plain_result(self, 0)


@_blocking
def _exception(self: Any, timeout: float | None = None) -> Steps:
    yield from _until(self.done, timeout)
    note_read(self)
    return _plain_exception(self, 0)


_plain_handler = asyncio.BaseEventLoop.default_exception_handler


def _handle_exception(loop: Any, context: dict[str, Any]) -> None:
    """Record the error of a callback, or of a task that was never awaited."""
    error = context.get("exception")
    if error is not None:
        note_unread(error, error)
    _plain_handler(loop, context)


def install() -> None:
    """Replace the standard library's threads, locks, queues and futures by those of this module."""
    threading.Lock = threading._allocate_lock = Lock
    threading.RLock = threading._RLock = threading._CRLock = threading._PyRLock = RLock
    _threading_local.RLock, _threading_local.current_thread = RLock, _current_thread
    threading.local = _threading_local.local
    threading.get_ident = threading.get_native_id = get_ident
    threading.current_thread = threading.currentThread = _current_thread
    threading.main_thread()._ident = 1
    threading._active.clear()
    threading._active[1] = threading.main_thread()
    replaced: list[tuple[Any, dict[str, Any]]] = [
        (threading.Thread, {"start": _start, "run": _run, "join": _join, "is_alive": _is_alive}),
        (threading.Timer, {"run": _run_timer}),
        (threading.Condition, {"wait": _wait, "wait_for": _wait_for}),
        (threading.Event, {"wait": _wait_event}),
        (threading.Semaphore, {"acquire": _acquire_semaphore, "__enter__": _acquire_semaphore}),
        (threading.Barrier, {"wait": _wait_barrier}),
        (queue.Queue, {"get": _get, "put": _put, "join": _join_queue}),
        (queue._PySimpleQueue, {"get": _get_simple}),
        (concurrent.futures.ThreadPoolExecutor, {"submit": _submit, "shutdown": _shutdown}),
        (concurrent.futures.Future, {"result": _result, "exception": _exception}),
        (asyncio.BaseEventLoop, {"default_exception_handler": _handle_exception}),
        (time, {"sleep": _sleep}),
    ]
    queue.SimpleQueue = queue._PySimpleQueue
    for place, members in replaced:
        for name, function in members.items():
            setattr(place, name, function)
    threading.stack_size = lambda size=0: 0  # noqa: ARG005 - the signature of what is replaced


def set_nap(nap: Callable[[float], None]) -> None:
    """`nap` sleeps outside."""
    global _native_sleep
    _native_sleep = nap
