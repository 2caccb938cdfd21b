"""`infinite-rl doctor`: each thing that can be missing is named, with what to do."""

import json
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from commands import Here

from infinite_rl import doctor
from infinite_rl.doctor import Finding, findings
from infinite_rl.providers import KEY_VARIABLES
from infinite_rl.sandbox import runtimes

SECRET = "sk-this-is-nobodys-business"


def found(part: str, online: bool = False) -> Finding:
    (one,) = (each for each in findings(online) if each.part.startswith(part))
    return one


def test_each_sandbox_runs_a_program_and_one_that_is_not_built_is_broken(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for language in ("python", "javascript"):
        one = found(f"sandbox {language}")
        assert one.state == "ok" and "ran a program" in one.message
    runtimes.load_guest.cache_clear()
    monkeypatch.setattr(runtimes, "_FOLDER", tmp_path)
    one = found("sandbox python")
    assert one.state == "broken" and "build_src/build_wasm.sh" in one.message
    assert here("doctor").returncode == 1


PACKAGES = [
    (["no-such-package>=1.0", "pytest>=1"], "infinite-rl", "no-such-package is not installed"),
    (["pytest>=1000.1"], "infinite-rl", "and >=1000.1 is needed"),
    (["pytest==1.0"], "infinite-rl", "and ==1.0 is needed"),
]


def test_a_missing_package_is_broken(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    required: list[str] = []
    monkeypatch.setattr(doctor, "requires", lambda _: required)
    for lines, part, said in PACKAGES:
        required[:] = lines
        one = found(part)
        assert one.state == "broken" and one.message.endswith(said)
        assert one.todo == "pip install 'infinite-rl'"
    required[:] = ["pytest>=1", 'no-such-package[cli]>=2; extra == "more"']
    one = found("extra more")
    assert (one.state, one.todo) == ("absent", "pip install 'infinite-rl[more]'")
    required += [f'no-package-{n}>=2; extra == "more"' for n in range(4)]
    done = here("doctor")
    assert done.returncode == 0 and "no-package-3 is not installed" in " ".join(done.stdout.split())
    lines = [line for line in done.stdout.splitlines() if "/" not in line]  # a path may be long
    assert max(map(len, lines)) <= 80


def test_an_unwritable_cache_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "file" / "below"))
    one = found("cache")
    assert one.state == "broken" and "INFINITE_RL_CACHE" in one.todo


def test_a_key_is_never_shown_json_has_lines(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = dict.fromkeys(KEY_VARIABLES, SECRET)
    done = here("doctor --json", **keys)
    assert SECRET not in done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(line.keys() == {"part", "state", "message", "todo"} for line in lines)
    assert {"Python", "cache", "GPU"} <= {line["part"] for line in lines}
    key = Finding(KEY_VARIABLES[0], "ok", "is set")
    assert [line for line in lines if line["part"] == key.part] == [vars(key)]


class Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:  # noqa: N802 -- the handler's own form
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_a_refusing_service_is_reached_a_silent_one_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.handle_request, daemon=True).start()
        address = f"http://user:{SECRET}@127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", address)
        one = doctor._service("hub")
    assert one.state == "ok" and SECRET not in one.message
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        one = doctor._service("hub")
    assert one.state == "absent" and "HF_ENDPOINT" in one.todo
