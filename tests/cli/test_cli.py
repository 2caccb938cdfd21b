"""The command line as a person meets it; in a process of its own where that is what matters."""

import io
import itertools
import json
import logging
import os
import pty
import re
import runpy
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import gemini_server as gemini
import openai_server as openai
import pytest
from commands import NO_KEY, Here, commands, read
from rich.console import Console
from test_package import LIBRARIES

from infinite_rl import cli
from infinite_rl.certificates import signed
from infinite_rl.cli import terminal
from infinite_rl.cli.verb import Verb, normalize_flags
from infinite_rl.dataset import load_dataset
from infinite_rl.files.atomic import locked
from infinite_rl.layout import render, tagged
from infinite_rl.procedural import ProceduralProvider
from infinite_rl.providers import DEFAULT_MODEL, KEY_VARIABLES
from infinite_rl.reward_functions import RewardFunction, get_reward_functions
from infinite_rl.sandbox import compiled, runtimes
from infinite_rl.sandbox.engine import Code

ROOT = Path(__file__).parents[2]
SCRIPT = [sys.executable, str(ROOT / "scripts" / "generate.py")]
ENVIRONMENT = {**os.environ, **NO_KEY, "PYTHONPATH": str(ROOT)}
HELPS = ["", *(verb for verb in cli.VERBS if verb not in commands()), *commands()]
PROCEDURAL = ProceduralProvider()
# For authors that write tasks, of templates, and no lists.
ALONE = ("--no_ideas", "--no_novelty", "--strengthen", "off")


def right(request: gemini.Request) -> str:
    return PROCEDURAL.complete(request.system, request.prompt, request.seed or 0).text


# --- generate ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with four rows that were made without a key, and what was said meanwhile."""
    folder, said = tmp_path_factory.mktemp("made") / "out", io.StringIO()
    words = "generate --num_samples 4 --threads 2 --timeout 7 --temperature 1 --topics knots"
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(said), redirect_stdout(said):
        for name, value in NO_KEY.items():
            patch.setenv(name, value)
        assert cli.main([*words.split(), "--out_dir", str(folder)]) == 0
    logging.getLogger("infinite_rl").handlers.clear()  # those that each test shows are its own
    return folder, said.getvalue()


@pytest.fixture
def rows(made: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of these rows."""
    return Path(shutil.copytree(made[0], tmp_path / "rows"))


@pytest.mark.slow
def test_without_a_key_it_makes_verified_rows_offline_and_says_so(
    here: Here, made: tuple[Path, str], rows: Path
) -> None:
    for said in (
        "provider: procedural (no GEMINI_API_KEY",
        "asks no model: --temperature, --topics not used",
        "rows made: 4",
    ):
        assert said in made[1]
    assert sorted(load_dataset(rows)["type"]) == ["coding"] * 2 + ["math"] * 2
    again = here("generate", "--num_samples", "4", "--out_dir", rows)
    assert again.returncode == 0 and "calls answered: 0" in again.stdout
    assert "rows made: 0, there before: 4" in again.stdout
    data = rows / "dataset.csv"
    data.write_bytes(b"\xef\xbb\xbf" + data.read_bytes())
    refused = here("generate", "--num_samples", "6", "--out_dir", rows)
    assert refused.returncode == 1 and "a spreadsheet saved it" in refused.stderr


@pytest.mark.slow
def test_with_a_key_it_asks_gemini_and_says_so(here: Here, tmp_path: Path) -> None:
    with gemini.GeminiServer(right) as server:
        options = ["--num_samples", "2", "--temperature", "0.5", "--max_output_tokens", "4096"]
        options += ["--thinking", "low", "--verify", "0", *ALONE]
        done = here("generate", *options, "--out_dir", tmp_path, **server.environment)
        sent = server.requests[0].body["generationConfig"]
    assert done.returncode == 0 and "provider: gemini" in done.stderr
    assert done.stderr.count("does not heed --temperature") == 1
    assert (sent["temperature"], sent["maxOutputTokens"]) == (0.5, 4096 + 1024)
    assert sent["thinkingConfig"] == {"thinkingLevel": "LOW"}
    assert list(load_dataset(tmp_path)["model"]) == [DEFAULT_MODEL] * 2


def test_an_estimate_needs_no_key_and_a_ray_plan_no_cluster(here: Here, tmp_path: Path) -> None:
    rows, rated = tmp_path / "rows.jsonl", tmp_path / "rated.jsonl"
    rows.write_text('{"type": "math", "prompt": "1 + 1?", "answer": "2"}\n')
    generate = ("generate", "--num_samples", "9", "--out_dir", tmp_path / "out", "--dry_run")
    for words in (
        (*generate, "--provider", "gemini", "--verify", "2", "--verify_model", "m", "--structured"),
        (*generate, "--provider", "gemini", "--batch"),
        ("solve", "difficulty", rows, "-o", rated, "--provider", "gemini", "--dry_run"),
        (*generate, "--engine", "ray", "--workers", "3"),
    ):
        done = here(*words)
        assert done.returncode == 0 and "estimate" in done.stdout
        assert words[0] != "generate" or done.stdout.startswith(
            "coding: 0 of 5 rows are there\nmath: 0 of 4 rows are there\n"
        )
    assert list(tmp_path.iterdir()) == [rows]


@pytest.mark.slow
def test_a_target_that_is_not_reached_exits_1_and_says_why(here: Here, tmp_path: Path) -> None:
    """What a server says cannot steer the terminal."""
    steers = gemini.error(403, "PERMISSION_DENIED", "no \x1b[2J\x1b]0;title\x07 entry")
    lacks = "target not reached: coding lacks 1, math lacks 1: 1 samples in a row"
    for reply, said in (("no sample at all", lacks), (steers, "entry")):
        with gemini.GeminiServer(lambda _, reply=reply: reply) as server:  # type: ignore[misc]
            words = ("--num_samples", "2", "--max_retries", "1", "--out_dir", tmp_path / said[:5])
            done = here("generate", *words, **server.environment)
        assert done.returncode == 1 and said in done.stderr
        assert not {"\x1b", "\x07"} & set(done.stderr + done.stdout)


@pytest.mark.slow
def test_a_signal_stops_cleanly_and_keeps_everything(tmp_path: Path) -> None:
    """The calls under way when the signal comes are answered after it, and are kept."""
    arrived, gate = threading.Semaphore(0), threading.Event()

    def slowly(request: gemini.Request) -> str:
        arrived.release()
        gate.wait(60)
        return right(request)

    words = ["--num_samples", "50", "--threads", "2", "--verify", "0", *ALONE]
    words += ["--out_dir", str(tmp_path)]
    with gemini.GeminiServer(slowly) as server:
        process = subprocess.Popen(
            [*SCRIPT, *words], env={**ENVIRONMENT, **server.environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr is not None
        for _ in range(2):
            assert arrived.acquire(timeout=60)
        process.send_signal(signal.SIGTERM)
        for line in process.stderr:
            if line.startswith("stopping"):
                break
        gate.set()
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert len(load_dataset(tmp_path)) == 2 and "rows made: 2" in output


def test_the_second_signal_of_either_kind_interrupts_at_once() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    for first, second in itertools.product((signal.SIGINT, signal.SIGTERM), repeat=2):
        with pytest.raises(KeyboardInterrupt), terminal.stop_on_signals() as stop:
            signal.raise_signal(first)
            assert stop.is_set()
            signal.raise_signal(second)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.slow
def test_retries_are_counted_and_with_v_printed_with_q_hidden(here: Here, tmp_path: Path) -> None:
    options = ("--num_samples", "1", "--task_dist", "0,1", "--verify", "0", *ALONE, "--out_dir")
    good, said = gemini.text(render("What is 1 + 1?", "2", tagged("2"))), {}
    for flag in ("--seed=0", "-v", "-q"):
        replies = iter([gemini.rate_limited("0.01s"), gemini.text("no sample at all"), good])
        with gemini.GeminiServer(lambda _, replies=replies: next(replies)) as server:  # type: ignore[misc]
            done = here("generate", *options, tmp_path / flag, flag, **server.environment)
        assert done.returncode == 0, done.stderr
        assert "1 rejected (incomplete 1)" in done.stdout
        assert "repeated: 1 (429 x1)" in done.stdout
        log = (tmp_path / flag / "run.log").read_text("utf-8")
        assert " retry " in log and " rejected math/0/0/0 incomplete: " in log
        assert gemini.KEY not in log
        said[flag] = done.stderr
    for kind in ("1 try failed, again in", "rejected math/0/0/0 incomplete"):
        assert [kind in each for each in said.values()] == [False, True, False]
    assert said["-q"] == "", "the end is on stdout, and nothing went wrong"


@pytest.mark.slow
def test_debug_logs_verbosely_and_never_the_key_of_any_server(here: Here, tmp_path: Path) -> None:
    services: dict[str, tuple[Any, str]] = {
        "gemini": (gemini.GeminiServer, gemini.KEY),
        "openai_compatible": (openai.OpenAIServer, openai.KEY),
    }
    for provider, (service, key) in services.items():
        words = ("--provider", provider, "--model_name", "m", "--num_samples", "1", "--debug")
        out = tmp_path / provider
        with service(lambda _, key=key: f"the key is {key}") as server:
            more = ("--max_retries", "1", "--out_dir", out)
            done = here("generate", *words, *more, **server.environment)
            assert server.kinds["text"] > 0
        assert done.returncode == 1, done.stderr
        assert "INFO infinite_rl.generation.run: rejected coding/0/4/2 incomplete" in done.stderr
        texts = [path.read_text() for path in out.rglob("*") if path.is_file()]
        assert any("the key is [key]" in text for text in texts)
        assert (out / "debug_prompts").is_dir()
        assert key not in "".join((done.stdout, done.stderr, *texts))


@pytest.mark.slow
def test_the_cost_of_solutions_is_said_first_and_topics_read(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "topics.txt"
    file.write_text("knots, and braids\n\nprimes\n", encoding="utf-8")
    words = ("generate", "--num_samples", "7", "--price", "1,1", "--task_dist", "0,1")
    for topics, expected in (("knots,primes", "knots"), (str(file), "knots, and braids")):
        with gemini.GeminiServer(lambda _: gemini.bad_key()) as server:
            more = ("--topics", topics, "--out_dir", tmp_path / "out")
            done = here(*words, *more, **server.environment)
            assert f"about this topic: {expected}\n" in server.requests[0].prompt + "\n"
        estimate = r"estimate, by rule of thumb: .* 29 calls, .* tokens in, .*\$0\."
        assert re.search(estimate, done.stderr)


def test_an_audit_of_a_target_is_found_from_the_help_of_audit(here: Here) -> None:
    assert "infinite-rl audit TARGET --help lists the options" in here("audit", "--help").stdout
    usage = " ".join(here("audit", "TARGET", "--help").stdout.split())
    assert usage.startswith("usage: infinite-rl audit TARGETS ... [options]")


def test_a_target_is_told_that_rows_have_no_prompt(here: Here, tmp_path: Path) -> None:
    (tmp_path / "r.py").write_text("def r(completion, answer):\n    return answer in completion\n")
    (tmp_path / "rows.jsonl").write_text('{"text_of_it": "1 + 1?", "answer": "2"}\n')
    done = here("audit", f"{tmp_path}/r.py:r", "--rows", tmp_path / "rows.jsonl", "--seconds", 10)
    assert "no row has a prompt in a usual column" in done.stderr


def test_score_says_how_many_rows_there_are_and_that_it_resumes(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"type": "math", "answer": "2", "response": "<answer>2</answer>"}\n' * 3)
    said: list[str] = []
    counting = terminal.counting
    monkeypatch.setattr(
        "infinite_rl.cli.score.counting", lambda what: (said.append(what), counting(what))[1]
    )
    done = here("score", rows, "-o", tmp_path / "scored.jsonl")
    assert said == ["completions judged (of 3)"]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("infinite_rl.dataset.scoring.score_file", interrupted)
    done = here("score", rows, "-o", tmp_path / "other.jsonl")
    assert done.returncode == 130 and "the same command resumes" in done.stderr


def test_an_empty_file_of_any_kind_is_wrong_usage(here: Here, tmp_path: Path) -> None:
    for kind in ("csv", "jsonl", "parquet"):
        (empty := tmp_path / f"rows.{kind}").touch()
        done = here("score", empty, "-o", tmp_path / "out.jsonl")
        assert done.returncode == 2 and f"there is no row in {empty}" in done.stderr, kind


# --- verify --------------------------------------------------------------------------------------
def test_rows_that_no_run_has_written_are_not_verified_but_scored(
    here: Here, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"type": "math", "prompt": "?", "answer": "2"}\n')
    done = here("verify", rows)
    assert done.returncode == 2 and "judge the responses with `infinite-rl score`" in done.stderr
    assert "its columns" not in done.stderr


@pytest.mark.slow
def test_a_data_set_is_proven_again_and_rows_that_fail_are_named(here: Here, rows: Path) -> None:
    whole = here("verify", rows)
    assert (whole.returncode, whole.stdout) == (0, "rows: 4, proven: 4, failed: 0\n")
    with locked(rows):
        busy = here("verify", rows)
        assert (busy.returncode, "a run is writing to the folder" in busy.stderr) == (1, True)
    data = (rows / "dataset.csv").read_text("utf-8")
    build = runtimes.recorded_hash(runtimes.runtime_named("python"))
    (rows / "dataset.csv").write_text(data.replace(build, "feed"), "utf-8")
    refused = here("verify", rows)
    says = rf"^row \d \(\w{{16}}\): its runtime_sha256 is 'feed', and its certificate has '{build}'"
    assert refused.returncode == 1 and re.search(says, refused.stdout)
    (rows / "dataset.csv").write_text(data.replace("<answer>", "<answer>9", 2), "utf-8")
    broken = here("verify", rows)
    assert broken.returncode == 1
    assert re.search(r"^row 1 \(\w{16}\): its response is not that of its cert", broken.stdout)
    assert broken.stdout.endswith("failed: 2\n") or broken.stdout.endswith("failed: 1\n")
    (rows / "dataset.csv").write_text(data, "utf-8")
    assert here("verify", rows, "--sample", 2).stdout.endswith("failed: 0, replayed: 2\n")


@pytest.mark.slow
def test_certificates_are_those_of_their_rows_and_of_their_manifest(here: Here, rows: Path) -> None:
    path = rows / "certificates.jsonl"
    whole = path.read_text("ascii")
    first, *others = whole.splitlines(keepends=True)
    forged = json.dumps(signed({**json.loads(first), "provider": "another"})) + "\n"
    ruined = ["".join(others), whole + first, forged + "".join(others), whole + first[:-9] + "\n"]
    says = ["it has no certificate", "belongs to no row", "is not the file whose digest", "damaged"]
    for text, expected in zip(ruined, says, strict=True):
        path.write_text(text, "ascii")
        done = here("verify", rows)
        assert done.returncode == 1 and expected in done.stdout + done.stderr
    path.unlink()
    assert here("verify", rows).stdout.count("it has no certificate") == 4
    for name in ("certificates.jsonl", "run.json"):
        (rows / name).unlink(missing_ok=True)
    older = here("verify", rows, "--timeout", "7")
    assert older.returncode == 0 and "the rows have no certificates" in older.stdout


@pytest.mark.slow
def test_verify_takes_a_runs_time(here: Here, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []

    def rewards(timeout: float, *own: Any, **more: Any) -> dict[str, RewardFunction]:
        times.append(timeout)
        return get_reward_functions(timeout, *own, **more)

    with monkeypatch.context() as patch:
        patch.setattr("infinite_rl.reward_functions.get_reward_functions", rewards)
        for place in (rows, rows / "dataset.csv"):
            for options in ([], ["--timeout", "9"]):
                assert here("verify", place, *options).returncode == 0
    assert times == [7.0, 9.0, 7.0, 9.0]
    done = here("verify", rows, "--rescore")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rows kept: 4, gained: 0, dropped: 0, ")
    assert done.stdout.endswith(f"in {rows / 'rescored_1'}\n")
    dry = here("verify", rows, "--rescore", "--dry_run")
    assert dry.stdout.endswith("dry run: nothing is written\n")
    assert not (rows / "rescored_2").exists()


# --- the terminal --------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_script_without_arguments_makes_ten_rows_with_a_bar_a_type(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        SCRIPT, env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "120"}, cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    while chunk := _read(master):
        seen += chunk
    os.close(master)
    assert process.wait(60) == 0, seen.decode()
    assert len(load_dataset(tmp_path / "data")) == 10
    for shown in (b"coding", b"math", b"5/5", b"10/10", b"0 rejected"):
        assert shown in seen


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def test_a_log_line_holds_no_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    record = logging.makeLogRecord({"msg": "sent a-key-of-some-length"})
    for variable in KEY_VARIABLES:
        with monkeypatch.context() as patch:
            patch.setenv(variable, "a-key-of-some-length")
            assert terminal._Plain().format(record) == "sent [key]"


@pytest.mark.parametrize("verb", ["generate", "run-examples"])
def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path, verb: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "infinite_rl", verb, *(["--help"] if verb == "generate" else [])],
        env=ENVIRONMENT, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().splitlines()
    assert [line for line in said if not line.startswith("compiling ")] == []  # once a machine
    process.wait(60)


@pytest.mark.parametrize(
    ("stdout", "code", "says"),
    [(">&-", 0, ""), (">/dev/full", 1, "error: No space left on device\n")],
)
def test_a_broken_output_is_no_traceback(tmp_path: Path, stdout: str, code: int, says: str) -> None:
    if "full" in stdout and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "a.jsonl").write_text('{"prompt": "?"}\n')
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m infinite_rl data mix a.jsonl -o b.jsonl {stdout}"],
        env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, says)
    assert (tmp_path / "b.jsonl").exists()


def test_an_unprintable_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "?"}\n')
    screen = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    words = ("data", "mix", tmp_path / "a.jsonl", "-o", tmp_path / "datensätze" / "b.jsonl")
    assert cli.main([str(word) for word in words]) == 0
    assert b"datens\\xe4tze" in screen.buffer.getvalue()  # type: ignore[attr-defined]


def test_what_there_is_to_say_is_said_while_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "LINE_EVERY_S", 0.001)
    asked = threading.Event()

    def more() -> str:
        asked.set()
        return "0 in flight"

    with terminal.counting("rows rated", more) as count:
        assert asked.wait(30)
    with terminal.counting("rows rated", lambda: "") as count:
        count(3)
    assert capsys.readouterr().err.startswith("rows rated, 0 in flight\n")
    assert not [thread for thread in threading.enumerate() if thread.name == "count"]
    said = ["4 in flight"]
    state, screen = terminal._Count("rows rated", lambda: said[-1], 7), Console(file=io.StringIO())
    for text in ("0 in flight", "[bold]"):  # on a terminal it is read anew for each picture
        said.append(text)
        with screen.capture() as seen:
            screen.print(state)
        assert seen.get() == f"rows rated: 7, {text}\n"


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_examples_as_a_module_take_the_options_of_the_verb(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["run_examples.py", "nowhere"])
    with pytest.raises(SystemExit, match="^2$"):
        runpy.run_module("infinite_rl.run_examples", run_name="__main__")
    assert "unrecognized arguments: nowhere" in capsys.readouterr().err


def test_without_the_packages_it_says_what_to_do(tmp_path: Path) -> None:
    """-S hides every installed package from a Python that has them, -I the environment too."""
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import infinite_rl.cli as cli; "
    script += "sys.exit(cli.main(['generate', '--out_dir', 'out']))"
    for arguments in (["-c", script], SCRIPT[1:]):
        bare = [sys.executable, "-I", "-S", *arguments]
        done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "is not installed for" in done.stderr
        assert "Traceback" not in done.stderr


# --- verbs, flags, config files ------------------------------------------------------------------
def test_a_config_file_has_the_flags_keys_and_flags_override_it(here: Here, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        "num_samples: 5\ntask_dist: {math: 1}\nlanguages: [python]\n"
        f"provider: procedural\nout_dir: {tmp_path / 'out'}\ndry_run: true\n"
    )
    for file in ([config], ["--config", config]):
        done = here("generate", *file, "--num_samples", "3")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("math: 0 of 3 rows are there\n")
    for recipe in (ROOT / "configs" / "generate").glob("*.yaml"):
        line = re.search(r"^# run: +infinite-rl (.+)$", recipe.read_text("utf-8"), re.M)
        assert line and read(line[1]).config().values()["seed"] == 42
    out = str(tmp_path / "b.csv")
    config.write_text(f"source: rows.jsonl\nout: {out}\nloose: true\n")
    command = cli.parse(["data", "dedup", "--config", str(config), "--no_loose", "--best", "n"])
    flags = command.config().values()
    assert (flags["loose"], flags["best"], flags["out"]) == (False, "n", out)


def test_a_dash_in_the_name_of_a_flag_is_an_underscore() -> None:
    words = ["generate", "--num-samples", "3", "--out-dir=my-data", "--dry_run"]
    command = cli.parse(words)
    flags = {"num_samples": 3, "out_dir": "my-data", "dry_run": True}
    assert command.flags == flags and command.argv == words
    command = cli.parse(["submit", "c.yaml", "--job-name", "a-b", "--instance-type=ml.p4d"])
    assert (command.flags["job_name"], command.flags["instance_type"]) == ("a-b", "ml.p4d")
    kept = ["a--b-c", "-o", "--out=x--y-z", "--no-option at all", "-", "--", "--not-one"]
    assert normalize_flags(kept) == kept


def test_each_class_of_a_verb_has_its_row() -> None:
    found = set()
    for path in Path(cli.__file__).parent.glob("*.py"):
        module = import_module(f"infinite_rl.cli.{path.stem}") if path.stem != "__init__" else cli
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Verb) and "run" in vars(each):
                found.add(each)
    assert {cli.parse(name.split()).verb for name in commands()} == {
        each for each in found if each is not Verb and not each.__name__.startswith("_")
    } | {cli.parse(["train", each]).verb for each in ("sft", "grpo")}


@pytest.fixture(scope="module")
def helps() -> dict[str, tuple[str, list[str]]]:
    """The help of each verb, and what is loaded by then of what takes long: all in one process."""
    script = (
        "import contextlib, io, json, sys, infinite_rl.cli as cli\n"
        f"heavy = {LIBRARIES}\n"
        "said = {}\n"
        "for verb in sys.argv[1:]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        with contextlib.suppress(SystemExit): cli.main([*verb.split(), '--help'])\n"
        "    said[verb] = out.getvalue(), sorted(heavy & set(sys.modules))\n"
        "print(json.dumps(said))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *HELPS],
        env=ENVIRONMENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said: dict[str, tuple[str, list[str]]] = json.loads(done.stdout)
    return said


def test_every_help_fits_80_columns_and_loads_fast(helps: dict[str, tuple[str, list[str]]]) -> None:
    for verb, (said, loaded) in helps.items():
        assert said.startswith(f"usage: infinite-rl {verb}")
        assert max(map(len, said.splitlines())) <= 80, verb
        assert set(loaded) <= ({"pydantic"} if verb in commands() else set()), verb
        assert verb not in commands() or ("  --json " in said and not re.search(r"--\w+-", said))


def test_the_help_has_examples_that_parse(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    for verb in commands():
        said = here(verb, "--help").stdout.splitlines()[-1]
        examples = re.findall(r"infinite-rl (.+?)(?=[.;]? (?:Exit|Then|infinite-rl)|$)", said)
        assert examples and re.search("Exit code: 0 ", said), verb
        for example in examples:
            assert example.startswith(verb.removesuffix(" TARGET"))
            read(example.rstrip(".;"))


def test_no_verb_at_all_is_answered_with_the_help_and_is_wrong_usage(here: Here) -> None:
    done, help_ = here(), here("--help")
    assert (done.returncode, help_.returncode, done.stdout) == (2, 0, "")
    assert done.stderr == help_.stdout and "usage: infinite-rl" in done.stderr


# --- doctor --------------------------------------------------------------------------------------
@pytest.mark.slow
def test_warm_up_compiles_once(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warm_up(language: str) -> subprocess.CompletedProcess[str]:
        """Run the command with nothing loaded, as a new process would."""
        monkeypatch.setattr(compiled, "_loaded", {})
        return here("doctor", "--warm_up", language, INFINITE_RL_CACHE=str(tmp_path))

    first, again = warm_up("js"), warm_up("JavaScript")
    assert re.fullmatch(r"javascript: compiled in \d+\.\d seconds\n", first.stdout)
    assert (first.returncode, "compiling" in first.stderr) == (0, True)
    assert again.stdout.startswith("javascript: already compiled, loaded in ")
    assert (again.returncode, again.stderr) == (0, "")
    (kept,) = tmp_path.glob("*.cwasm")
    kept.unlink()  # it is mapped into this process
    kept.write_bytes(b"damaged")
    assert warm_up("js").stdout.startswith("javascript: compiled in ")


def test_warm_up_takes_all_languages_by_default_and_that_keeps_nothing_is_no_success(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loaded: list[tuple[str, Code]] = []
    monkeypatch.setattr(
        compiled, "load_compiled", lambda runtime, code: loaded.append((runtime.name, code))
    )
    tmp_path.chmod(0o777)  # others could put code there
    unkept = here("doctor", "--warm_up", "python", INFINITE_RL_CACHE=str(tmp_path))
    assert (unkept.returncode, unkept.stdout) == (1, "")
    assert "python: compiled, but it cannot be kept" in unkept.stderr
    monkeypatch.setattr("infinite_rl.sandbox.compiled.is_compiled", lambda *_: True)
    done = here("doctor", "--warm_up", "all")
    assert done.returncode == 0 and done.stdout.count("already compiled") == len(loaded) - 2
    built = [row for row in runtimes.RUNTIMES if row.is_built and runtimes.is_installed(row)]
    assert [name for name, code in loaded[2:] if code is Code.OPTIMISED] == [
        row.name for row in built
    ]
    assert ("python", Code.METERED) in loaded[2:]  # as `generate` runs it
