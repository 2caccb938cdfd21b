"""The server in a process of its own, with real clients, and with those that mean it harm."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
aiohttp = pytest.importorskip("aiohttp")
httpx2 = pytest.importorskip("httpx2")

import requests
from probe_reward import row
from reward_server import PROBE, TOKEN, Server, command, environment, serving
from test_docs import PAGES, blocks

from infinite_rl.dataset.ground_truth import pack
from infinite_rl.errors import JudgingUnavailable, UsageError
from infinite_rl.serve.protocols import PROTOCOLS
from infinite_rl.types import Sample

pytestmark = pytest.mark.slow  # each server is a process with workers
LOOK_S = 0.05  # between two looks at a server, which has other work to do
MATH = {"type": "math", "answer": "7"}
LABEL, UNREADABLE = pack(Sample("math", "", "7", "")), pack(Sample("math", "", "", ""))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for all tests that leave it as it was."""
    flags = ["--rewards", f"math,coding,{PROBE}", "--workers", "2", "--deadline", "20"]
    with serving(*flags, "--client_timeout", "0.5", "--body_mb", "1") as each:
        yield each


@pytest.fixture(autouse=True)
def nothing_stays_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test does, its jobs and bytes do not stay, and the server still judges."""
    yield
    if "server" in request.fixturenames:
        each: Server = request.getfixturevalue("server")
        each.until("ok", queue=0)
        while each.metric("infinite_rl_body_bytes"):
            pass
        assert each.client().rewards([row()], ["7"]) == [1.0]


# --- clients as they are -------------------------------------------------------------------------
def test_the_client_gets_the_verdicts_of_the_rewards(server: Server) -> None:
    client = server.client()
    rows = [MATH, MATH, {"type": "math", "answer": ""}]
    texts = ["<answer>7</answer>", "<answer>8</answer>", "<answer>7</answer>"]
    assert client.rewards(rows, texts) == [1.0, 0.0, None]
    assert client.score(rows, texts)[2].status == "unscored"
    assert client.rewards([], []) == []
    assert client.run_code("print(6 * 7)")["stdout"] == "42\n"
    with pytest.raises(JudgingUnavailable, match="no runtime for 'java'"):
        client.run_code("class A {}", "java")
    with pytest.raises(UsageError, match="HTTP 422: row 1: unknown reward 'poem'"):
        client.rewards([{"type": "poem", "answer": "7"}], ["7"])


def test_a_client_of_sandbox_fusion_reads_the_answer(server: Server) -> None:
    # As verl posts it, with the token in the URL.
    url = server.url.replace("//", f"//verl:{TOKEN}@") + "/run_code"
    payload = {
        **{"compile_timeout": 10, "run_timeout": 10, "code": "print(input())", "stdin": "a\n"},
        **{"memory_limit_MB": 1024, "language": "python", "files": {}, "fetch_files": []},
    }
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    reply = requests.post(url, headers=headers, data=json.dumps(payload), timeout=60)
    answer = reply.json()
    assert (reply.status_code, answer["status"]) == (200, "Success")
    assert answer["run_result"]["stdout"] == "a\n" and answer["run_result"]["return_code"] == 0


def post(url: str, body: Any) -> tuple[int, Any]:
    """POST as OpenRLHF and slime do."""

    async def call() -> tuple[int, Any]:
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as reply:
            return reply.status, await reply.json()

    return asyncio.run(call())


def test_openrlhf_and_slime_get_rewards_with_the_token_in_the_url(server: Server) -> None:
    url = server.url.replace("//", f"//trainer:{TOKEN}@")
    query = "What is 3 + 4?<answer>7</answer><|im_end|>"
    body = {"query": [query], "prompts": ["What is 3 + 4?"], "labels": [LABEL]}
    status, answer = post(f"{url}/openrlhf", body)
    assert (status, answer["rewards"]) == (200, [1.0])
    body = {"prompt": "What is 3 + 4?", "response": "<answer>8</answer>", "label": LABEL}
    status, answer = post(f"{url}/slime", body)
    assert (status, answer["score"], answer["status"]) == (200, 0.0, "failed")
    status, answer = post(f"{url}/slime", {**body, "label": UNREADABLE})
    assert (status, answer["status"]) == (422, "unscored") and "score" not in answer


def test_it_counts_in_the_format_of_prometheus(server: Server) -> None:
    line = 'infinite_rl_scores_total{reward="math",status="passed"}'
    before = server.metric(line)
    server.client().rewards([MATH] * 3, ["<answer>7</answer>"] * 3)
    assert server.metric(line) == before + 3
    reply = server.http().get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "# TYPE infinite_rl_request_seconds histogram" in reply.text
    server.until("ok", workers=2)
    assert server.metric("infinite_rl_workers") == 2


def test_the_guide_is_pasted_and_runs(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INFINITE_RL_SERVE_TOKEN", TOKEN)

    def here(block: str) -> str:
        assert "http://127.0.0.1:8080" in block
        return block.replace("http://127.0.0.1:8080", server.url)

    (python,) = blocks("serve.md", "python")
    exec(compile(here(python), "serve.md", "exec"), {})
    assert capfd.readouterr().out == "[1.0, 0.0]\n42\n\n"
    (curl,) = (each for each in blocks("serve.md", "bash") if "curl" in each)
    subprocess.run(["bash", "-c", here(curl)], check=True)
    assert json.loads(capfd.readouterr().out)["counts"] == {"passed": 1, "failed": 0, "unscored": 0}


def test_the_guide_names_every_route() -> None:
    routes = re.findall(r"`(?:POST|GET) (/\w+)`", PAGES["serve.md"])
    assert {*PROTOCOLS, "/health", "/metrics"} == set(routes)


# --- who may ask ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": TOKEN},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic eDp5"},
        {"Authorization": "Bearer \xe9\xff"},
    ],
)
def test_without_the_token_nothing_is_judged_or_shown(
    server: Server, headers: dict[str, str]
) -> None:
    plain = httpx2.Client(verify=False)  # it loads no certificates, which takes long
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    body = {"rows": [MATH], "completions": ["7"]}
    for route in ("/score", "/run_code", "/openrlhf", "/slime"):
        reply = plain.post(server.url + route, headers=raw, json=body)
        assert reply.status_code == 401 and "token" in reply.json()["error"]
    assert plain.get(f"{server.url}/metrics", headers=raw).status_code == 401
    assert plain.get(f"{server.url}/health").status_code == 200


def listening(port: int) -> set[str]:
    """The addresses at which the port is listened on: proc(5), net/tcp."""
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
    ]
    local = [each[1].split(":") for each in lines if each[3] == "0A"]
    return {address for address, number in local if int(number, 16) == port}


def test_it_listens_on_loopback_alone(server: Server) -> None:
    assert listening(server.port) == {"0100007F"}


def said(*flags: str, token: str = TOKEN) -> tuple[int, str]:
    """The exit code and the last line of a server that does not start."""
    done = subprocess.run(
        command(*flags), env=environment(token), capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "" and "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    return done.returncode, line


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "a-name-of-some-host"])
def test_an_address_that_is_open_to_others_needs_a_token_that_was_chosen(host: str) -> None:
    code, line = said("--host", host, token="")
    assert code == 2 and line.startswith(f"error: {host} may be open to others: set a token")


def test_wrong_starts_are_one_line(server: Server) -> None:
    for flags, token, code, reason in (
        (["--port", str(server.port)], TOKEN, 1, "cannot listen on 127.0.0.1:"),
        (["--host", "192.0.2.1"], TOKEN, 1, "cannot listen on 192.0.2.1:0:"),
        (["--rewards", "poem"], TOKEN, 2, "unknown reward 'poem'; known: coding"),
        (["--rewards", "a=b:c"], TOKEN, 2, "the reward 'a' cannot be imported"),
        ([], "short", 2, "INFINITE_RL_SERVE_TOKEN must have 16 or more letters"),
        ([], "with blanks in its middle", 2, "INFINITE_RL_SERVE_TOKEN must have 16"),
        (["--connections", "1000000000"], TOKEN, 2, "1000000000 connections need"),
        (["--deadline", "0"], TOKEN, 2, "deadline must be at least 0.1"),
    ):
        exit_code, line = said(*flags, token=token)
        assert exit_code == code and reason in line


def test_it_says_that_it_serves_when_it_answers() -> None:
    for flags in ((), ("--processes", "2")):
        with serving("--workers", "2", "--rewards", PROBE, *flags) as one:
            assert one.client().rewards([row()], ["7"]) == [1.0]  # one of two may still start


def test_a_token_is_made_and_printed_where_none_was_set() -> None:
    with serving("--workers", "1", "--rewards", PROBE, token="") as one:
        assert len(one.token) >= 32
        assert one.client().rewards([row()], ["7"]) == [1.0]
        with pytest.raises(UsageError, match="HTTP 401"):
            Server(one.process, one.url, TOKEN).client().rewards([row()], ["7"])
        assert one.stop() == 0


# --- hostile clients -----------------------------------------------------------------------------
HOSTILE = [
    (b"", 422),
    (b"{", 422),
    (b"\xff" * 100, 422),
    (b"[" * 200_000, 422),
    (b'{"rows": [{"type": "probe", "answer": "7"}], "completions": [' + b"[" * 9_000, 422),
    (b'{"rows": 1e999, "completions": []}', 422),
    (b'{"rows": [], "completions": [], "deadline": 1e400}', 422),
    (b'{"rows": [], "completions": [], "deadline": -1}', 422),
    (b'{"rows": [{}], "completions": ["x"]}', 422),
    (b'{"rows": [], "completions": []}', 200),
    (json.dumps({"rows": [row("\ud800")], "completions": ["\ud800"]}).encode(), 200),
    (json.dumps({"rows": [row("\0")], "completions": ["\0\x1b[31m"]}).encode(), 200),
    (json.dumps({"rows": [row("7", deep=[[]])], "completions": ["7"]}).encode(), 200),
    (b" " * 1_100_000, 413),
]


@pytest.mark.parametrize(("body", "status"), HOSTILE)
def test_a_hostile_body_gets_its_status_and_harms_nobody(
    server: Server, body: bytes, status: int
) -> None:
    reply = server.http().post("/score", content=body)
    assert reply.status_code == status and isinstance(reply.json(), dict)


def test_a_compressed_body_is_not_read(server: Server) -> None:
    reply = server.http().post("/score", content=b"x", headers={"Content-Encoding": "gzip"})
    assert reply.status_code == 415


def test_what_is_no_route_or_no_method_is_refused(server: Server) -> None:
    with server.http() as http:
        wrong = http.get("/score")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert wrong.json() == {"error": "'/score' takes POST, not GET"}
        for path in ("/" + "a" * 8000, "/score/../../etc/passwd", "/scores"):
            reply = http.post(path)
            assert reply.status_code == 404 and len(reply.content) < 200
            assert reply.json()["error"].startswith("no route '/")


def test_a_misspelt_key_is_refused_by_its_name(server: Server) -> None:
    with server.http() as http:
        reply = http.post("/score", json={"rows": [], "completions": [], "deadlin": 1})
        assert reply.status_code == 422
        assert reply.json()["error"] == (
            "unknown key 'deadlin'; known: completions, deadline, rows; did you mean deadline?"
        )
        reply = http.post("/run_code", json={"code": "1", "language": "python", "std_in": "2"})
        assert reply.status_code == 422
        assert reply.json()["error"] == "unknown key 'std_in'; did you mean stdin?"


def memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_a_huge_body_takes_no_memory(server: Server) -> None:
    before = memory(server.process.pid)

    def pieces() -> Iterator[bytes]:
        for _ in range(400):
            yield b"x" * 1_000_000

    def send(_: int) -> int:
        try:
            return int(server.http().post("/score", content=pieces()).status_code)
        except httpx2.TransportError:  # it closed while the client was still sending
            return 413

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, range(8))) == {413}
    assert memory(server.process.pid) - before < 100_000_000


def connected(server: Server) -> socket.socket:
    each = socket.create_connection(("127.0.0.1", server.port))
    each.settimeout(60)
    return each


def is_closed(each: socket.socket) -> bool:
    """Whether the server closes a connection; waits for it."""
    try:
        while each.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


HEAD = (
    f"POST /score HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    "Content-Type: application/json\r\n"
).encode()


def test_a_head_that_never_ends_is_cut_off(server: Server) -> None:
    for part in (b"", b"P", HEAD, b"POST /score HTTP/1.1\r\nX: "):
        with connected(server) as slow:
            slow.sendall(part)
            assert is_closed(slow)


def test_a_head_without_bounds_is_cut_off(server: Server) -> None:
    with connected(server) as flood:
        try:
            for number in range(100_000):
                flood.sendall(b"X-%d: %s\r\n" % (number, b"y" * 1000) if number else HEAD)
        except ConnectionError:
            return
    pytest.fail("100 MB of head were taken")


def test_trailers_without_bounds_are_cut_off(server: Server) -> None:
    with connected(server) as flood:
        flood.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n")
        try:
            for _ in range(100_000):
                flood.sendall(b"X: " + b"y" * 1000 + b"\r\n")
        except ConnectionError:
            return
    pytest.fail("100 MB of trailers were taken")


def test_a_body_that_never_ends_is_told_so() -> None:
    with serving("--workers", "1", "--rewards", PROBE, "--deadline", "0.5") as one:
        with connected(one) as slow:
            slow.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"rows"')
            answer = slow.recv(65536)
            assert answer.startswith(b"HTTP/1.1 408 ") and is_closed(slow)
        assert one.client().rewards([row()], ["7"]) == [1.0]


def test_idle_connections_shut_nobody_out() -> None:
    with serving("--workers", "1", "--rewards", PROBE, "--connections", "20") as one:
        idle = [connected(one) for _ in range(60)]
        assert one.client().rewards([row()], ["7"]) == [1.0]
        for each in idle[:39]:  # the oldest had to go
            assert is_closed(each)
        for each in idle:
            each.close()


def test_an_answer_that_nobody_takes_is_dropped(server: Server) -> None:
    code = "print('x' * 900_000)"
    body = json.dumps({"code": code, "language": "python"}).encode()
    head = HEAD.replace(b"/score", b"/run_code")
    readers = []
    for _ in range(8):
        each = socket.socket()
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        each.connect(("127.0.0.1", server.port))
        each.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        readers.append(each)
    line = 'infinite_rl_requests_total{code="200",route="/run_code"}'
    while server.metric(line) < 8:
        time.sleep(LOOK_S)
    while server.metric("infinite_rl_body_bytes"):  # the answers are let go of
        time.sleep(LOOK_S)
    for each in readers:
        each.settimeout(60)
        assert is_closed(each)
        each.close()


def test_a_client_that_leaves_takes_its_jobs_with_it(server: Server) -> None:
    body = json.dumps({"rows": [row()] * 50, "completions": ["freeze"] * 50}).encode()
    for _ in range(4):
        with connected(server) as each:
            each.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            while server.health()["queue"] < 50:
                pass
        server.until("ok", queue=0)


# --- the public stories --------------------------------------------------------------------------
def test_a_frozen_normaliser_costs_its_own_verdict_alone(server: Server) -> None:
    # A comparison that never returns, in C: no thread and no signal of its process can end it.
    body = {"rows": [row()], "completions": ["freeze"], "deadline": 1}
    with ThreadPoolExecutor(9) as pool:
        frozen = pool.submit(server.http().post, "/score", json=body)
        others = pool.map(lambda _: server.client().rewards([row()] * 5, ["7"] * 5), range(8))
        assert list(others) == [[1.0] * 5] * 8
        (score,) = frozen.result().json()["scores"]
    assert (score["status"], score["correctness_score"]) == ("unscored", None)
    assert "the deadline of the request passed" in score["error_msg"]


def test_under_ten_times_the_load_no_right_answer_becomes_a_zero() -> None:
    # Servers of sandboxes gave 90 % false zeros once their queue was longer than a timeout.
    flags = ["--workers", "1", "--queue", "8", "--rewards", f"coding,{PROBE}"]
    with serving(*flags) as one:
        coding = {
            "type": "coding",
            "language": "python",
            "answer": '{"tests": ["assert f(1) == 2"]}',
        }
        text = "<answer>\n```python\ndef f(x):\n    return x + 1\n```\n</answer>"

        def ask(number: int) -> list[float | None]:
            client = one.client(f"client {number}", batch=2, sleep=threading.Event().wait)
            return client.rewards([coding] * 6, [text] * 6)

        with ThreadPoolExecutor(30) as pool:
            results = list(pool.map(ask, range(30)))
        assert results == [[1.0] * 6] * 30
        assert one.metric('infinite_rl_requests_total{code="429",route="/score"}') > 0


def test_a_full_queue_is_a_429_with_a_time(server: Server) -> None:
    with serving("--workers", "1", "--queue", "4", "--rewards", PROBE) as one:
        body = json.dumps({"rows": [row()] * 2, "completions": ["freeze"] * 2}).encode()
        with connected(one) as busy:
            busy.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            one.until("ok", queue=2)
            with one.http() as http:
                ask = {"rows": [row()], "completions": ["7"]}
                reply = http.post("/score", json=ask)
                assert reply.status_code == 429 and int(reply.headers["retry-after"]) >= 1
                assert "queue is full" in reply.json()["error"]
                large = {"rows": [row()] * 3, "completions": ["7"] * 3}
                assert http.post("/score", json=large).status_code == 413
                soon = {**ask, "deadline": 0.1}
                other = http.post("/score", json=soon, headers={"X-Client": "another"})
                assert other.status_code == 200, "there is room for another client"
                assert other.json()["counts"]["unscored"] == 1


def test_killed_workers_cost_no_verdict(server: Server) -> None:
    client, rewards = server.client(), list[float | None]()

    def ask() -> None:
        rewards.extend(client.rewards([row(), row("8")] * 1000, ["7"] * 2000))

    with ThreadPoolExecutor(1) as pool:
        for _ in range(5):
            asked = pool.submit(ask)
            while not server.health()["queue"] and not asked.done():
                pass
            for pid in server.children()[:1]:
                os.kill(pid, signal.SIGKILL)
            asked.result()
    assert rewards == [1.0, 0.0] * 5_000
    assert server.metric('infinite_rl_workers_replaced_total{reason="died"}') > 0


def test_requests_that_come_at_once_are_answered_in_turn_each_within_its_own_deadline() -> None:
    with serving("--rewards", PROBE, "--deadline", "0.6", "--client_timeout", "0.1") as one:
        body = json.dumps({"rows": [row()], "completions": ["freeze"]}).encode()
        with connected(one) as pipelined:
            pipelined.sendall((HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body) * 4)
            answers = b""
            while answers.count(b'"unscored": 1') < 4 and (more := pipelined.recv(65536)):
                answers += more
        assert answers.count(b"HTTP/1.1 200 OK") == 4


# --- the end -------------------------------------------------------------------------------------
def test_requests_under_way_end_before_the_server_does() -> None:
    with serving("--workers", "1", "--rewards", f"coding,{PROBE}") as one:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(one.client().rewards, [row()] * 256, ["pid"] * 256)
            while not one.health()["queue"] and not asked.done():
                pass
            assert one.stop() == 0
            assert asked.result() == [1.0] * 256
        with pytest.raises(ConnectionRefusedError):
            connected(one)


def test_what_does_not_end_within_the_grace_is_a_503_and_no_verdict() -> None:
    with serving("--workers", "1", "--rewards", PROBE, "--grace", "2") as one:
        pids = one.children()
        with ThreadPoolExecutor(1) as pool:
            body = {"rows": [row()] * 2, "completions": ["freeze", "7"]}
            asked = pool.submit(one.http().post, "/score", json=body)
            one.until("ok", queue=2)
            assert one.stop() == 0
            reply = asked.result()
        assert reply.status_code == 503 and reply.headers["retry-after"] == "1"
        assert "stopping" in reply.json()["error"]
        assert all(not Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_server_leaves_no_process(processes: int) -> None:
    flags = ["--workers", "2", "--rewards", PROBE, "--processes", str(processes)]
    with serving(*flags) as one:
        pids = one.children()
        pids += [pid for each in pids for pid in children_of(each)]
        assert len(pids) >= 2 * processes
        one.process.kill()
        one.process.wait()
        while any(Path(f"/proc/{pid}").exists() for pid in pids):
            time.sleep(LOOK_S)


def test_several_processes_share_the_port_and_one_that_dies_is_replaced() -> None:
    flags = ["--processes", "2", "--workers", "2", "--rewards", PROBE]
    with serving(*flags) as one:
        while one.metric("infinite_rl_workers") < 2:
            time.sleep(LOOK_S)

        def ask(_: int) -> list[float | None]:
            return one.client().rewards([row()] * 3, ["7"] * 3)

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(16))) == [[1.0] * 3] * 16
            line = 'infinite_rl_scores_total{reward="probe",status="passed"}'
            assert one.metric(line) == 48
            servers = [pid for pid in one.children() if children_of(pid)]
            assert len(servers) == 2
            os.kill(servers[0], signal.SIGKILL)
            assert list(pool.map(ask, range(16))) == [[1.0] * 3] * 16
        while len([pid for pid in one.children() if children_of(pid)]) < 2:
            time.sleep(LOOK_S)
        assert one.stop() == 0


def children_of(pid: int) -> list[int]:
    from reward_server import children

    return children(pid)
