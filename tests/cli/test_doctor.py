"""`infinite-rl doctor`: each thing that can be missing is named, with what to do."""

from __future__ import annotations

import json
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from infinite_rl import doctor
from infinite_rl.cli import main
from infinite_rl.doctor import Finding, findings
from infinite_rl.providers import KEY_VARIABLES
from infinite_rl.sandbox import runtimes

SECRET = "sk-this-is-nobodys-business"


def found(part: str, online: bool = False) -> Finding:
    (one,) = (each for each in findings(online) if each.part.startswith(part))
    return one


def needs(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(doctor, "requires", lambda _: list(lines))


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_each_sandbox_runs_a_program(language: str) -> None:
    one = found(f"sandbox {language}")
    assert one.state == "ok"
    assert "ran a program" in one.message


def test_a_sandbox_that_is_not_built_is_broken_and_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runtimes.load_guest.cache_clear()
    monkeypatch.setattr(runtimes, "_FOLDER", tmp_path)
    one = found("sandbox python")
    assert one.state == "broken"
    assert "build_src/build_wasm.sh" in one.message
    assert main(["doctor"]) == 1


PACKAGES = [
    (["no-such-package>=1.0", "pytest>=1"], "infinite-rl", "no-such-package is not installed"),
    (["pytest>=1000.1"], "infinite-rl", "and >=1000.1 is needed"),
    (["pytest==1.0"], "infinite-rl", "and ==1.0 is needed"),
]


def test_a_package_that_is_missing_or_of_another_version_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for lines, part, said in PACKAGES:
        needs(monkeypatch, *lines)
        one = found(part)
        assert one.state == "broken" and one.message.endswith(said)
        assert one.todo == "pip install 'infinite-rl'"


def test_an_extra_that_is_missing_is_only_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    needs(monkeypatch, "pytest>=1", 'no-such-package[cli]>=2; extra == "more"')
    one = found("extra more")
    assert (one.state, one.todo) == ("absent", "pip install 'infinite-rl[more]'")
    assert main(["doctor"]) == 0


def test_a_cache_that_cannot_be_made_is_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "file" / "below"))
    one = found("cache")
    assert one.state == "broken"
    assert "INFINITE_RL_CACHE" in one.todo


def test_a_key_is_told_of_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in KEY_VARIABLES:
        monkeypatch.setenv(name, SECRET)
    assert found(KEY_VARIABLES[0]) == Finding(KEY_VARIABLES[0], "ok", "is set")
    main(["doctor"])
    assert SECRET not in capsys.readouterr().out


def test_json_is_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(line.keys() == {"part", "state", "message", "todo"} for line in lines)
    assert {"Python", "cache", "GPU"} <= {line["part"] for line in lines}


class Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:  # noqa: N802 -- the handler's own form
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_a_service_that_refuses_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.handle_request, daemon=True).start()
        address = f"http://user:{SECRET}@127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", address)
        one = doctor._service("hub")
    assert one.state == "ok"
    assert SECRET not in one.message


def test_a_service_that_does_not_answer_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        one = doctor._service("hub")
    assert one.state == "absent"
    assert "HF_ENDPOINT" in one.todo
