"""The JavaScript guest: QuickJS with a prelude that prints and behaves as Node does.

The program runs in one instance, its tests in another, which the program never enters: nothing that
it does to its own interpreter can change what a test finds. The two talk through messages, which
the host passes on. The build of the WebAssembly module and the prelude are in
`build_src/javascript/`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache

from wasmtime import Store, WasmtimeError

from ...types import Execution, Program
from ..compiled import load_compiled
from ..engine import Code, deadline, engine_for, fresh_store, shielded
from ..instance import HostFunction, Prepared
from ..runtimes import Limits, runtime_named, too_long
from .machine import Machine, exported_numbers
from .plain import Judged, called_names, plain_steps
from .run import PlainTests, Run, Side, Undecided

_FIRST_S, _FIRST_FUEL = 10.0, 10**9  # for instances without a program
_REFERENCES = 512  # whose plain tests are kept
_STRIPPING_BYTES = 128 * 1024 * 1024  # of memory for the stripper of types, if a program has less
_EBADF = 8


class JavaScriptGuest:
    """Run JavaScript programs; see `Guest`.

    Timers do not wait: time jumps to the next one. A failed `console.assert` makes the run an
    error. Static `import` and `export` are rewritten (see `as_script`), so a module's top-level
    names stay visible to its tests. Tests also see what a program puts into `module.exports`: by
    name, and as `require('./anything')`. Raises `RuntimeMissing` if the module was not built.
    """

    def __init__(self, is_metered: bool = False) -> None:
        code = Code.METERED if is_metered else Code.OPTIMISED  # small: compiled in half a second
        module = load_compiled(runtime_named("javascript"), code)
        self.prepared = Prepared(engine_for(code), module, _host_function)
        self._first_limits = Limits(timeout_s=_FIRST_S, fuel=_FIRST_FUEL if is_metered else None)
        self._constants = shielded(self._first_instance)
        self._plain = lru_cache(maxsize=_REFERENCES)(self._read_plain)

    def run(self, program: Program, limits: Limits) -> Execution:
        """Run `program` in a fresh instance; see `Guest.run`. Raises `SandboxError`."""
        guest = self if limits.fuel is None else self._metered
        return too_long(program, limits) or shielded(lambda: guest._run(program, limits))

    def strip_types(self, texts: Sequence[str], limits: Limits) -> list[str] | Execution:
        """Return TypeScript texts as JavaScript: a program, then its tests.

        Or the failed run of a program that is no TypeScript. No program runs in this instance.
        """
        guest = self if limits.fuel is None else self._metered
        return shielded(lambda: guest._strip(texts, limits))

    def _strip(self, texts: Sequence[str], limits: Limits) -> list[str] | Execution:
        memory, fuel = max(limits.memory_bytes, _STRIPPING_BYTES), limits.fuel
        limits = replace(limits, memory_bytes=memory, fuel=fuel and max(fuel, _FIRST_FUEL))
        with self._store(limits) as store:
            run = Run(Program(""), limits, store)
            stripped = run.strip(self.new_side(run), json.dumps(texts))
            return run.execution() if stripped is None else stripped

    @cached_property
    def _metered(self) -> JavaScriptGuest:
        return JavaScriptGuest(is_metered=True)

    def _run(self, program: Program, limits: Limits) -> Execution:
        plain = None
        if program.tests and not (program.setup or program.expected):
            plain = self._plain(program.tests, program.entry_point)
        try:
            return self._attempt(program, limits, plain)
        except Undecided:  # by the host: the program runs again
            return self._attempt(program, limits, None)

    def _attempt(self, program: Program, limits: Limits, plain: PlainTests | None) -> Execution:
        with self._store(limits) as store:
            run = Run(program, limits, store)
            try:
                run.start(self.new_side, plain)
            except WasmtimeError:  # the memory limit is too small for the engine itself
                return Execution("", "out of memory\n", 1, "memory")
            return run.execution()

    def _read_plain(self, tests: Sequence[str], entry_point: str) -> PlainTests | None:
        """Return the tests as plain steps, with what their constants are, if all are plain."""
        steps = [plain_steps(test, entry_point) for test in tests]
        if not all(steps):
            return None
        flat = [step for test in steps for step in test]
        names = sorted(called_names(flat))
        constants = [each for step in flat for each in (step.expected, step.message or "''")]
        with self._store(self._first_limits) as store:
            side = self.new_side(Run(Program(""), self._first_limits, store))
            answers = side.constants([*(f'"{name}" in globalThis' for name in names), *constants])
        if answers is None or any(value != "=false" for value, _shown in answers[: len(names)]):
            return None
        values = answers[len(names) :]
        judged = [
            Judged(step, *value, json.loads(message[1:]))
            for step, value, (message, _) in zip(flat, values[::2], values[1::2], strict=True)
        ]
        ends = itertools.accumulate(map(len, steps), initial=0)
        groups = [judged[a:b] for a, b in itertools.pairwise(ends)]
        return PlainTests(json.dumps([names, [step.call for step in flat]]), groups)

    @contextmanager
    def _store(self, limits: Limits) -> Iterator[Store]:
        # A run refers to itself in many ways. Closed, its instances' memory does not wait for
        # Python's collector of cycles.
        new_store = fresh_store(limits, self.prepared.engine)
        with new_store as store, deadline(store, limits.timeout_s):
            yield store

    def new_side(self, run: Run) -> Side:
        """Return a fresh interpreter of a run."""
        side = Side(run)
        side.machine = Machine(self.prepared, run.store, side, self._constants)
        side.machine.seed(run.limits.seed)
        return side

    def _first_instance(self) -> Mapping[str, int]:
        with self._store(self._first_limits) as store:
            return exported_numbers(self.prepared, store)


def _host_function(_interface: str, name: str) -> HostFunction:
    """Return the host function for an import of the module; WASI calls without one fail."""
    function: HostFunction | None = getattr(Side, f"on_{name}", None)
    return function or (lambda *_arguments: _EBADF)
