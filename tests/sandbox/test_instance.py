"""Instances called through the C interface: addresses, host functions and their exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from wasmtime import Module, Trap, TrapCode, wat2wasm

from infinite_rl.sandbox import engine
from infinite_rl.sandbox.instance import Instance, OutOfBounds, Prepared
from infinite_rl.sandbox.python.wasi import NotOffered, host_function
from infinite_rl.sandbox.runtimes import Limits

ENGINE = engine.engine_for(engine.Code.OPTIMISED)
GUEST = """(module
  (import "host" "ask" (func $ask (param i32 i64 f64) (result i32)))
  (memory (export "memory") 1 3)
  (func (export "ask") (param i32) (result i32)
    (call $ask (local.get 0) (i64.const -7) (f64.const 0.5)))
  (func (export "add") (param i32 f64) (result f64)
    (f64.add (f64.convert_i32_s (local.get 0)) (local.get 1)))
  (func (export "grow") (drop (memory.grow (i32.const 1))))
  (func (export "trap") unreachable))"""
PAGE = 65536


class Host:
    """Answers `ask`: calls back, raises, or returns what it was given."""

    instance: Instance

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, *numbers: Any) -> int:
        self.asked.append(numbers)
        if numbers[0] == 0:
            raise LookupError("nothing is there")
        return int(self.instance.call("ask", numbers[0] - 1)) if numbers[0] > 1 else 10


def fresh(host: Host) -> Instance:
    module = Module(ENGINE, wat2wasm(GUEST))
    prepared = Prepared(ENGINE, module, lambda _interface, _name: Host.ask)
    host.instance = Instance(prepared, engine.fresh_store(Limits(), ENGINE), host)
    return host.instance


def run(work: Any) -> Any:
    """Run `work` with a fresh instance and its host, on a thread of the sandbox."""

    def call() -> Any:
        host = Host()
        instance = fresh(host)
        with engine.deadline(instance.store, 5):
            return work(instance, host)

    return engine.shielded(call)


def test_numbers_pass_both_ways_also_through_calls_within_calls() -> None:
    def work(instance: Instance, host: Host) -> None:
        assert instance.call("add", -2, 0.25) == -1.75
        assert instance.call("grow") is None
        assert instance.call("ask", 3) == 10
        assert host.asked == [(3, -7, 0.5), (2, -7, 0.5), (1, -7, 0.5)]

    run(work)


def test_an_exception_of_a_host_function_stops_the_guest_and_is_raised() -> None:
    def work(instance: Instance, _host: Host) -> None:
        for _ in range(2):
            with pytest.raises(LookupError, match="nothing is there"):
                instance.call("ask", 0)
        with pytest.raises(Trap) as trapped:  # not the exception of before
            instance.call("trap")
        assert trapped.value.trap_code == TrapCode.UNREACHABLE

    run(work)


def test_no_address_beyond_the_memory_is_read_or_written() -> None:
    def work(instance: Instance, _host: Host) -> None:
        instance.write(PAGE - 2, b"ab")
        assert instance.read(PAGE - 2, 2) == b"ab"
        assert instance.read(PAGE, 0) == b""
        beyond = ((PAGE - 1, 2), (PAGE, 1), (-1, 1), (-4, 8), (2**31, 1), (0, 2**40), (0, -1))
        for address, size in beyond:
            with pytest.raises(OutOfBounds):
                instance.read(address, size)
        with pytest.raises(OutOfBounds):
            instance.write(PAGE - 1, b"ab")
        with pytest.raises(OutOfBounds):
            instance.read(PAGE, 1)
        instance.call("grow")
        assert instance.read(PAGE, 1) == b"\0"
        instance.write(PAGE - 2**32, b"c")  # a guest's numbers have a sign
        assert instance.read(PAGE, 1) == b"c"

    run(work)


def test_two_instances_may_call_each_other() -> None:
    def call() -> None:
        one, other = Host(), Host()
        instances = fresh(one), fresh(other)
        one.instance, other.instance = other.instance, one.instance
        with engine.deadline(instances[0].store, 5), engine.deadline(instances[1].store, 5):
            assert instances[0].call("ask", 4) == 10
        assert [numbers[0] for numbers in one.asked + other.asked] == [4, 2, 3, 1]

    engine.shielded(call)


def test_what_the_guest_may_not_ask_of_its_system_stops_it() -> None:
    refused = (
        ("wasi:filesystem/types@0.2.9", "[method]descriptor.open-at"),
        ("wasi:sockets/tcp@0.2.9", "[method]tcp-socket.start-connect"),
        ("wasi:io/poll@0.2.9", "poll"),
        ("wasi:clocks/monotonic-clock@0.2.9", "subscribe-duration"),
        ("elsewhere", "anything"),
    )
    for interface, name in refused:
        with pytest.raises(NotOffered):
            host_function(interface, name)(None, 0, 0)
