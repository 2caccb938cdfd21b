"""The program inside the sandbox: runs source text and its tests, and reports how they ended.

componentize-py imports this file, then stores the memory of the interpreter: everything down here
at top level happens once, at build time.
"""

import array
import atexit
import builtins
import gc
import linecache
import logging
import multiprocessing.util
import os
import pickle
import random
import sys
import traceback
import types
import unittest.mock

import library

library.load()

import green  # noqa: E402 - patches what was just loaded, as the next do
import immortal  # noqa: E402
import judge  # noqa: E402
import peer  # noqa: E402
import plain  # noqa: E402, F401 - as `shown` and `small_pytest`, for `judge`
import pools  # noqa: E402
import served  # noqa: E402
import shared  # noqa: E402, F401
import shown  # noqa: E402, F401
import small_pytest  # noqa: E402, F401
import stand_ins  # noqa: E402
import surroundings  # noqa: E402
import values  # noqa: E402, F401
import wit_world  # noqa: E402

_OURS = (
    *("app", "green", "immortal", "judge", "library", "peer", "plain", "pools", "served", "shown"),
    *("shared", "small_pytest", "stand_ins", "surroundings", "values", "wit_world"),
)
_PROGRAM = "program.py"
_C_LONG_BITS = 64  # an exit code beyond what C can hold is 255
_RECURSION_LIMIT = 1000 + 10  # what Python gives, and a few frames of ours

green.set_nap(wit_world.nap)
green.install()
surroundings.install(wit_world.leave)
pools.install()

# Programs may change the public builtins; the functions below keep these, and tests get them back.
__builtins__ = dict(vars(builtins))


class _Streams:
    """The program's output, flushed through references that the program has not been handed."""

    def __init__(self) -> None:
        self._pipes = [surroundings.Pipe(fd, wit_world.emit) for fd in (1, 2)]
        self._texts = [surroundings.text_stream(pipe) for pipe in self._pipes]
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self._texts
        surroundings.set_output(self._pipes)

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, *self._texts):
            try:
                stream.flush()
            except BaseException:  # whatever the program put there, or closed
                continue
        for pipe in self._pipes:
            pipe.send(final=True)

    def error(self, text: str) -> None:
        """Text for stderr, after all that was printed, whatever became of `sys.stderr`."""
        self.flush()
        wit_world.emit(2, text.encode("utf-8", "backslashreplace").decode())


class _Run:
    """One program in its namespace."""

    def __init__(self, name: str, streams: _Streams) -> None:
        self.module = types.ModuleType(name)
        self.names = vars(self.module)
        self.names["__builtins__"] = builtins
        self.names["__file__"] = _PROGRAM
        sys.modules[name] = self.module
        self.out_of_memory = False
        self._streams = streams

    def execute(self, source: str, filename: str) -> None:
        """Run source text in the namespace, with its lines known to tracebacks."""
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compile(source, filename, "exec", dont_inherit=True), self.names)

    def program(self, code: str, filename: str) -> int | None:
        """The exit code of the program when it exits or fails; None when it runs to its end."""
        try:
            self.execute(code, filename)
        except SystemExit as leaving:
            return self._exit_code(leaving)
        except BaseException as error:  # whatever the program raises ends it
            self._uncaught(error)
            return 1
        return None

    def _uncaught(self, error: BaseException) -> None:
        hook = sys.excepthook
        if hook is not sys.__excepthook__:
            try:
                return hook(type(error), error, error.with_traceback(_theirs(error)))
            except BaseException as another:  # as Python does, show both
                self._streams.error("Error in sys.excepthook:\n" + self._traceback(another))
        self._streams.error(self._traceback(error))

    def threads(self) -> int:
        """Run what is left of the threads. Returns 1 where they wait for one another, else 0."""
        try:
            green.finish()
        except BaseException as error:  # the same of its threads
            self._uncaught(error)
            return 1
        return 0

    def leave(self) -> None:
        """What Python does as it ends: exit functions, then the finalisers of the globals.

        All else is left as it is: to take down a deep structure may exhaust the stack.
        """
        try:
            atexit._run_exitfuncs()
            for name in [name for name, value in self.names.items() if _has_finaliser(value)]:
                self.names.pop(name)
        except BaseException:  # the program may have put anything in these places
            return

    def _exit_code(self, leaving: SystemExit) -> int:
        code = leaving.code
        if code is None:
            return 0
        if isinstance(code, int):
            return int.__and__(code, 0xFF) if int.bit_length(code) < _C_LONG_BITS else 0xFF
        self._streams.error(f"{code}\n")
        return 1

    def _traceback(self, error: BaseException) -> str:
        self._note(error)
        try:
            return "".join(traceback.format_exception(error.with_traceback(_theirs(error))))
        except BaseException:  # the exception is the program's own class, and may be hostile
            return f"{type(error).__name__}\n"

    def _note(self, error: BaseException) -> None:
        if isinstance(error, MemoryError) and not error.args:  # with a text: nested too deeply
            self.out_of_memory = True
            traceback.clear_frames(error.__traceback__)  # what it filled is needed to report it
            gc.collect()


def _has_finaliser(value: object) -> bool:
    return isinstance(value, types.GeneratorType) or hasattr(type(value), "__del__")


def _theirs(error: BaseException) -> types.TracebackType | None:
    """The traceback without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


_streams: list[_Streams] = []  # those of the next run: to make them takes time


class WitWorld(wit_world.WitWorld):
    """The exported world."""

    def run(
        self, code: str, stdin: bytes | None, is_tested: bool, steps: bytes, seed: int | None
    ) -> wit_world.Report:
        global _peer
        streams = _prepared(stdin or b"", seed)
        run = _Run("program" if is_tested else "__main__", streams)
        exit_code = run.program(code, _PROGRAM)
        if is_tested and exit_code is None:
            _peer = program = served.Program(wit_world.exchange, run.names, code)
            program.scopes = [vars(builtins)]
            program.evaluate(steps, wit_world.is_going_on)
        if not is_tested:
            exit_code = run.threads() or exit_code
            run.leave()
        streams.flush()
        return wit_world.Report(exit_code or 0, run.out_of_memory, exit_code is not None)

    def plan(
        self,
        setup: str,
        tests: list[str],
        entry_point: str,
        modules: list[str],
        kind: str,
    ) -> wit_world.TestsPlan:
        planned = judge.plan(setup, tests, entry_point, modules, kind)
        return wit_world.TestsPlan(*planned)

    def judge(self, plan: bytes, seed: int | None) -> wit_world.Report:
        global _peer
        streams = _prepared(b"", seed)
        _peer = judge.Judge(wit_world.exchange)
        tests = judge.Tests(_peer, plan)
        failed = tests.run_setup()
        if failed is not None:
            streams.error(f"{failed}\n")
        else:
            for message, refused in tests.run():
                passed = message is None and not refused
                wit_world.verdict(passed, refused or message or "", bool(refused))
        streams.flush()
        has_failed = failed is not None
        return wit_world.Report(has_failed, False, has_failed)

    def answer(self, message: str) -> str:
        return _peer.answer(message)


_peer: peer.Peer
_seed = random.seed


def _prepared(stdin: bytes, seed: int | None) -> _Streams:
    """Make the surroundings of a run; return its streams."""
    sys.argv = [_PROGRAM]
    random.seed = _seed
    # Without a number it would read 2,500 bytes of randomness.
    _seed(int.from_bytes(os.urandom(32)) if seed is None else seed)
    surroundings.set_stdin(stdin)
    for name in _OURS:
        sys.modules.pop(name, None)
    return _streams.pop()


# Typical programs, run at build time, so that every run starts with what they leave behind: the
# interpreter has then specialised the code of ours and of the library that they go through, and has
# filled its caches. A run would write all that into the snapshot, and copy a page for each place.
_TYPICAL: tuple[str, ...] = (
    "import math, collections\nprint('hello', f'{math.pi:.2f}', sep='-')\nprint()",
    "def f(x):\n    return x / 0\n\ntry:\n    f(2)\nexcept ValueError:\n    pass",
    "import sys\nfrom typing import List, Optional\nfrom collections import Counter, deque\n"
    "class Node:\n    def __init__(self, x: int, next: Optional[int] = None) -> None:\n"
    "        self.x, self.next = x, next\n\ndef solve(xs: List[int]) -> int:\n"
    "    seen = {x: Node(x) for x in sorted(set(xs), key=lambda x: -x)}\n"
    "    return sum(node.x for node in seen.values())\n\n"
    "if __name__ == '__main__':\n    n, *xs = map(int, input().split())\n"
    "    print(solve(xs), *sys.stdin.read().split(), Counter(xs).most_common(1))",
)
_TESTED = "def f(x):\n    return [2 * i for i in x]\n\nclass C:\n    def m(self):\n        return 1"
_TESTS = [
    "assert f([1, 2]) == [2, 4]",
    "assert f([1]) == [3]",
    "assert C().m() == 1",
    "raise AssertionError('no')",
    "int('x')",
    "def test_f():\n    assert f([]) == []",
    "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"
    "        self.assertEqual(f([1]), [2])\n        with self.assertRaises(TypeError):\n"
    "            f(None)",
    "import pytest\nfrom solution import f\n@pytest.mark.parametrize('x', [[1], [2]])\n"
    "def test_x(x):\n    with pytest.raises(TypeError):\n        f(x[0])",
]
_WARM_ROUNDS = 30  # the interpreter specialises what has run some times


def _warm_up() -> None:
    """Run the typical programs with nobody to hear them, and take back what they changed."""
    modules, told, leave = sys.modules.copy(), vars(wit_world).copy(), atexit._run_exitfuncs
    names = "stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"
    streams = {name: getattr(sys, name) for name in names}
    wit_world.emit = wit_world.verdict = lambda *_told: None
    wit_world.is_going_on = lambda _told: True
    atexit._run_exitfuncs = _leave_library
    world = WitWorld()
    for _ in range(_WARM_ROUNDS):
        for code in _TYPICAL:
            _streams.append(_Streams())
            world.run(code, b"3 1 2\n3\n", False, b"", None)
        _warm_up_tests(world)
    vars(wit_world).update(told)
    vars(sys).update(streams)
    atexit._run_exitfuncs = leave
    sys.modules.clear()
    sys.modules.update(modules)
    surroundings.close()
    linecache.clearcache()


def _warm_up_tests(world: WitWorld) -> None:
    """Run tests of a program with both sides in this interpreter."""
    global _peer
    _streams.append(_Streams())
    planned = world.plan("", [*_TESTS[:2]], "", ["solution"], "tests")
    world.run(_TESTED, None, True, planned.code, None)
    program = _peer
    finders = [*sys.meta_path]
    main, pickling = unittest.main, vars(pickle).copy()

    def exchange(message: str) -> str:
        global _peer
        tests, _peer = _peer, program
        stand_ins.Mirror.peer = program
        try:
            return world.answer(message)
        finally:
            _peer = stand_ins.Mirror.peer = tests

    wit_world.exchange = exchange
    _streams.append(_Streams())
    world.judge(world.plan("", [*_TESTS], "", ["solution"], "tests").code, None)
    sys.meta_path[:] = finders
    unittest.main = main
    vars(pickle).update(pickling)
    green.is_watched = False


def _leave_library() -> None:
    """What `atexit._run_exitfuncs` calls for the library, but so that it can be called again."""
    logging.shutdown()
    logging.lastResort._closed = False
    multiprocessing.util._exit_function()
    multiprocessing.util._exiting = False


def _reachable_objects() -> list[object]:
    """Return each object that the interpreter's own objects lead to, once.

    The list keeps them: none may be freed before the memory is stored.
    """
    reachable = gc.get_objects()
    seen = set(map(id, reachable))
    for each in reachable:  # which grows
        parts = gc.get_referents(each)
        if isinstance(each, types.CodeType):
            parts += (each.co_consts, each.co_names, each.co_name, each.co_qualname)
            parts += (each.co_filename, each.co_linetable, each.co_exceptiontable)
            parts += each.co_varnames + each.co_cellvars + each.co_freevars
        elif isinstance(each, types.FunctionType | type):
            parts.append(each.__qualname__)
        for part in parts:
            if id(part) not in seen:
                seen.add(id(part))
                reachable.append(part)
    return reachable


sys.path.clear()
sys.path_importer_cache.clear()
os.environ.clear()
sys.setrecursionlimit(_RECURSION_LIMIT)
linecache.checkcache = lambda filename=None: None  # noqa: ARG005 - there are no files to look at
_warm_up()
_streams.append(_Streams())
# componentize-py calls it, without a number, at the start of each run.
random.seed = lambda: None
gc.collect()
_reachable = _reachable_objects()
gc.freeze()
# Where the linker finds that list in the stored memory; see `immortal.py`. The words are no
# constants of the code, so the memory holds them in this order in one place only.
_locator = array.array("I", [*immortal.MARK, id(_reachable)])
_zeros = [bytes(1 << 16) for _ in range(96)]  # over what was freed: zeros are not stored
del _zeros
