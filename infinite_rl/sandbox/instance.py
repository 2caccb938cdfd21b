"""Instances of core modules, called through the engine's C interface.

The Python binding looks up names and types at each call, which takes longer than most calls. Here
both are looked up once a module, and numbers and texts pass through memory that both sides share:

    prepared = Prepared(engine, module, host_functions)
    instance = Instance(prepared, store, host)
    instance.call("run", 1, 2)

A host function receives `host` and the guest's numbers. An exception that it raises stops the
guest, and is raised by `Instance.call`. Each address of the guest is checked against its memory.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from wasmtime import Engine, FuncType, Linker, Module, Store, Trap, WasmtimeError
from wasmtime import _ffi as ffi

from ..errors import SandboxError

HostFunction = Callable[..., float | None]

_MAX_VALUES = 16  # parameters of a function
_ADDRESS = 0xFFFF_FFFF
_TrapPointer = ctypes.POINTER(ffi.wasm_trap_t)
_ErrorPointer = ctypes.POINTER(ffi.wasmtime_error_t)
# The binding's own declarations build a pointer object for each argument: plain numbers are faster.
_call = ctypes.CFUNCTYPE(
    ctypes.c_void_p,  # an error
    *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p),
)(("wasmtime_func_call_unchecked", ffi.dll))
_no_finalizer = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
_compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
    ("memcmp", ctypes.CDLL(None))
)
_PAGE, _BLOCK = 4096, 65536  # bytes that are stored together, and compared at once
_current = threading.local()  # .instance: the one that this thread is in


class OutOfBounds(Exception):
    """The guest named an address beyond its memory."""


class MemoryImage(NamedTuple):
    """A memory: its size in bytes, and by address the pages that differ from a fresh instance's."""

    size: int
    pages: dict[int, bytes]


class Signature(NamedTuple):
    """A function's types: "i32", "i64" or "f64" for each parameter; "" for no result."""

    parameters: tuple[str, ...]
    result: str

    @classmethod
    def of(cls, kind: FuncType) -> Signature:
        """Return the signature of a function with at most one result."""
        return cls(tuple(map(str, kind.params)), "".join(map(str, kind.results)))


class Prepared:
    """A module with the host's functions, ready to be instantiated by any thread."""

    def __init__(
        self, engine: Engine, module: Module, host_function: Callable[[str, str], HostFunction]
    ) -> None:
        """Link the module with what `host_function` returns for each (interface, name)."""
        self.engine = engine
        linker = Linker(engine)
        self._callbacks = []  # the engine keeps their addresses only
        for wanted in module.imports:
            kind, interface, name = wanted.type, wanted.module, wanted.name or ""
            assert isinstance(kind, FuncType)
            callback = _callback(host_function(interface, name), Signature.of(kind))
            self._callbacks.append(callback)
            texts = interface.encode(), name.encode()
            error = ffi.wasmtime_linker_define_func_unchecked(
                linker.ptr(),
                *(texts[0], len(texts[0]), texts[1], len(texts[1])),
                *(kind.ptr(), callback, None, _no_finalizer),
            )
            if error:
                raise WasmtimeError._from_ptr(error)
        self.instance_pre = linker.instantiate_pre(module)
        self.signatures = {
            export.name: Signature.of(export.type)
            for export in module.exports
            if isinstance(export.type, FuncType)
        }


def _callback(function: HostFunction, signature: Signature) -> Any:
    """Return the C function that the engine calls; a trap's address stops the guest."""
    parameters, result = [*enumerate(signature.parameters)], signature.result

    def answer(_env: Any, _caller: Any, values: Any, _count: int) -> int:
        instance: Instance = _current.instance
        try:
            value = function(instance.host, *[getattr(values[n], kind) for n, kind in parameters])
            if result:
                setattr(values[0], result, value)
        # It belongs to the caller of the guest: nothing may pass through the engine's frames.
        except BaseException as error:
            instance.fault = error
            return ctypes.addressof(ffi.wasmtime_trap_new(b"host", 4).contents)
        return 0

    return ffi.wasmtime_func_unchecked_callback_t(answer)


class Instance:
    """A fresh instance in `store`. `host` is the first argument of each host function."""

    def __init__(self, prepared: Prepared, store: Store, host: object) -> None:
        """Instantiate. Raises `WasmtimeError` or `Trap`."""
        self.host, self.store = host, store
        self.fault: BaseException | None = None
        self._instance = prepared.instance_pre.instantiate(store)._instance
        self._prepared = prepared  # its callbacks live as long as the instance
        self._context = store._context()
        self._functions: dict[str, tuple[Any, int, Signature]] = {}  # those that were called
        self._values = (ffi.wasmtime_val_raw_t * _MAX_VALUES)()
        self._trap = ctypes.c_void_p()
        self._raw = (
            ctypes.cast(self._context, ctypes.c_void_p).value,
            ctypes.addressof(self._values),
            ctypes.addressof(self._trap),
        )
        self._memory = self.export("memory").memory
        # The memory does not move: see `config_of` of the engine. Its size only grows.
        data = ffi.wasmtime_memory_data(self._context, ctypes.byref(self._memory))
        self._base = ctypes.addressof(data.contents)
        self._size = 0

    def export(self, name: str) -> Any:
        """Return an export in the engine's own form. Raises KeyError."""
        extern, text = ffi.wasmtime_extern_t(), name.encode()
        if not ffi.wasmtime_instance_export_get(
            self._context, ctypes.byref(self._instance), text, len(text), ctypes.byref(extern)
        ):
            raise KeyError(name)
        return extern.of

    def call(self, name: str, *arguments: float) -> Any:
        """Call a function of the module; return its result, None if it has none.

        Raises `Trap`, `WasmtimeError`, or what a host function raised.
        """
        entry = self._functions.get(name)
        if entry is None:
            function = self.export(name).func
            entry = function, ctypes.addressof(function), self._prepared.signatures[name]
            self._functions[name] = entry
        _function, address, (parameters, result) = entry
        values, (context, at, trap_at) = self._values, self._raw
        for value, kind, argument in zip(values, parameters, arguments, strict=False):
            setattr(value, kind, argument)
        outer = getattr(_current, "instance", None)
        _current.instance = self
        error = _call(context, address, at, len(arguments) or 1, trap_at)
        _current.instance = outer
        if error or self._trap.value:
            self._raise(error)
        return getattr(values[0], result) if result else None

    def _raise(self, error: int | None) -> None:
        if error:
            stopped: Exception = WasmtimeError._from_ptr(ctypes.cast(error, _ErrorPointer))
        else:
            stopped = Trap._from_ptr(ctypes.cast(self._trap, _TrapPointer))
            self._trap.value = None
        fault, self.fault = self.fault, None
        raise stopped if fault is None else fault

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the memory. Raises `OutOfBounds`."""
        return ctypes.string_at(self._base + self._checked(address, size), size)

    def write(self, address: int, data: bytes) -> None:
        """Write bytes into the memory. Raises `OutOfBounds`."""
        ctypes.memmove(self._base + self._checked(address, len(data)), data, len(data))

    def _checked(self, address: int, size: int) -> int:
        address &= _ADDRESS
        end = address + size  # a guest's size may be negative
        if size < 0 or (end > self._size and end > self.memory_size()):
            raise OutOfBounds(f"{size} bytes at {address:#x} of {self._size:#x}")
        return address

    def memory_size(self) -> int:
        """Return the current size of the memory in bytes."""
        self._size = int(ffi.wasmtime_memory_data_size(self._context, ctypes.byref(self._memory)))
        return self._size

    def image(self, fresh: Instance) -> MemoryImage:
        """Return the memory between two calls, as its difference from a fresh instance's."""
        size, fresh_size = self.memory_size(), fresh.memory_size()
        zeros, pages = ctypes.create_string_buffer(_BLOCK), dict[int, bytes]()
        blank = ctypes.addressof(zeros)
        for block in range(0, size, _BLOCK):
            at, like = self._base + block, fresh._base + block if block < fresh_size else blank
            if _compare(at, like, _BLOCK):
                for offset in range(0, _BLOCK, _PAGE):
                    if _compare(at + offset, like + offset, _PAGE):
                        pages[block + offset] = ctypes.string_at(at + offset, _PAGE)
        return MemoryImage(size, pages)

    def load(self, image: MemoryImage) -> None:
        """Give this fresh instance the memory of another. Raises `SandboxError` if it is full."""
        missing, before = image.size - self.memory_size(), ctypes.c_uint64()
        if missing > 0:
            error = ffi.wasmtime_memory_grow(
                self._context, ctypes.byref(self._memory), missing // _BLOCK, ctypes.byref(before)
            )
            if error:
                reason = WasmtimeError._from_ptr(error)
                raise SandboxError(f"the session is not restored: {reason}")
        for address, page in image.pages.items():
            self.write(address, page)
