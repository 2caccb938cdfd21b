"""A session keeps its state, within its limits; what one does reaches no other and no verdict."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest

from infinite_rl.errors import SandboxError, UnknownName, UsageError
from infinite_rl.layout import tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.python.session import PythonInterpreter
from infinite_rl.sandbox.session import SessionLimits, ToolSession
from infinite_rl.types import Sample

SHORT = SessionLimits(turn_s=0.3, memory_mb=64)
LANGUAGES = ("python", "javascript", "sql")
# A turn that stores 6, one that adds 1 to it, and one that shows it.
STORE = {
    "python": "x = 6",
    "javascript": "let x = 6",
    "sql": "CREATE TABLE t(x); INSERT INTO t VALUES(6)",
}
ADD = {"python": "x += 1", "javascript": "x += 1; undefined", "sql": "UPDATE t SET x = x + 1"}
SHOW = {"python": "x", "javascript": "x", "sql": "SELECT x FROM t"}
LOOPS = {
    "python": "while True: pass",
    "javascript": "while (true);",
    "sql": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
}
FLOODS = {
    "python": "while True: print('x' * 1000)",
    "javascript": "while (true) console.log('x'.repeat(1000))",
    "sql": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
}
BOMBS = {
    "python": "hoard = []\nwhile True: hoard.append('x' * 1_000_000)",
    "javascript": "var hoard = []; while (true) hoard.push(new Uint8Array(1000000))",
    "sql": "INSERT INTO t SELECT zeroblob(100000000)",
}


def shown(session: ToolSession) -> str:
    return session.run(SHOW[session.language]).value.split("\n")[-1]


@pytest.mark.core
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_session_keeps_its_state_and_a_fork_goes_its_own_way(language: str) -> None:
    with ToolSession(language) as session:
        session.run(STORE[language])
        snapshot = session.snapshot()
        session.run(ADD[language])
        with session.fork() as fork, snapshot.open() as earlier:
            fork.run(ADD[language])
            assert [shown(each) for each in (session, fork, earlier)] == ["7", "8", "6"]
            assert shown(session) == "7"
            assert (session.turns, fork.turns, earlier.turns) == (4, 4, 2)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_error_of_the_code_is_said_and_the_session_continues(language: str) -> None:
    wrong = {"python": "1 / 0", "javascript": "throw new Error('no')", "sql": "SELEC"}
    said = {"python": "ZeroDivisionError", "javascript": "Error: no", "sql": "syntax error"}
    with ToolSession(language) as session:
        session.run(STORE[language])
        turn = session.run(wrong[language])
        assert (turn.status, session.ended) == ("error", "")
        assert said[language] in turn.text
        assert shown(session) == "6"


@pytest.mark.parametrize("stop", [LOOPS, FLOODS], ids=["loop", "flood"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_never_ends_ends_its_session_which_says_so_and_others_go_on(
    language: str, stop: dict[str, str]
) -> None:
    with ToolSession(language, SHORT) as session, ToolSession(language) as other:
        session.run(STORE[language])
        other.run(STORE[language])
        turn = session.run(stop[language])
        assert turn.status == "timeout"
        assert "The session has ended, and its state is lost" in turn.text
        assert len(turn.text) < 3 * SHORT.output_chars
        again = session.run(SHOW[language])
        assert (again.status, again.value) == ("ended", "")
        assert "timed out" in again.text or "time limit" in again.text
        assert shown(other) == "6"
        with pytest.raises(UsageError, match="the session has ended"):
            session.fork()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_memory_bomb_is_refused_at_the_limit_and_others_go_on(language: str) -> None:
    limits = SessionLimits(turn_s=20, memory_mb=64)
    with ToolSession(language, limits) as session, ToolSession(language, limits) as other:
        session.run(STORE[language])
        other.run(STORE[language])
        assert session.run(BOMBS[language]).status == "memory"
        assert shown(session) == "6"
        assert shown(other) == "6"


@pytest.mark.parametrize("language", LANGUAGES)
def test_output_is_cut_and_the_turn_still_ends(language: str) -> None:
    much = {
        "python": "print('x' * 500)\nx",
        "javascript": "console.log('x'.repeat(500)); x",
        "sql": "SELECT printf('%500d', x) FROM t",
    }
    with ToolSession(language, SessionLimits(output_chars=100)) as session:
        session.run(STORE[language])
        turn = session.run(much[language])
        assert (turn.status, turn.is_cut) == ("ok", True)
        assert len(turn.stdout) + len(turn.value) <= 200
        assert turn.text.endswith("[the output was cut]")
        assert not session.run(SHOW[language]).is_cut


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_an_error_is_told_after_output_that_is_cut(language: str) -> None:
    much = {
        "python": "print('x' * 500)\nraise ValueError('no')",
        "javascript": "console.log('x'.repeat(500)); throw new Error('no')",
    }
    with ToolSession(language, SessionLimits(output_chars=200)) as session:
        turn = session.run(much[language])
    assert (turn.status, turn.is_cut, len(turn.stdout)) == ("error", True, 200)
    assert "Error: no" in turn.error


def test_turns_and_time_are_counted_and_a_fork_has_used_as_much() -> None:
    with ToolSession("python", SessionLimits(turns=2)) as session:
        session.run("x = 1")
        with session.fork() as fork:
            assert fork.run("x").value == "1"
            assert fork.run("x").text == "The session has ended: all 2 turns are used."
    with ToolSession("python", SessionLimits(turn_s=5, total_s=0.2)) as session:
        assert session.run("while True: pass").status == "timeout"
        assert session.run("1").status == "ended"
    with ToolSession("python", SessionLimits(code_chars=10)) as session:
        assert "longer than 10" in session.run("x = 'abcdefgh'").text


# --- isolation -----------------------------------------------------------------------------------
# What one session does, and what another then shows.
PYTHON_LEAKS = {
    "globals": ("secret = 1", "'secret' in globals()", "False"),
    "builtins": ("import builtins; builtins.len = lambda _: 9", "len([])", "0"),
    "modules": ("import json; json.dumps = None", "import json\njson.dumps(1)", "'1'"),
    "sys.modules": (
        "import sys, types; sys.modules['spy'] = types.ModuleType('spy')",
        "import sys\n'spy' in sys.modules",
        "False",
    ),
    "files": (
        "open('/tmp/a', 'w').write('secret')",
        "import os\nos.listdir('/tmp')",
        "[]",
    ),
    "folder": ("import os; os.mkdir('/d'); os.chdir('/d')", "import os\nos.getcwd()", "'/'"),
    "environment": ("import os; os.environ['A'] = '1'", "import os\ndict(os.environ)", "{}"),
    "classes": ("import decimal; decimal.getcontext().prec = 2", "import decimal\n"
        "decimal.getcontext().prec", "28"),
    "time": ("import time; time.time = lambda: 0", "import time\ntime.time() > 10**9", "True"),
    "recursion": ("import sys; sys.setrecursionlimit(50)", "import sys\n"
        "sys.getrecursionlimit()", "1010"),
    "streams": ("import sys; sys.stdout = None", "print('hi')\n1", "1"),
    "hooks": ("import sys; sys.displayhook = sys.excepthook = None; import atexit\n"
        "atexit.register(print, 'late')", "1", "1"),
}  # fmt: skip
JAVASCRIPT_LEAKS = {
    "globals": ("globalThis.secret = 1", "typeof secret", "'undefined'"),
    "prototypes": ("Array.prototype.sum = 1", "[].sum === undefined", "true"),
    "builtins": ("JSON.stringify = null", "JSON.stringify(1)", "'1'"),
    "files": (
        "require('fs').writeFileSync('/tmp/a', 'secret')",
        "require('fs').existsSync('/tmp/a')",
        "false",
    ),
    "modules": ("require('util').inspect = null", "typeof require('util').inspect", "'function'"),
    "listeners": ("process.on('exit', () => console.log('late'))", "1", "1"),
    "timers": ("setInterval(() => {}, 1); undefined", "1", "1"),
}
SQL_LEAKS = {
    "tables": ("CREATE TABLE t(x)", "SELECT count(*) n FROM sqlite_master", "n\n0"),
    "pragmas": ("PRAGMA case_sensitive_like = ON", "SELECT 'A' LIKE 'a' v", "v\n1"),
    "transactions": ("BEGIN", "BEGIN; COMMIT; SELECT 1 v", "v\n1"),
}
LEAKS = [
    pytest.param(language, *leak, id=f"{language}-{name}")
    for language, leaks in (
        ("python", PYTHON_LEAKS),
        ("javascript", JAVASCRIPT_LEAKS),
        ("sql", SQL_LEAKS),
    )
    for name, leak in leaks.items()
]


@pytest.mark.parametrize(("language", "act", "look", "value"), LEAKS)
def test_nothing_passes_from_one_session_to_another(
    language: str, act: str, look: str, value: str
) -> None:
    with ToolSession(language, SHORT) as before, ToolSession(language, SHORT) as actor:
        before.run("1" if language != "sql" else "SELECT 1")
        actor.run(act)
        with ToolSession(language, SHORT) as after:
            for session in (before, after):
                turn = session.run(look)
                assert (turn.value, turn.error) == (value, "")
                assert "late" not in turn.stdout


@pytest.mark.parametrize(
    "act",
    [
        "import os; os._exit(0)",
        "import builtins\nfor name in dir(builtins): setattr(builtins, name, None)",
        "import gc\nfor each in gc.get_objects():\n"
        "    if type(each) is dict and 'run_turn' in each: each['_plain'] = None",
        "import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()",
        "import sys\nsys._getframe(2).f_globals.clear()",
        "raise SystemExit(3)",
        "class E(Exception):\n    def __str__(self): raise self\nraise E",
        "class V:\n    def __repr__(self): return 1\nV()",
        "class S(str):\n    def __getitem__(self, _): return self\n"
        "    def encode(self, *_): return self\nclass V:\n    __repr__ = lambda s: S('a' * 10**6)\n"
        "V()",
    ],
)
def test_a_session_that_is_broken_from_inside_says_so_or_is_sound(act: str) -> None:
    with ToolSession("python", SHORT) as session, ToolSession("python", SHORT) as other:
        other.run("x = 6")
        turn = session.run(act)
        assert len(turn.text) < 2 * SHORT.output_chars
        then = session.run("6 * 7")
        assert then.value == "42" or (session.ended and "has ended" in then.text)
        assert other.run("x").value == "6"


def test_no_session_changes_a_verdict() -> None:
    row = Sample("coding", "Write f.", '{"tests": ["assert f(3) == 6"]}', "", "python")
    reward = CodingRewardFunction()
    wrong, right = (
        tagged(f"```python\ndef f(x):\n    return {body}\n```") for body in ("7", "2 * x")
    )
    with ToolSession("python") as session:
        session.run("class Yes(int):\n    __eq__ = lambda *_: True\ndef f(x): return Yes()")
        session.run("import builtins; builtins.AssertionError = None; open('f.py', 'w').write('')")
        statuses = [reward.score(row, text).status for text in (wrong, right, "f")]
    assert statuses == ["failed", "passed", "failed"]
    assert RewardExecutor().execute("print('f' in globals())", "python").stdout == "False\n"


def test_a_file_that_is_open_is_open_in_a_fork() -> None:
    with ToolSession("python") as session:
        session.run("file = open('a', 'w+'); file.write('abc'); file.flush(); file.seek(0)")
        with session.fork() as fork:
            assert fork.run("file.read()").value == "'abc'"
            fork.run("open('a', 'w').write('other')")
            assert session.run("file.read()").value == "'abc'"


def test_a_seed_gives_the_same_numbers_and_none_gives_others() -> None:
    draw = {"python": "import random\nrandom.random()", "javascript": "Math.random()"}
    for language, code in draw.items():
        seeds = (SessionLimits(seed=1), SessionLimits(seed=1), None, None)
        first, same, *others = [ToolSession(language, each).run(code).value for each in seeds]
        assert first == same
        assert len({first, *others}) == 3


def test_a_database_is_read_and_not_changed() -> None:
    from infinite_rl.reward_functions.sql.databases import image_of

    image = image_of('{"schema": "CREATE TABLE t(x)", "rows": {"t": [[6], [7]]}}')
    with ToolSession("sql", database=image) as session:
        assert session.run("SELECT sum(x) s FROM t").value == "s\n13"
        assert session.run("DELETE FROM t").status == "error"
        with session.fork() as fork:
            assert fork.run("SELECT count(*) n FROM t").value == "n\n2"
    with pytest.raises(UsageError, match="has no database"):
        ToolSession("python", database=image)


def test_setup_comes_first_and_a_setup_that_fails_is_an_error_of_the_caller() -> None:
    with ToolSession("python", setup="x = 6") as session:
        assert (session.run("x").value, session.turns) == ("6", 1)
    with ToolSession("python", setup="1 / 0") as session, pytest.raises(UsageError, match="setup"):
        session.run("x")


def test_no_turn_runs_after_half_a_setup() -> None:
    with ToolSession("python", setup="x = 6; y = 7") as session:
        with (
            patch.object(PythonInterpreter, "run", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            session.run("x")
        assert session.run("x * y").value == "42"


def test_a_language_without_sessions_names_those_that_have_them() -> None:
    with pytest.raises(UsageError, match="sessions are in: python, javascript, sql"):
        ToolSession("typescript")
    with pytest.raises(UnknownName):
        ToolSession("cobol")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SandboxError])
def test_a_turn_that_is_interrupted_or_breaks_the_sandbox_ends_the_session(
    error: type[BaseException],
) -> None:
    with ToolSession("python") as session:
        session.run("x = 6")
        with patch.object(PythonInterpreter, "run", side_effect=error), pytest.raises(error):
            session.run("x")
        assert session.run("x").status == "ended"


def test_threads_take_turns_in_one_session() -> None:
    with ToolSession("python", SessionLimits(turns=200)) as session:
        session.run("n = 0")
        with ThreadPoolExecutor(4) as pool:
            turns = list(pool.map(session.run, ["n += 1"] * 100))
        assert {turn.status for turn in turns} == {"ok"}
        assert session.run("n").value == "100"


@pytest.mark.slow
def test_hundreds_of_sessions_live_at_once_and_keep_apart() -> None:
    sessions = [ToolSession(language) for language in LANGUAGES for _ in range(100)]
    before = threading.active_count()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: each.run(STORE[each.language]), sessions))
    for count, session in enumerate(sessions):
        for _ in range(count % 3):
            session.run(ADD[session.language])
    assert [shown(each) for each in sessions] == [str(6 + n % 3) for n in range(300)]
    assert threading.active_count() <= before + 12  # no thread a session
    for session in sessions:
        session.close()
