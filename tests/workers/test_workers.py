"""Batches in worker processes, real ones: order, deaths, hangs, odd parents, and nothing left."""

import gc
import json
import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from labelled import error_of

from infinite_rl.errors import SandboxError, UnknownName, UsageError
from infinite_rl.reward_functions.math.verify import verify
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution, Program
from infinite_rl.workers import pool as workers
from infinite_rl.workers import worker
from infinite_rl.workers.lender import Lender
from infinite_rl.workers.pool import Lost, in_workers

ROOT = Path(__file__).parents[2]
WORK = f"{__name__}:do"
HOME = os.getpid()


def do(job: Any) -> Any:
    """What the workers of these tests do."""
    what, value = job
    if what == "length":
        return len(value)
    if what == "pid":
        return os.getpid()
    if what == "die":
        os._exit(value)
    if what == "die once" and not Path(value).exists():
        Path(value).write_text("died", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "stop once" and not Path(value).exists():
        Path(value).write_text("stopped", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "raise":
        raise {"usage": UsageError, "bug": ZeroDivisionError}[value]("said so")
    if what == "spin":  # longer than answers wait for each other
        end = time.monotonic() + value
        while time.monotonic() < end:
            pass
    if what == "print":
        print(value, flush=True)
        os.write(1, b"\0\0\0\0\0\0\0\2[]")
    return value


def results(*jobs: Any, count: int = 2) -> list[Any]:
    return list(in_workers(WORK, jobs, count, bound_s=5))


_others: set[int] = set()  # the math verdict has workers of its own, which other tests started


@pytest.fixture(autouse=True, scope="module")
def _workers_of_others() -> None:
    workers.close()
    _others.update(children())


@pytest.fixture(autouse=True)
def _no_workers_left() -> Iterator[None]:
    yield
    assert soon(none_left), children()  # threads of a batch that is left may still be ending


def none_left() -> bool:
    workers.close()
    return children() == []


def children(pid: int | None = None) -> list[int]:
    """The workers of the process `pid`, by default of this one."""
    listed = subprocess.run(
        ["ps", "-ww", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split(None, 2) for line in listed]
    mine = [row for row in rows if int(row[1]) == (pid or os.getpid())]
    serving = [int(row[0]) for row in mine if "infinite_rl.workers.worker import serve" in row[2]]
    return [number for number in serving if number not in _others]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(") ")[1][0] == "Z"
    except OSError:
        return True


def soon(condition: Any) -> bool:
    """Whether the condition comes true within ten seconds."""
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.02)
    return True


# --- results -------------------------------------------------------------------------------------
def test_results_come_in_order_and_unchanged() -> None:
    assert results() == [] and children() == []  # no process without a job
    assert results(*(["say", number] for number in range(500))) == list(range(500))
    values = ["\ud800 \x00 é", 10**30, 1.5, float("inf"), None, True, {"a": [1]}, "x" * 300_000]
    assert results(*(["say", value] for value in values)) == values
    assert results(["print", 1], ["say", 2], count=1) == [1, 2]  # stdout holds no answers


def test_long_texts_arrive_unchanged_wherever_they_stand() -> None:
    long = "\ud800 \x00 é\n" + "x" * 1_000_001
    values = [
        long,
        {"a": long, "b": [long], "": 1},
        [{"a": {"b": long}}, [[long]]],
        '"stop"' + long,
    ]
    jobs = [["say", value] for value in values]
    assert results(*jobs, ["length", long]) == [*values, len(long)]
    assert [worker.job_of(worker.message_of(job)) for job in jobs] == jobs
    assert len(worker.message_of(jobs[0]).text) < 100  # it is not escaped
    references = sys.getrefcount(long)
    gc.disable()
    try:
        worker.message_of(jobs[0])
        assert sys.getrefcount(long) == references  # no cycle holds hundreds of megabytes
    finally:
        gc.enable()


def test_the_work_is_done_in_as_many_processes_as_asked_for_and_they_stay_warm() -> None:
    jobs = [["pid", 0]] * 200
    first, second = set(results(*jobs, count=2)), set(results(*jobs, count=2))
    assert HOME not in first
    assert 1 <= len(first) <= 2
    assert second <= first
    assert set(children()) == first


@pytest.mark.slow
def test_batches_on_many_threads_share_the_workers() -> None:
    with ThreadPoolExecutor(6) as pool:
        seen = pool.map(lambda _: set(results(*[["pid", 0]] * 50)), range(6))
        assert len(set.union(*seen)) <= 2


def test_jobs_are_taken_as_they_are_needed_and_results_given_as_they_come() -> None:
    taken: list[int] = []

    def endless() -> Iterator[list[Any]]:
        while True:
            taken.append(1)
            yield ["say", len(taken)]

    stream = in_workers(WORK, endless(), 2, 5)
    assert [next(stream) for _ in range(600)] == list(range(1, 601))
    assert len(taken) <= 600 + 257
    stream.close()


def test_few_long_jobs_are_taken_in_advance() -> None:
    ahead, most = 0, 0

    def long() -> Iterator[list[Any]]:
        nonlocal ahead, most
        for number in range(12):
            ahead += 1
            most = max(most, ahead)
            yield ["length", "x" * 20_000_000 + str(number)]

    lengths = []
    for length in in_workers(WORK, long(), 2, lambda job: len(job[1]) / 1e7):
        ahead -= 1
        lengths.append(length)
    assert lengths == [20_000_001] * 10 + [20_000_002] * 2
    assert most <= 4


def test_what_the_work_raises_is_raised_here() -> None:
    usage, bug = (
        error_of(lambda: results(["say", 1], ["raise", kind], ["say", 2]))  # noqa: B023
        for kind in ("usage", "bug")
    )
    assert usage == "UsageError: said so"
    assert bug == "SandboxError: ZeroDivisionError: said so"


# --- death and hanging ---------------------------------------------------------------------------
@pytest.mark.slow
def test_killed_workers_are_replaced_and_a_job_that_kills_each_is_lost(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    jobs: list[Any] = [["say", number] for number in range(100)]
    jobs[3], jobs[40] = ["die", 7], ["die once", mark]
    lost = Lost("the worker process ended with exit code 7, 2 times")
    assert results(*jobs) == [0, 1, 2, lost, *range(4, 40), mark, *range(41, 100)]
    for pid in set(results(*[["pid", 0]] * 50)):  # idle ones
        os.kill(pid, signal.SIGKILL)
    assert results(*(["say", number] for number in range(50))) == list(range(50))


def test_a_hanging_worker_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results(["say", 0])  # started: the short patience is for the work
    monkeypatch.setattr(workers, "_GRACE_S", 0.5)
    jobs = [["say", 1], ["stop once", str(tmp_path / "mark")], ["say", 2]]
    assert list(in_workers(WORK, jobs, 1, bound_s=0.5)) == [1, str(tmp_path / "mark"), 2]
    assert len(children()) <= 2


@pytest.mark.slow
def test_a_worker_without_a_parent_ends_inside_a_long_operation_of_the_interpreter() -> None:
    orphan = worker.Worker()
    answers = orphan.answers("math:factorial", [worker.message_of(10**8)], 1.0)
    thread = threading.Thread(target=lambda: error_of(lambda: next(answers)))
    kill, orphan.kill = orphan.kill, lambda: None  # type: ignore[method-assign]  # it is gone
    thread.start()
    thread.join(60)
    try:
        assert orphan._process.wait(60) == -signal.SIGALRM
    finally:
        kill()


def test_only_an_idle_worker_that_lives_is_lent_in_time() -> None:
    lender = Lender()
    with pytest.raises(TimeoutError), lender.idle_worker(0):
        pass
    for _ in range(2):
        lender.add_worker(most=1)
    assert lender.count == 1
    with lender.idle_worker(0) as warm, pytest.raises(TimeoutError), lender.idle_worker(0):
        pass
    warm.kill()
    with pytest.raises(TimeoutError), lender.idle_worker(0):
        pass
    assert lender.count == 0


def test_an_answer_to_another_question_is_not_taken() -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(["sleep", "60"])
    fake = object.__new__(worker.Worker)
    fake._socket, fake._process, fake._number = ours, process, 4
    worker._send(theirs, json.dumps([4, [["ok", "of the turn before"]]]).encode())
    with pytest.raises(worker.WorkerGone):
        list(fake.answers(WORK, [worker.message_of(1)], 5))
    assert process.returncode == -signal.SIGKILL
    theirs.close()


def test_a_worker_whose_answers_nobody_took_is_not_used_again() -> None:
    one, jobs = worker.Worker(), (["spin", 0.1], ["say", "late"])
    answers = one.answers(WORK, map(worker.message_of, jobs), 5)
    assert next(answers) == ["ok", 0.1]
    answers.close()
    assert not one.alive()


def test_an_iterator_that_nobody_finishes_leaves_no_work_behind() -> None:
    before = threading.active_count()
    stream = in_workers(WORK, ([["say", n]][0] for n in range(10**9)), 2, 5)
    assert next(stream) == 0
    stream.close()
    assert soon(lambda: threading.active_count() == before)


# --- programs ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lang", "code"), [("python", "print({})"), ("javascript", "console.log({})")]
)
def test_a_batch_is_what_the_runs_one_by_one_are(lang: str, code: str) -> None:
    codes = [code.format(number) for number in range(40)] + ["("]
    with RewardExecutor() as executor:
        assert executor.batch_run(codes, lang) == [executor.run_single(c, lang) for c in codes]


@pytest.mark.slow
def test_whole_programs_have_their_input_tests_and_limits() -> None:
    programs = [
        Program("print(input())", "in\n"),
        Program("x = 1", tests=("assert x == 1", "assert x == 2")),
        Program("while True: pass"),
        Program("print('a' * 1000)"),
    ]
    with RewardExecutor(timeout=1, output_limit=500) as executor:
        told = list(executor.execute_many(programs, "py"))
    assert [each.status for each in told] == ["ok", "ok", "timeout", "output"]
    assert told[0] == Execution("in\n", "", 0, "ok")
    assert [test.passed for test in told[1].tests] == [True, False]
    assert told[2].duration_s >= 1


def test_a_small_batch_threads_and_a_custom_language_start_no_process() -> None:
    assert len(RewardExecutor().batch_run(["print(1)"] * 2, "python")) == 2
    assert len(RewardExecutor().batch_run(["print(1)"] * 5, "python", threads=2)) == 5

    class Here:
        def run(self, program: Program, limits: Any) -> Execution:
            return Execution(f"{os.getpid()}", "", 0, "ok")

    executor = RewardExecutor(runtimes={"here": Here()})
    assert executor.batch_run(["x"] * 9, "here") == [(str(HOME), "")] * 9
    with pytest.raises(UnknownName):
        RewardExecutor().batch_run(["x"] * 9, "cobol")
    assert children() == []
    wrong: tuple[Any, ...] = {"threads": 1, "workers": 1}, {"workers": 0}, {"threads": -1}
    for options in (*wrong, {"workers": "2"}):
        with pytest.raises(UsageError):
            RewardExecutor().execute_many([], "python", **options)


def test_a_lost_program_is_a_failed_run_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "infinite_rl.sandbox.executor.in_workers", lambda *_: iter([Lost("it died")])
    )
    (execution,) = RewardExecutor().execute_many([Program("1")] * 3, "python")
    assert (execution.status, execution.tests) == ("error", ())
    assert "it died" in execution.stderr


# --- odd parents ---------------------------------------------------------------------------------
BATCH = (
    "from infinite_rl.sandbox.executor import RewardExecutor\n"
    "print(RewardExecutor().batch_run([f'print({n})' for n in range(20)], 'python')[-1])\n"
    "import infinite_rl.workers.pool as w; print(len(w._pool.idle))\n"
)
EXPECTED = "('19', '')\n2\n"


def python(*arguments: str, given: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    if workers.default_count() != 2:
        pytest.skip("it counts two workers, one for each core")


@pytest.mark.slow
@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("way", ["script", "-", "-c", "exec"])
def test_it_works_where_main_cannot_be_imported_again(way: str, tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(BATCH, encoding="utf-8")
    bare = f"import sys; del sys.modules['__main__'].__builtins__; exec({BATCH!r}, {{}})"
    done = {
        "script": lambda: python(str(script), cwd=tmp_path),
        "-": lambda: python("-", given=BATCH, cwd=tmp_path),
        "-c": lambda: python("-c", BATCH, cwd=tmp_path),
        "exec": lambda: python("-c", bare, cwd=tmp_path),  # as a notebook does: no file at all
    }[way]()
    assert (done.stdout, done.stderr) == (EXPECTED, "")


def test_files_in_the_working_directory_are_not_imported_instead(tmp_path: Path) -> None:
    for name in ("json", "socket", "infinite_rl"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')", encoding="utf-8")
    script = f"import sys; sys.path[:] = [p for p in sys.path if p]\n{BATCH}"
    assert python("-c", script, cwd=tmp_path).stdout.startswith("('19', '')")


def test_a_worker_finds_the_package_as_an_import_hook_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an editable install: its folder is no place of `sys.path`."""
    monkeypatch.setattr(sys, "path", [place for place in sys.path if not _holds_it(place)])
    places = worker.import_path()
    assert [place for place in places if _holds_it(place)] == [str(ROOT.resolve())]


def _holds_it(place: str) -> bool:
    return Path(place, "infinite_rl", "__init__.py").is_file()


def _batch(connection: Any) -> None:
    connection.send(results(*(["say", number] for number in range(20))))
    connection.send(set(results(*[["pid", 0]] * 20)))
    workers.close()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_it_works_in_a_daemonic_process(method: Any) -> None:
    ours, theirs = multiprocessing.get_context(method).Pipe()
    process: Any = multiprocessing.get_context(method).Process(
        target=_batch, args=(theirs,), daemon=True
    )
    process.start()
    assert ours.poll(60) and ours.recv() == list(range(20))
    assert process.pid not in ours.recv()
    process.join(30)


@pytest.mark.slow
def test_a_forked_child_has_workers_of_its_own_and_leaves_its_parents_alone() -> None:
    mine = set(results(*[["pid", 0]] * 50))
    ours, theirs = multiprocessing.Pipe()
    process: Any = multiprocessing.get_context("fork").Process(target=_batch, args=(theirs,))
    process.start()
    assert ours.poll(60) and ours.recv() == list(range(20))
    assert not ours.recv() & mine
    process.join(30)
    assert set(results(*[["pid", 0]] * 50)) <= mine


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"workers": 2}, {"threads": 2}])
def test_a_batch_begun_before_a_fork_is_refused_after_it(options: Any) -> None:
    programs = [Program("print(1)")] * 400
    stream = RewardExecutor().execute_many(programs, "python", **options)
    next(stream)
    child = os.fork()
    if child == 0:
        try:
            next(stream)
        except UsageError:
            os._exit(7)
        finally:
            os._exit(1)
    assert soon(lambda: os.waitpid(child, os.WNOHANG) == (child, 7 << 8))
    assert len(list(stream)) == 399


@pytest.mark.slow
def test_a_ray_actor_can_use_them_and_the_math_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    environment = {"env_vars": {"PYTHONPATH": path}}
    ray.init("local", num_cpus=1, include_dashboard=False, runtime_env=environment)

    @ray.remote
    class Actor:
        def batch(self) -> tuple[list[tuple[str, str]], int]:
            told = RewardExecutor().batch_run(["print(1)"] * 9, "python")
            return told, len(workers._pool.idle)

        def verdicts(self) -> list[str]:
            """By arithmetic, and by sympy in a process of its own."""
            pairs = ("$\\frac{1}{2}$", "0.5"), ("$x^2/2$", r"$\int_0^x t\,dt$"), ("2", "3")
            return [verify(gold, prediction).status for gold, prediction in pairs]

    try:
        actor = Actor.remote()
        told, count = ray.get(actor.batch.remote(), timeout=120)
        assert told == [("1", "")] * 9 and count >= 1
        assert ray.get(actor.verdicts.remote(), timeout=120) == ["equal", "equal", "different"]
    finally:
        ray.shutdown()


@pytest.mark.parametrize("how", ["no program", "a program that is not Python", "not to be run"])
def test_where_no_process_can_be_had_threads_do_it_and_one_warning_says_so(
    how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    program = {"no program": "", "a program that is not Python": "/bin/true"}.get(how, "/nowhere")
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(workers, "_pool", Lender(on_fault=workers._warn))
    with caplog.at_level(logging.WARNING):
        assert results(*[["pid", 0]] * 5) == [HOME] * 5
        assert results(*[["pid", 0]] * 5) == [HOME] * 5
        with pytest.raises(SandboxError, match="ZeroDivisionError: said so"):  # as of a process
            results(["raise", "bug"])
    assert len([record for record in caplog.records if "threads" in record.message]) == 1


# --- the end -------------------------------------------------------------------------------------
@pytest.mark.slow
def test_batches_leave_no_process_thread_or_file() -> None:
    def held() -> tuple[int, int, int]:
        return len(children()), threading.active_count(), len(os.listdir("/proc/self/fd"))

    RewardExecutor().run_single("print(1)", "python")  # the engine's own threads
    before = held()
    for _ in range(3):
        with RewardExecutor() as executor:
            assert len(executor.batch_run(["print(1)"] * 20, "python")) == 20
    assert held() == before


ENDLESS = (
    "import sys, threading\n"
    "from infinite_rl.sandbox.executor import RewardExecutor\n"
    "from infinite_rl.workers import pool as workers\n"
    "def told():\n"
    "    while len(workers._pool.busy) < 2: pass\n"
    "    print(*(w.pid for w in workers._pool.busy), flush=True)\n"
    "threading.Thread(target=told, daemon=True).start()\n"
    "RewardExecutor(timeout=60).batch_run(['while True: pass'] * 9, 'python', workers=2)\n"
)


def busy_parent(code: str = ENDLESS) -> tuple[subprocess.Popen[str], list[int]]:
    """A process in the middle of a batch, and its workers."""
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    assert parent.stdout
    return parent, [int(pid) for pid in parent.stdout.readline().split()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_are_gone_when_the_parent_is_killed(number: int) -> None:
    parent, pids = busy_parent()
    assert len(pids) == 2
    parent.send_signal(number)
    parent.communicate(timeout=30)
    assert soon(lambda: all(map(gone, pids)))


def test_workers_are_gone_though_a_forked_child_of_the_parent_lives() -> None:
    fork = (
        "import os, time\nif (child := os.fork()) == 0:\n"
        "    os.close(1); os.close(2); time.sleep(60)\nprint(child, end=' ')"
    )
    parent, pids = busy_parent(ENDLESS.replace("    print(", f"    exec({fork!r})\n    print("))
    forked = pids.pop(0)
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate(timeout=30)
    assert soon(lambda: all(map(gone, pids)))
    assert not gone(forked)
    os.kill(forked, signal.SIGKILL)


def test_ctrl_c_ends_the_batch_at_once_with_one_traceback_and_no_workers() -> None:
    parent, pids = busy_parent()
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to all of the group
    _, stderr = parent.communicate(timeout=20)
    assert parent.returncode != 0
    assert stderr.count("Traceback") == 1 and stderr.rstrip().endswith("KeyboardInterrupt")
    assert soon(lambda: all(map(gone, pids)))


def test_an_iterator_left_open_does_not_hold_up_the_end() -> None:
    code = (
        "from infinite_rl.sandbox.executor import RewardExecutor\n"
        "from infinite_rl.types import Program\n"
        "stream = RewardExecutor().execute_many([Program('print(1)')] * 400, 'python')\n"
        "print(next(stream).stdout)\n"
    )
    done = python("-c", code)
    assert (done.stdout, done.stderr, done.returncode) == ("1\n\n", "", 0)


def test_the_number_of_workers_can_be_set_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINITE_RL_WORKERS", "7")
    assert workers.default_count() == 7
    monkeypatch.setenv("INFINITE_RL_WORKERS", "many")
    with pytest.raises(UsageError, match="INFINITE_RL_WORKERS"):
        workers.default_count()
    monkeypatch.setenv("INFINITE_RL_WORKERS", "")
    assert 1 <= workers.default_count() <= (os.cpu_count() or 1)
