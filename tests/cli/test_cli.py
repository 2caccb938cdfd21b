"""The command line as a person meets it; in a process of its own where that is what matters."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import re
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import gemini_server as gemini
import openai_server as openai
import pytest
from commands import commands, read
from rich.console import Console
from test_package import LIBRARIES

from infinite_rl import cli
from infinite_rl.cli import terminal
from infinite_rl.cli.verb import Verb, normalize_flags
from infinite_rl.dataset import load_dataset
from infinite_rl.launch import container
from infinite_rl.layout import render, tagged
from infinite_rl.procedural import ProceduralProvider
from infinite_rl.providers import DEFAULT_MODEL, KEY_VARIABLES
from infinite_rl.reward_functions import RewardFunction, get_reward_functions
from infinite_rl.sandbox import runtimes

ROOT = Path(__file__).parents[2]
Here = Callable[..., "subprocess.CompletedProcess[str]"]
NO_KEY = {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": ""}


HELPS = ["", *(verb for verb in cli.VERBS if verb not in commands()), *commands()]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, str(ROOT / "scripts" / "generate.py"), *map(str, arguments)]


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        env={**os.environ, **NO_KEY, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """What a process would give, of this one: most of a second faster."""

    def call(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        for name, value in {**NO_KEY, **environment}.items():
            monkeypatch.setenv(name, value)
        try:
            code = cli.main([str(each) for each in arguments])
        except SystemExit as left:  # how argparse ends
            assert isinstance(left.code, int)
            code = left.code
        told = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, told.out, told.err)

    return call


@pytest.mark.slow
def test_without_a_key_it_makes_verified_rows_offline_and_says_so(tmp_path: Path) -> None:
    done = run("--num_samples", "6", "--out_dir", tmp_path / "out", "--threads", "2")
    assert done.returncode == 0, done.stderr
    assert "provider: procedural (no GEMINI_API_KEY" in done.stderr
    rows = load_dataset(tmp_path / "out")
    assert sorted(rows["type"]) == ["coding"] * 3 + ["math"] * 3
    assert "rows made: 6" in done.stdout

    again = run("--num_samples", "6", "--out_dir", tmp_path / "out")
    assert again.returncode == 0
    assert "rows made: 0, there before: 6" in again.stdout
    assert "calls answered: 0" in again.stdout


@pytest.mark.slow
def test_with_a_key_it_asks_gemini_and_says_so(tmp_path: Path) -> None:
    procedural = ProceduralProvider()

    def right(request: gemini.Request) -> str:
        return procedural.complete(request.system, request.prompt, request.seed or 0).text

    with gemini.GeminiServer(right) as server:
        options = ["--num_samples", "2", "--temperature", "0.5", "--max_output_tokens", "4096"]
        options += ["--thinking", "low", "--verify", "0"]
        done = run(*options, "--out_dir", tmp_path, **server.environment)
        sent = server.requests[0].body["generationConfig"]
    assert done.returncode == 0, done.stderr
    assert "provider: gemini" in done.stderr
    assert done.stderr.count("does not heed --temperature") == 1
    assert (sent["temperature"], sent["maxOutputTokens"]) == (0.5, 4096 + 1024)
    assert sent["thinkingConfig"] == {"thinkingLevel": "LOW"}
    assert list(load_dataset(tmp_path)["model"]) == [DEFAULT_MODEL] * 2


WRONG = [
    ("--task_dist 1,1,1", "got 3"),
    ("--task_dist 0,0", "above 0"),
    ("--task_dist a,b", "numbers"),
    ("--task_dist coding=1,physics=1", "physics"),
    ("--num_samples 0", "num_samples must be at least 1"),
    ("--num_samples many", "num_samples must be a whole number, not 'many'"),
    ("--threads 0", "error: threads must be at least 1, not 0"),
    ("--engine spark", "engine must be one of local, ray, not 'spark'"),
    ("--languages cobol", "cobol"),
    ("--provider oracle", "oracle"),
    ("--timeout -1", "timeout"),
    ("--nonsense", "nonsense"),
    ("--topics none.txt", "none.txt"),
    ("--topics empty.txt", "no topics"),
    ("--workers 2", "error: --workers needs --engine ray"),
    ("--verify 2 --provider procedural", "--verify needs a provider that asks a model"),
    ("-v -q", "--verbose and --quiet exclude each other"),
]


def test_wrong_usage_is_one_clear_line_and_exit_2(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_text("\n", encoding="utf-8")
    for words, said in WRONG:
        done = here("generate", *words.split(), "--out_dir", "out")
        assert done.returncode == 2 and said in done.stderr.splitlines()[-1], words
        assert "Traceback" not in done.stderr and not Path("out").exists()


def test_asking_for_gemini_without_a_key_names_the_variable(here: Here, tmp_path: Path) -> None:
    done = here("generate", "--provider", "gemini", "--out_dir", tmp_path / "out")
    assert done.returncode == 1
    assert "GEMINI_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_estimate_needs_no_key(here: Here, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"type": "math", "prompt": "1 + 1?", "answer": "2"}\n')
    options = ("--provider", "gemini", "--dry_run")
    for words in (
        ("generate", "--num_samples", "7", "--verify", "2", "--verify_model", "m", "--structured"),
        ("generate", "--num_samples", "7", "--batch"),
        ("solve", "difficulty", rows, "-o", tmp_path / "rated.jsonl"),
    ):
        out = ("--out_dir", tmp_path / "out") if words[0] == "generate" else ()
        done = here(*words, *out, *options)
        assert done.returncode == 0, done.stderr
        assert "estimate, by rule of thumb" in done.stdout
    assert list(tmp_path.iterdir()) == [rows]


@pytest.mark.slow
def test_a_foreign_data_set_is_refused_in_one_line(here: Here, tmp_path: Path) -> None:
    (tmp_path / "dataset.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = here("generate", "--out_dir", tmp_path)
    assert done.returncode == 1
    assert "dataset.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "dataset.csv").read_text(encoding="utf-8") == "a,b\n1,2\n"


@pytest.mark.slow
def test_a_target_that_is_not_reached_exits_1_and_says_why(here: Here, tmp_path: Path) -> None:
    with gemini.GeminiServer(lambda _: "no sample at all") as server:
        options = ("--num_samples", "2", "--max_retries", "1", "--out_dir", tmp_path)
        done = here("generate", *options, **server.environment)
    assert done.returncode == 1
    assert "target not reached: coding lacks 1, math lacks 1: 1 samples in a row" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_keeps_everything(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The calls under way when the signal comes are answered after it, and are kept."""
    procedural = ProceduralProvider()
    arrived = threading.Semaphore(0)
    gate = threading.Event()

    def right(request: gemini.Request) -> str:
        arrived.release()
        gate.wait(60)
        return procedural.complete(request.system, request.prompt, request.seed or 0).text

    with gemini.GeminiServer(right) as server:
        process = subprocess.Popen(
            command(
                "--num_samples", "50", "--threads", "2", "--verify", "0", "--out_dir", tmp_path
            ),
            env={**os.environ, "PYTHONPATH": str(ROOT), **server.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for _ in range(2):
            assert arrived.acquire(timeout=60)
        process.send_signal(number)
        for line in process.stderr:
            if line.startswith("stopping"):
                break
        gate.set()
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert len(load_dataset(tmp_path)) == 2
    assert "rows made: 2" in output


def a_run_with_a_retry_and_a_rejection() -> gemini.GeminiServer:
    replies = iter([gemini.rate_limited("0.01s"), gemini.text("no sample at all")])
    right = gemini.text(render("What is 1 + 1?", "2", tagged("2")))
    return gemini.GeminiServer(lambda _: next(replies, right))


@pytest.mark.slow
def test_retries_are_counted_and_with_v_printed_one_by_one_and_with_q_not_at_all(
    here: Here, tmp_path: Path
) -> None:
    options = ("--num_samples", "1", "--task_dist", "0,1", "--verify", "0", "--out_dir")
    told = {}
    for flag in ("--seed=0", "-v", "-q"):
        with a_run_with_a_retry_and_a_rejection() as server:
            done = here("generate", *options, tmp_path / flag, flag, **server.environment)
        assert done.returncode == 0, done.stderr
        assert "1 rejected (incomplete 1)" in done.stdout
        assert "repeated: 1 (429 x1)" in done.stdout
        log = (tmp_path / flag / "run.log").read_text("utf-8")
        assert " retry " in log and " rejected math/0/0/0 incomplete: " in log
        assert gemini.KEY not in log
        told[flag] = done.stderr
    for kind in ("1 try failed, again in", "rejected math/0/0/0 incomplete"):
        assert [kind in each for each in told.values()] == [False, True, False]
    assert told["-q"] == "", "the end is on stdout, and nothing went wrong"


@pytest.mark.slow
def test_debug_logs_verbosely_and_never_the_key(tmp_path: Path) -> None:
    with gemini.GeminiServer(lambda _: f"the key is {gemini.KEY}") as server:
        options = ("--num_samples", "1", "--debug", "--max_retries", "1", "--out_dir", tmp_path)
        done = run(*options, **server.environment)
    assert gemini.KEY not in done.stdout + done.stderr
    assert "INFO infinite_rl.generation.run: rejected coding/0/4/2 incomplete" in done.stderr
    assert list((tmp_path / "debug_prompts").iterdir())


@pytest.mark.slow
def test_a_server_of_openais_protocol_is_asked_and_its_key_is_nowhere(
    here: Here, tmp_path: Path
) -> None:
    with openai.OpenAIServer(lambda _: f"the key is {openai.KEY}") as server:
        options = ("--provider", "openai_compatible", "--model_name", "m", "--debug")
        more = ("--num_samples", "1", "--max_retries", "1", "--out_dir", tmp_path)
        done = here("generate", *options, *more, **server.environment)
    assert done.returncode == 1, done.stderr
    assert server.kinds["text"] > 0
    files = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("the key is [key]" in text for text in files)
    assert openai.KEY not in "".join((done.stdout, done.stderr, *files))


@pytest.mark.parametrize("variable", KEY_VARIABLES)
def test_a_log_line_holds_no_key_of_the_environment(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "a-key-of-some-length")
    record = logging.makeLogRecord({"msg": "sent a-key-of-some-length"})
    assert terminal._Plain().format(record) == "sent [key]"


@pytest.mark.slow
def test_a_data_set_that_a_spreadsheet_saved_is_refused_with_the_reason(
    here: Here, tmp_path: Path
) -> None:
    here("generate", "--num_samples", "2", "--out_dir", tmp_path)
    file = tmp_path / "dataset.csv"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    done = here("generate", "--num_samples", "4", "--out_dir", tmp_path)
    assert done.returncode == 1
    assert "a spreadsheet saved it" in done.stderr


@pytest.mark.slow
def test_options_that_the_embedded_provider_has_no_use_for_are_named(
    here: Here, tmp_path: Path
) -> None:
    options = ("--temperature", "1", "--topics", "knots", "--num_samples", "1")
    done = here("generate", *options, "--out_dir", tmp_path)
    assert done.returncode == 0
    assert "asks no model: --temperature, --topics not used" in done.stderr


def test_settings_without_meaning_are_refused_before_anything_is_asked(
    here: Here, tmp_path: Path
) -> None:
    with gemini.GeminiServer(lambda _: gemini.bad_key()) as server:
        for setting in ("temperature=nan", "temperature=-1", "max_output_tokens=0"):
            words = ("generate", f"--{setting}", "--out_dir", tmp_path / "out")
            done = here(*words, **server.environment)
            assert done.returncode == 2
            assert setting.partition("=")[0] in done.stderr.splitlines()[-1]
        assert not server.requests


@pytest.mark.parametrize("verb", ["generate", "run-examples"])
def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path, verb: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "infinite_rl", verb, *(["--help"] if verb == "generate" else [])],
        env={**os.environ, **NO_KEY, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.wait(60)


@pytest.mark.parametrize(
    ("stdout", "code", "says"),
    [(">&-", 0, ""), (">/dev/full", 1, "error: No space left on device\n")],
)
def test_an_output_that_cannot_be_written_to_is_no_traceback(
    tmp_path: Path, stdout: str, code: int, says: str
) -> None:
    if "full" in stdout and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "a.jsonl").write_text('{"prompt": "?"}\n')
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m infinite_rl data mix a.jsonl -o b.jsonl {stdout}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, says)
    assert (tmp_path / "b.jsonl").exists()


def test_nothing_to_prove_is_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is a file that is no CSV, whose one line ends inside what would be a row."""
    for name, text in (("empty.csv", ""), ("rows.jsonl", '{"a":1,"b":"x"}\n')):
        (tmp_path / name).write_text(text)
        assert cli.main(["verify", str(tmp_path / name)]) == 1
        assert f"error: there is no row in {tmp_path / name}" in capsys.readouterr().err


def test_what_there_is_to_say_is_said_while_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_LINE_EVERY_S", 0.001)
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


def test_on_a_terminal_the_count_is_read_anew_for_each_picture() -> None:
    said = ["4 in flight"]
    count = terminal._Count("rows rated", lambda: said[-1])
    screen = Console(file=io.StringIO(), width=80)
    count(7)
    for text in ("0 in flight", "[bold]"):
        said.append(text)
        with screen.capture() as seen:
            screen.print(count)
        assert seen.get() == f"rows rated: 7, {text}\n"


def test_an_interrupt_is_one_word_wherever_it_strikes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("infinite_rl.cli.doctor.RunExamples.run", interrupted)
    assert cli.main(["run-examples"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_file_that_the_system_refuses_is_named(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied", "locked/run.json")

    monkeypatch.setattr("infinite_rl.cli.doctor.RunExamples.run", refused)
    monkeypatch.setattr(cli, "_discard_output", lambda: None)
    done = here("run-examples")
    assert done.returncode == 1
    assert done.stderr == "error: cannot use locked/run.json: Permission denied\n"


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_examples_as_a_module_take_the_options_of_the_verb(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["run_examples.py", "nowhere"])
    with pytest.raises(SystemExit, match="^2$"):
        runpy.run_module("infinite_rl.run_examples", run_name="__main__")
    assert "unrecognized arguments: nowhere" in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_whose_name_the_terminal_cannot_show_is_no_traceback(tmp_path: Path) -> None:
    where = tmp_path / "datensätze"
    done = run("--num_samples", "1", "--out_dir", where, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "datens\\xe4tze" in done.stdout


def test_without_the_packages_it_says_what_to_do(tmp_path: Path) -> None:
    """-S hides every installed package from a Python that has them, -I the environment too."""
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import infinite_rl.cli as cli; "
    script += "sys.exit(cli.main(['generate', '--out_dir', 'out']))"
    bare = [sys.executable, "-I", "-S"]
    for arguments in (["-c", script], [str(ROOT / "scripts" / "generate.py")]):
        done = subprocess.run(
            [*bare, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "is not installed for" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_what_a_server_says_cannot_steer_the_terminal(here: Here, tmp_path: Path) -> None:
    refused = gemini.error(403, "PERMISSION_DENIED", "no \x1b[2J\x1b]0;title\x07 entry")
    with gemini.GeminiServer(lambda _: refused) as server:
        done = here("generate", "--num_samples", "1", "--out_dir", tmp_path, **server.environment)
    assert done.returncode == 1
    assert "entry" in done.stderr
    assert not {"\x1b", "\x07"} & set(done.stderr + done.stdout)


@pytest.mark.slow
def test_topics_come_from_a_list_or_a_file(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "topics.txt"
    file.write_text("knots, and braids\n\nprimes\n", encoding="utf-8")
    for topics, expected in (("knots,primes", "knots"), (str(file), "knots, and braids")):
        with gemini.GeminiServer(lambda _: gemini.bad_key()) as server:
            here(
                "generate", "--topics", topics, "--out_dir", tmp_path / "out", **server.environment
            )
            asked = server.requests[0].prompt
        assert f"about this topic: {expected}\n" in asked + "\n"


@pytest.mark.slow
def test_on_a_terminal_it_shows_a_bar_for_each_type(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command("--num_samples", "4", "--out_dir", tmp_path),
        env={**os.environ, **NO_KEY, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
        stdout=subprocess.DEVNULL,
        stderr=slave,
    )
    os.close(slave)
    seen = b""
    while chunk := _read(master):
        seen += chunk
    os.close(master)
    assert process.wait(60) == 0, seen.decode()
    for shown in (b"coding", b"math", b"2/2", b"4/4", b"0 rejected"):
        assert shown in seen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


MISSPELT = [
    ("generate", "--num-smaples 5", "--num_smaples; did you mean --num_samples?"),
    ("train demo", "--no-such", "--no_such"),
    ("generate", "--num-sample 5", "--num_sample; did you mean --num_samples?"),
    ("generate", "--dry", "--dry; did you mean --dry_run?"),
    ("generate", "--max_co=1", "--max_co=1; did you mean --max_concurrency or --max_cost?"),
    ("data split", "x --shar=5", "--shar=5; did you mean --shares?"),
]


def test_a_misspelt_flag_is_one_line_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, words, said in MISSPELT:
        with pytest.raises(SystemExit, match="^2$"):
            cli.parse(f"{verb} {words}".split())
        expected = f"infinite-rl {verb}: error: unrecognized arguments: {said}"
        assert capsys.readouterr().err == f"{expected} (see infinite-rl {verb} --help)\n"


UNREADABLE = [
    (["--json"], "error: there is no verb '--json'; known: generate, "),
    (["data"], "error: data needs one of load, dedup, "),
    (["export", "a"], "error: out is missing: the folder to write"),
    (["verify"], "error: out_dir is missing: the folder of a run"),
    (["generate", "--seed", "x"], "error: seed must be a whole number, not 'x'"),
    (["generate", "--seed"], "infinite-rl generate: error: argument --seed: expected one argument"),
    (["generate", "--out_dir", ""], "error: out_dir must not be empty"),
    (["generate", ""], "error: the name of the config file is empty"),
    (["verify", ""], "error: out_dir must not be empty"),
    (["score", "a", "-o", ""], "error: out must not be empty"),
]


def test_a_command_that_cannot_be_read_is_one_line(here: Here) -> None:
    for words, said in UNREADABLE:
        done = here(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(said) and done.stderr.count("\n") == 1


def test_no_command_takes_an_abbreviation(here: Here) -> None:
    for name in commands():
        done = here(*name.split(), "--jso")
        assert done.returncode == 2 and "did you mean --json" in done.stderr
    assert not container.parser().allow_abbrev


def test_a_config_file_has_the_keys_of_the_flags_which_override_it(
    here: Here, tmp_path: Path
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        "num_samples: 5\ntask_dist: {math: 1}\nlanguages: [python]\n"
        f"provider: procedural\nout_dir: {tmp_path / 'out'}\ndry_run: true\n"
    )
    done = here("generate", config, "--num_samples", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("math: 0 of 3 rows are there\n")
    for recipe in (ROOT / "configs" / "generate").glob("*.yaml"):
        line = re.search(r"^# run: +infinite-rl (.+)$", recipe.read_text("utf-8"), re.M)
        assert line and read(line[1]).config().values()["seed"] == 42
    config.write_text("nums: 5\n")
    done = here("generate", config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {config}: unknown key 'nums'")
    (tmp_path / "rows.jsonl").write_text('{"prompt": "?"}\n')
    config.write_text(
        f"source: {tmp_path / 'rows.jsonl'}\nout: {tmp_path / 'b.csv'}\nloose: true\n"
    )
    out = tmp_path / "b.csv"
    command = cli.parse(["data", "dedup", "--config", str(config), "--no_loose", "--best", "n"])
    flags = command.config().values()
    assert (flags["loose"], flags["best"], flags["out"]) == (False, "n", str(out))


def test_no_verb_at_all_is_answered_with_the_help_and_is_wrong_usage(here: Here) -> None:
    done, help_ = here(), here("--help")
    assert (done.returncode, help_.returncode, done.stdout) == (2, 0, "")
    assert done.stderr == help_.stdout
    assert "generate" in done.stderr and "usage: infinite-rl" in done.stderr


@pytest.mark.slow
def test_the_script_without_arguments_makes_ten_rows(tmp_path: Path) -> None:
    done = subprocess.run(
        command(),
        env={**os.environ, **NO_KEY, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(load_dataset(tmp_path / "data")) == 10


VERB_HINTS = [
    ("generat", "; did you mean generate?"),
    ("run_examples", "; did you mean run-examples?"),
    ("data slit", "; did you mean split?"),
    ("xyzzy", "; known: generate, verify, "),
    ("", "; known: generate, verify, "),
]


def test_a_verb_that_there_is_not_is_told_with_the_nearest(here: Here) -> None:
    for verb, hint in VERB_HINTS:
        done = here(*verb.split(" "))
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: there is no verb {verb!r}{hint}")


def test_each_class_of_a_verb_has_its_row() -> None:
    found = set()
    for path in Path(cli.__file__).parent.glob("*.py"):
        module = import_module(f"infinite_rl.cli.{path.stem}") if path.stem != "__init__" else cli
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Verb) and "run" in vars(each):
                found.add(each)
    assert {cli.parse([*name.split(), *["x"] * 0]).verb for name in commands()} == {
        each for each in found if each is not Verb and not each.__name__.startswith("_")
    } | {cli.parse(["train", each]).verb for each in ("sft", "grpo")}


def test_a_dash_in_the_name_of_a_flag_is_an_underscore() -> None:
    words = ["generate", "--num-samples", "3", "--out-dir=my-data", "--dry_run"]
    command = cli.parse(words)
    flags = {"num_samples": 3, "out_dir": "my-data", "dry_run": True}
    assert command.flags == flags and command.argv == words
    command = cli.parse(["submit", "c.yaml", "--job-name", "a-b", "--instance-type=ml.p4d"])
    assert (command.flags["job_name"], command.flags["instance_type"]) == ("a-b", "ml.p4d")
    kept = ["a--b-c", "-o", "--out=x--y-z", "--no-option at all", "-", "--", "--not-one"]
    assert normalize_flags(kept) == kept


@pytest.fixture(scope="module")
def helps() -> dict[str, tuple[str, list[str]]]:
    """The help of each verb, and what is loaded by then of what takes long: all in one process."""
    script = (
        "import contextlib, io, json, sys, infinite_rl.cli as cli\n"
        f"heavy = {LIBRARIES}\n"
        "told = {}\n"
        "for verb in sys.argv[1:]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        with contextlib.suppress(SystemExit): cli.main([*verb.split(), '--help'])\n"
        "    told[verb] = out.getvalue(), sorted(heavy & set(sys.modules))\n"
        "print(json.dumps(told))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *HELPS],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    told: dict[str, tuple[str, list[str]]] = json.loads(done.stdout)
    return told


def test_every_help_teaches_at_80_columns_without_loading_anything_heavy(
    helps: dict[str, tuple[str, list[str]]],
) -> None:
    for verb, (said, loaded) in helps.items():
        assert said.startswith(f"usage: infinite-rl {verb}")
        assert max(map(len, said.splitlines())) <= 80, verb
        assert set(loaded) <= ({"pydantic"} if verb in commands() else set()), verb


def warm_up(*languages: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "infinite_rl", "doctor", "--warm_up", *languages],
        env={**os.environ, "PYTHONPATH": str(ROOT), "INFINITE_RL_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_warm_up_compiles_once_and_says_so(tmp_path: Path) -> None:
    first = warm_up("js", cache=tmp_path)
    assert re.fullmatch(r"javascript: compiled in \d+\.\d seconds\n", first.stdout)
    assert (first.returncode, "compiling" in first.stderr) == (0, True)
    again = warm_up("JavaScript", cache=tmp_path)
    assert again.stdout.startswith("javascript: already compiled, loaded in ")
    assert (again.returncode, again.stderr) == (0, "")
    (compiled,) = tmp_path.glob("*.cwasm")
    compiled.write_bytes(b"damaged")
    assert warm_up("js", cache=tmp_path).stdout.startswith("javascript: compiled in ")


def test_warm_up_takes_all_languages_by_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(runtimes, "load_guest", lambda runtime: loaded.append(runtime.name))
    monkeypatch.setattr("infinite_rl.sandbox.engine.is_compiled", lambda _: True)
    assert cli.main(["doctor", "--warm_up", "all"]) == 0
    assert loaded == [runtime.name for runtime in runtimes.RUNTIMES]
    assert capsys.readouterr().out.count("already compiled") == len(loaded)


def test_warm_up_that_keeps_nothing_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)  # others could put code there
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path))
    monkeypatch.setattr(runtimes, "load_guest", lambda _: None)
    assert cli.main(["doctor", "--warm_up", "python"]) == 1
    told = capsys.readouterr()
    assert "python: compiled, but it cannot be kept" in told.err
    assert told.out == ""


def test_warm_up_refuses_an_unknown_language(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--warm_up", "cobol"]) == 2
    assert "cobol" in capsys.readouterr().err


@pytest.mark.slow
def test_a_data_set_is_proven_again_and_rows_that_fail_are_named(
    here: Here, tmp_path: Path
) -> None:
    assert here("generate", "--num_samples", "4", "--out_dir", tmp_path).returncode == 0
    whole = here("verify", tmp_path)
    assert (whole.returncode, whole.stdout) == (0, "rows: 4, proven: 4, failed: 0\n")
    data = (tmp_path / "dataset.csv").read_text("utf-8")
    build = runtimes.recorded_hash(runtimes.runtime_named("python"))
    (tmp_path / "dataset.csv").write_text(data.replace(build, "feed"), "utf-8")
    noted = here("verify", tmp_path)
    note = f"note: made under another judge, rows: 1 (runtime_sha256 was feed, is {build})\n"
    assert (noted.returncode, noted.stdout) == (0, f"{note}rows: 4, proven: 4, failed: 0\n")
    (tmp_path / "dataset.csv").write_text(data.replace("<answer>", "<answer>9", 2), "utf-8")
    broken = here("verify", tmp_path)
    assert broken.returncode == 1
    assert re.search(r"^row 1 \(\w{16}\): its id is not the hash of its content", broken.stdout)
    assert broken.stdout.endswith("failed: 2\n") or broken.stdout.endswith("failed: 1\n")


@pytest.mark.slow
@pytest.mark.parametrize(("options", "expected"), [([], 7.0), (["--timeout", "9"], 9.0)])
def test_rows_are_proven_again_in_the_runs_own_time_unless_another_is_given(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], expected: float
) -> None:
    made = here(
        "generate",
        "--num_samples",
        "1",
        "--task_dist",
        "0,1",
        "--timeout",
        "7",
        "--out_dir",
        tmp_path,
    )
    assert made.returncode == 0, made.stderr
    times: list[float] = []

    def rewards(timeout: float) -> dict[str, RewardFunction]:
        times.append(timeout)
        return get_reward_functions(timeout)

    monkeypatch.setattr("infinite_rl.reward_functions.get_reward_functions", rewards)
    for place in (tmp_path, tmp_path / "dataset.csv"):
        assert cli.main(["verify", str(place), *options]) == 0
    assert times == [expected, expected]


@pytest.mark.slow
def test_answers_are_judged_again_without_a_call(here: Here, tmp_path: Path) -> None:
    assert here("generate", "--num_samples", "4", "--out_dir", tmp_path).returncode == 0
    done = here("verify", tmp_path, "--rescore")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rows kept: 4, gained: 0, dropped: 0, ")
    assert done.stdout.endswith(f"in {tmp_path / 'rescored_1'}\n")
    dry = here("verify", tmp_path, "--rescore", "--dry_run")
    assert dry.stdout.endswith("dry run: nothing is written\n")
    assert not (tmp_path / "rescored_2").exists()


def test_a_plan_for_a_cluster_needs_none(here: Here, tmp_path: Path) -> None:
    options = ("--engine", "ray", "--workers", "3", "--dry_run", "--num_samples", "9")
    done = here("generate", *options, "--out_dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "coding: 0 of 5 rows are there\nmath: 0 of 4 rows are there\n" in done.stdout
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there_is_wrong_usage_in_one_line(here: Here) -> None:
    words = ["verify nowhere", "verify nowhere --rescore", "generate --out_dir nowhere --status"]
    words += ["generate --out_dir nowhere --resume", "score nowhere -o a.csv"]
    words += ["report nowhere -o a.html", "export nowhere --to jsonl -o a"]
    for line in words:
        done = here(*line.split())
        assert done.returncode == 2
        assert re.fullmatch(r"error: there is no .*nowhere.*\n", done.stderr), line


@pytest.mark.slow
def test_what_solutions_may_cost_is_said_before_it_is_spent(here: Here, tmp_path: Path) -> None:
    with gemini.GeminiServer(lambda _: gemini.bad_key()) as server:
        options = ("--num_samples", "7", "--price", "1,1", "--task_dist", "0,1")
        done = here("generate", *options, "--out_dir", tmp_path, **server.environment)
    assert re.search(r"estimate, by rule of thumb: .* 28 calls, .* tokens in, .*\$0\.", done.stderr)
