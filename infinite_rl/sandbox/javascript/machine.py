"""One QuickJS instance: its values are numbered handles; calls and texts go in and out."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from ctypes import POINTER, byref
from typing import Any, NamedTuple

from wasmtime import Func, Global, InstancePre, Memory, Store, Trap, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime._func import maybe_raise_last_exn

GLOBAL_SCRIPT, ASYNC_SCRIPT = 0, 128
PENDING = 0  # a promise's state
_TrapPointer = POINTER(ffi.wasm_trap_t)


class OutOfMemory(Exception):
    """The instance has no memory left for a value of the host."""


class Signature(NamedTuple):
    """A function's types: `i32` or `f64` for each parameter and for the result ("": no result)."""

    parameters: tuple[str, ...]
    result: str


class Constants:
    """The module's exported addresses and its functions' signatures, equal in all instances."""

    def __init__(self, prepared: InstancePre, store: Store) -> None:
        exports = prepared.instantiate(store).exports(store)
        exported = [(name, exports[name]) for name in exports]
        self._values: Mapping[str, int] = {
            name: int(item.value(store)) for name, item in exported if isinstance(item, Global)
        }
        self.signatures: Mapping[str, Signature] = {
            name: _signature(item, store) for name, item in exported if isinstance(item, Func)
        }

    def __getitem__(self, name: str) -> int:
        return self._values[name]


def _signature(function: Func, store: Store) -> Signature:
    kind = function.type(store)
    results = [str(result) for result in kind.results]
    return Signature(tuple(str(parameter) for parameter in kind.params), "".join(results))


class Machine:
    """A fresh instance in `store`. A trap raises `Trap` or `WasmtimeError`."""

    def __init__(self, prepared: InstancePre, store: Store, constants: Constants) -> None:
        self.store = store
        self._constants = constants
        self._instance = prepared.instantiate(store)
        self._functions: dict[str, Any] = {}  # those that were called
        self._memory = Memory._from_raw(self._export("memory").memory)

    def _export(self, name: str) -> Any:
        # `Instance.exports` looks up all of them, which takes half as long as a short program.
        extern, text = ffi.wasmtime_extern_t(), name.encode()
        if not ffi.wasmtime_instance_export_get(
            self.store._context(), byref(self._instance._instance), text, len(text), byref(extern)
        ):
            raise KeyError(name)
        return extern.of

    def call(self, name: str, *arguments: float) -> Any:
        """Call a function of the module and return its result, None if it has none."""
        # Calling a `Func` looks up its type each time, which takes six times as long.
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._export(name).func
        parameters, result = self._constants.signatures[name]
        assert len(arguments) == len(parameters)
        values = (ffi.wasmtime_val_raw_t * (len(arguments) or 1))()
        for value, kind, argument in zip(values, parameters, arguments, strict=False):
            setattr(value, kind, argument)
        trap = _TrapPointer()
        error = ffi.wasmtime_func_call_unchecked(
            self.store._context(), byref(function), values, len(values), byref(trap)
        )
        if error or trap:
            fault = WasmtimeError._from_ptr(error) if error else Trap._from_ptr(trap)
            maybe_raise_last_exn()  # an exception of a host function
            raise fault
        return getattr(values[0], result) if result else None

    def read(self, address: int, size: int) -> bytes:
        """Read `size` bytes of the memory."""
        return bytes(self._memory.read(self.store, address, address + size))

    def write(self, address: int, data: bytes) -> None:
        """Write bytes into the memory."""
        self._memory.write(self.store, data, address)

    def word(self, address: int) -> int:
        """Read the 32-bit integer at an address."""
        return int.from_bytes(self.read(address, 4), "little")

    def memory_size(self) -> int:
        """Return the current size of the memory in bytes."""
        return int(self._memory.data_len(self.store))

    def _put(self, text: str) -> tuple[int, int]:
        data = text.encode("utf-8", "surrogatepass")
        address = int(self.call("wasm_malloc", len(data) + 1))
        if address == 0:
            raise OutOfMemory
        self.write(address, data + b"\0")
        return address, len(data)

    def new_string(self, text: str) -> int:
        """Create a string in the guest. Raises `OutOfMemory`."""
        address, size = self._put(text)
        box = int(self.call("qjs_new_string", address, size))
        self.call("wasm_free", address)
        return box

    def new_bytes(self, text: str) -> int:
        """Create a Uint8Array of the text in UTF-8. Raises `OutOfMemory`."""
        address, size = self._put(text)
        box = int(self.call("qjs_new_uint8_array", address, size))
        self.call("wasm_free", address)
        return box

    def text(self, box: int) -> str:
        """Convert a value to text; lone surrogates are kept. Raises `OutOfMemory`."""
        size_address = self._constants["arguments"] + 8
        address = int(self.call("qjs_get_string_len", box, size_address))
        if address == 0:
            raise OutOfMemory
        data = self.read(address, self.word(size_address))
        self.call("qjs_free_cstring", address)
        return data.decode("utf-8", "surrogatepass")

    def evaluate(self, source: str, name: str, flags: int) -> int | None:
        """Run a script. Return its value, or None if it threw: see `exception`."""
        address, size = self._put(source)
        box = int(self.call("qjs_eval", address, size, self._constants[name], flags))
        return None if self.call("qjs_is_exception", box) else box

    def exception(self) -> int:
        """Return the exception that was thrown last."""
        return int(self.call("qjs_get_exception"))

    def drive(self, name: str, *arguments: int) -> int | None:
        """Call a driver function of the prelude; None if it threw: see `exception`."""
        base = self._constants["arguments"]
        for n, box in enumerate(arguments):
            self.write(base + 4 * n, box.to_bytes(4, "little"))
        function, undefined = self._constants[f"driver_{name}"], self._constants["undefined"]
        box = int(self.call("qjs_call", function, undefined, len(arguments), base))
        return None if self.call("qjs_is_exception", box) else box

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
        stack = Global._from_raw(self._export("__stack_pointer").global_)
        stack.set_value(self.store, self._constants["__stack_pointer"])
