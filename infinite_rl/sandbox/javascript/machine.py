"""One QuickJS instance: its values are numbered handles; calls and texts go in and out."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

from wasmtime import Global, Store

from ..instance import Instance, Prepared

GLOBAL_SCRIPT, ASYNC_SCRIPT = 0, 128
SCRATCH = 65536  # bytes that a text may have to be put where the module has room for it
PENDING = 0  # a promise's state


class OutOfMemory(Exception):
    """The instance has no memory left for a value of the host."""


def exported_numbers(prepared: Prepared, store: Store) -> Mapping[str, int]:
    """Return the numbers that the module exports, mostly addresses; all instances have the same."""
    exports = prepared.instance_pre.instantiate(store).exports(store)
    return {
        name: int(item.value(store))
        for name in exports
        if isinstance(item := exports[name], Global)
    }


class Machine(Instance):
    """A fresh instance in `store`, for the run `host`; see `Instance`."""

    def __init__(
        self, prepared: Prepared, store: Store, host: object, constants: Mapping[str, int]
    ) -> None:
        super().__init__(prepared, store, host)
        self._constants = constants

    def word(self, address: int) -> int:
        """Read the 32-bit integer at an address."""
        return int.from_bytes(self.read(address, 4), "little")

    def _put(self, data: bytes) -> tuple[int, int]:
        address, size = self._constants["scratch"], len(data)
        if size >= SCRATCH:
            address = int(self.call("wasm_malloc", size + 1))
            if address == 0:
                raise OutOfMemory
        self.write(address, data + b"\0")
        return address, size

    def _release(self, address: int) -> None:
        if address != self._constants["scratch"]:
            self.call("wasm_free", address)

    def new_string(self, text: str) -> int:
        """Create a string in the guest. Raises `OutOfMemory`."""
        return self.new_string_of(_encoded(text))

    def new_string_of(self, data: bytes) -> int:
        """Create a string of a text in UTF-8. Raises `OutOfMemory`."""
        address, size = self._put(data)
        box = int(self.call("qjs_new_string", address, size))
        self._release(address)
        return box

    def new_bytes(self, text: str) -> int:
        """Create a Uint8Array of the text in UTF-8. Raises `OutOfMemory`."""
        address, size = self._put(_encoded(text))
        box = int(self.call("qjs_new_uint8_array", address, size))
        self._release(address)
        return box

    def text(self, box: int) -> str:
        """Convert a value to text; lone surrogates are kept. Raises `OutOfMemory`."""
        return self.bytes_of(box).decode("utf-8", "surrogatepass")

    def bytes_of(self, box: int) -> bytes:
        """Convert a value to text in UTF-8. Raises `OutOfMemory`."""
        size_address = self._constants["arguments"] + 8
        address = int(self.call("qjs_get_string_len", box, size_address))
        if address == 0:
            raise OutOfMemory
        data = self.read(address, self.word(size_address))
        self.call("qjs_free_cstring", address)
        return data

    def evaluate(self, source: str, name: str, flags: int) -> int | None:
        """Run a script. Return its value, or None if it threw: see `exception`."""
        address, size = self._put(_encoded(source))
        box = int(self.call("qjs_eval", address, size, self._constants[name], flags))
        self._release(address)
        return None if self._is_exception(box) else box

    def _is_exception(self, box: int) -> bool:
        return self.word(box + 4) == self._constants["exception_tag"]

    def exception(self) -> int:
        """Return the exception that was thrown last."""
        return int(self.call("qjs_get_exception"))

    def drive(self, name: str, *arguments: int) -> int | None:
        """Call a driver function of the prelude; None if it threw: see `exception`."""
        return self.apply(self._constants[f"driver_{name}"], *arguments)

    def apply(self, function: int, *arguments: int) -> int | None:
        """Call a function; None if it threw: see `exception`."""
        base, undefined = self._constants["arguments"], self._constants["undefined"]
        for n, box in enumerate(arguments):
            self.write(base + 4 * n, box.to_bytes(4, "little"))
        box = int(self.call("qjs_call", function, undefined, len(arguments), base))
        return None if self._is_exception(box) else box

    def question(self, name: str, text: bytes) -> tuple[int, ...]:
        """Return the arguments of `answer`, which calls a driver function with a text.

        Its result is for `take_answer`. Raises `OutOfMemory`.
        """
        address, size = self._put(text)
        return self._constants[f"driver_{name}"], address, size, self._constants["arguments"]

    def take_answer(self, start: int) -> bytes | None:
        """Return the text that the driver function returned; None if it threw."""
        if start == 0:
            self.call("qjs_free_value", self.exception())
            return None
        data = self.read(start, self.word(self._constants["arguments"] + 8))
        self.call("qjs_free_cstring", start)
        return data

    def number(self, box: int) -> float:
        """Convert a value to a number."""
        return float(self.call("qjs_get_float64", box))

    def is_pending(self, box: int) -> bool:
        """Whether the value is a pending promise."""
        return bool(self.call("qjs_promise_state", box) == PENDING)

    def seed(self, seed: int | None) -> None:
        """Seed `Math.random`, at random without a seed."""
        chance = os.urandom(8) if seed is None else random.Random(seed).randbytes(8)
        # Its generator, xorshift64*, would never leave zero.
        self.write(self._constants["random_state"], chance if any(chance) else b"\1" + bytes(7))

    def after_trap(self) -> None:
        """Make the instance callable again: a trap does not reset its stack pointer."""
        stack = Global._from_raw(self.export("__stack_pointer").global_)
        stack.set_value(self.store, self._constants["__stack_pointer"])


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
