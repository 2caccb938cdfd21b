"""What `componentize-py` makes for the other runtime: the functions of the host, by one door."""
# ruff: noqa: ANN401 - arguments of any type cross

import json
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import _host

_call: Callable[[bytes], bytes] = _host.call


def answer(message: str) -> str:
    """Answer a message of the other side; `entry` puts the function of `app` in its place."""
    raise NotImplementedError(message)


class Report(NamedTuple):
    """How a program or its tests ended."""

    exit_code: int
    out_of_memory: bool
    has_left: bool


class TestsPlan(NamedTuple):
    """What is known of tests before there is a program."""

    code: bytes
    steps: str


class WitWorld:
    """What `app` derives from."""


def emit(fd: int, text: str) -> None:
    _call(b"e" + bytes([fd]) + text.encode())


def verdict(passed: bool, message: str, is_unjudged: bool) -> None:
    _call(b"v" + bytes([passed, is_unjudged]) + message.encode("utf-8", "replace"))


def nap(seconds: float) -> None:
    _call(b"n" + struct.pack("<d", seconds))


def leave(code: int) -> None:
    _call(b"l" + bytes([code]))


def is_going_on(message: str) -> bool:
    return _call(b"g" + message.encode()) == b"1"


def exchange(message: str) -> str:
    """Send a message to the other side; answer what it asks until its answer is there."""
    return _answered(_call(b"?" + message.encode()))


def _answered(reply: bytes) -> str:
    while reply[:1] == b"?":
        reply = _call(b"!" + answer(reply[1:].decode()).encode())
    return reply[1:].decode()


def report(ended: Report) -> None:
    """Say how it ended. The host ends the interpreter here, or has it answer the tests."""
    _answered(_call(b"r" + bytes([ended.exit_code, ended.out_of_memory, ended.has_left])))


def doubt() -> None:
    """Say that integers of 32 bits were seen where there are 64 natively."""
    _call(b"d")


def arguments() -> tuple[dict[str, Any], bytes]:
    """Return what the host asks for."""
    data = _call(b"a")
    (size,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + size]), data[4 + size :]


def planned(plan: TestsPlan) -> None:
    """Hand over a plan of tests."""
    _call(b"p" + struct.pack("<I", len(plan.code)) + plan.code + plan.steps.encode())
