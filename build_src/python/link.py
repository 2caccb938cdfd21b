"""Link the core modules of a componentize-py component into one core module.

A component of componentize-py has 14 core modules, which each instance links anew: that takes more
time than a short program. Nothing about that linking depends on a run. So it is done here once:

- A global that no code sets is replaced by its value.
- The calls that go through the tables of adapters become direct calls.
- The table and the memory get the contents that they have after all modules are started.
- The host's functions become imports, by the name of their interface and their own name, with the
  signatures of the component model's canonical ABI.

    module = link(component)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .core_module import (
    I32,
    KINDS,
    MAGIC,
    Constant,
    CoreModule,
    LayoutError,
    Reader,
    i32_const,
    indices,
    sections,
    signed,
    sized,
    unsigned,
    vector,
)

_PAGE = 65536
_PIECE = 4096  # bytes; the granularity at which zeros are left out of the image
_MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class HostFunction:
    """A function that the host provides."""

    interface: str
    name: str


@dataclass(frozen=True)
class Definition:
    """What the module of the instance with this number defines: its nth of that kind."""

    instance: int
    kind: str
    index: int


Entity = HostFunction | Definition


@dataclass
class Instance:
    """A core module with what its indices stand for, by kind."""

    number: int
    module: CoreModule
    spaces: dict[str, list[Entity]]

    def export(self, name: str) -> tuple[str, Entity]:
        kind, index = self.module.exports[name]
        return kind, self.spaces[kind][index]


Exports = dict[str, tuple[str, Entity]]


@dataclass
class Component:
    """The core instances of a component in their order, and the functions that it exports."""

    instances: list[Instance] = field(default_factory=list)
    exports: dict[str, Entity] = field(default_factory=dict)
    signatures: dict[HostFunction, bytes] = field(default_factory=dict)


# --- reading the component -----------------------------------------------------------------------


class _ComponentReader:
    """Reads a component's sections; the numbers are those of the component model's `Binary.md`."""

    def __init__(self) -> None:
        self.component = Component()
        self._modules: list[CoreModule] = []
        self._instances: list[Instance | Exports] = []
        self._core: dict[str, list[Entity]] = {kind: [] for kind in KINDS}
        self._functions: list[Entity] = []  # those of the component level
        self._options: dict[Entity, dict[int, Entity]] = {}  # of the functions that it defines
        self._interfaces: list[str] = []
        self._type_count = 0
        self._resources: dict[int, HostFunction] = {}

    def read(self, data: bytes) -> Component:
        readers: dict[int, Callable[[Reader], None]] = {
            2: self._core_instance,
            6: self._alias,
            8: self._canonical,
            10: self._import,
            11: self._export,
        }
        for number, content in sections(data):
            reader = Reader(content)
            if number == 1:
                self._modules.append(CoreModule.read(content))
            elif number in readers:
                for _ in range(reader.unsigned()):
                    readers[number](reader)
            elif number == 5:  # instances that only regroup exports
                self._interfaces.extend(["local"] * reader.unsigned())
            elif number == 7:
                self._type_count += reader.unsigned()
            elif number not in (0, 3, 4):
                raise LayoutError(f"section {number} in the component")
        return self.component

    def _core_instance(self, reader: Reader) -> None:
        if reader.byte() != 0:
            entries = reader.vector(
                lambda: (reader.name(), KINDS[reader.byte()], reader.unsigned())
            )
            self._instances.append(
                {name: (kind, self._core[kind][index]) for name, kind, index in entries}
            )
            return
        module = self._modules[reader.unsigned()]
        arguments = {}
        for _ in range(reader.unsigned()):
            name = reader.name()
            reader.byte()
            arguments[name] = self._instances[reader.unsigned()]
        number = len(self.component.instances)
        spaces: dict[str, list[Entity]] = {kind: [] for kind in KINDS}
        for each in module.imports:
            kind, entity = _exported(arguments[each.module], each.name)
            if kind != each.kind:
                raise LayoutError(f"{each.module}.{each.name} is a {kind}, not a {each.kind}")
            spaces[kind].append(entity)
            if isinstance(entity, HostFunction):
                self.component.signatures.setdefault(entity, module.types[each.type])
        for kind, count in (
            ("func", len(module.functions)),
            ("table", len(module.tables)),
            ("memory", len(module.memories)),
            ("global", len(module.globals)),
        ):
            spaces[kind] += [Definition(number, kind, index) for index in range(count)]
        instance = Instance(number, module, spaces)
        self.component.instances.append(instance)
        self._instances.append(instance)

    def _alias(self, reader: Reader) -> None:
        sort = reader.byte()
        core_kind = reader.byte() if sort == 0 else None
        target = reader.byte()
        if target == 1 and core_kind is not None:
            instance, name = self._instances[reader.unsigned()], reader.name()
            self._core[KINDS[core_kind]].append(_exported(instance, name)[1])
        elif target == 0:
            interface, name = self._interfaces[reader.unsigned()], reader.name()
            if sort == 1:
                self._functions.append(HostFunction(interface, name))
            elif sort == 3:
                self._resources[self._type_count] = HostFunction(interface, name)
                self._type_count += 1
            elif sort == 5:
                self._interfaces.append(name)
        elif target == 2:
            reader.unsigned(), reader.unsigned()
            self._type_count += sort == 3
        else:
            raise LayoutError(f"an alias of sort {sort} of target {target}")

    def _canonical(self, reader: Reader) -> None:
        operation = reader.byte()
        if operation in (0, 1):
            reader.byte()
        if operation == 0:
            function = self._core["func"][reader.unsigned()]
            self._options[function] = self._read_options(reader)
            reader.unsigned()  # the function's type
            self._functions.append(function)
        elif operation == 1:
            function = self._functions[reader.unsigned()]
            self._read_options(reader)
            self._core["func"].append(function)
        elif operation in (2, 3, 4):
            number = reader.unsigned()
            owner = self._resources.get(number, HostFunction("", str(number)))
            verb = {2: "new", 3: "drop", 4: "rep"}[operation]
            self._core["func"].append(
                HostFunction(owner.interface, f"[resource-{verb}]{owner.name}")
            )
        else:
            raise LayoutError(f"the canonical operation {operation:#x}")

    def _read_options(self, reader: Reader) -> dict[int, Entity]:
        """Return the functions among the options: 4 allocates, 5 is called after a return."""
        functions = {}
        for _ in range(reader.unsigned()):
            option = reader.byte()
            if option in (4, 5):
                functions[option] = self._core["func"][reader.unsigned()]
            elif option == 3:
                reader.unsigned()
        return functions

    def _import(self, reader: Reader) -> None:
        reader.byte()
        name, kind = reader.name(), reader.byte()
        if kind == 1:
            reader.unsigned()
            self._functions.append(HostFunction("$root", name))
        elif kind == 5:
            reader.unsigned()
            self._interfaces.append(name)
        elif kind == 3:
            if reader.byte() == 0:
                reader.unsigned()
            self._type_count += 1
        else:
            raise LayoutError(f"an import of sort {kind}")

    def _export(self, reader: Reader) -> None:
        reader.byte()
        name, sort, index = reader.name(), reader.byte(), reader.unsigned()
        if reader.byte():
            reader.byte(), reader.unsigned()
        if sort == 1:
            function = self._functions[index]
            self._functions.append(function)
            options = self._options[function]
            self.component.exports |= {
                name: function,
                "cabi_realloc": options[4],  # the same for all
                f"cabi_post_{name}": options[5],
            }


def _exported(instance: Instance | Exports, name: str) -> tuple[str, Entity]:
    return instance.export(name) if isinstance(instance, Instance) else instance[name]


# --- linking -------------------------------------------------------------------------------------


class _Linker:
    """Gives each function, type and global its index in the one module."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.instances = component.instances
        self.aliases: dict[Entity, Entity] = {}
        self.types: dict[bytes, int] = {}
        self._skip_adapters()
        self._skip_trampolines()
        self.hosts = [*component.signatures]
        self.functions: dict[Entity, int] = {host: n for n, host in enumerate(self.hosts)}
        for instance in self.instances:
            for index in range(len(instance.module.functions)):
                self.functions[Definition(instance.number, "func", index)] = len(self.functions)
        self.globals = self._globals_that_change()

    def _skip_adapters(self) -> None:
        """Remove the modules whose work is done here, or was done when the image was made.

        One exports functions that only call through a table, and one fills that table. A third sets
        slots of the main table, and has the start function of the modules' own linker: that has
        run.
        """
        shim = self._only("the adapters", lambda module: "$imports" in module.exports)
        fixup = self._only(
            "what fills the adapters' table", lambda m: any(not i.module for i in m.imports)
        )
        started = self._only(
            "the linker's start function", lambda m: len(m.functions) == 1 and len(m.imports) > 500
        )
        targets = dict(self._table_items([fixup]))
        for name, (kind, index) in shim.module.exports.items():
            if kind == "func":
                self.aliases[Definition(shim.number, "func", index)] = targets[int(name)]
        started.module.functions, started.module.bodies = [], []
        started.module.has_start = False
        self.instances = [i for i in self.instances if i not in (shim, fixup)]
        if any(instance.module.has_start for instance in self.instances):
            raise LayoutError("a module with a start function that has not run")

    def _skip_trampolines(self) -> None:
        """Replace functions that pass their parameters on through the table by their targets."""
        environment = self._only(
            "the module with the table", lambda m: "__indirect_function_table" in m.exports
        )
        targets = dict(self._table_items(self.instances))
        imported = sum(each.kind == "func" for each in environment.module.imports)
        for index, body in enumerate(environment.module.bodies):
            slot = _trampoline_slot(body)
            if slot is not None and slot in targets:
                self.aliases[environment.spaces["func"][imported + index]] = targets[slot]

    def _only(self, what: str, fits: Callable[[CoreModule], bool]) -> Instance:
        fitting = [instance for instance in self.instances if fits(instance.module)]
        if len(fitting) != 1:
            raise LayoutError(f"{len(fitting)} modules look like {what}")
        return fitting[0]

    def _table_items(self, instances: list[Instance]) -> Iterator[tuple[int, Entity]]:
        """Yield the slots of the table and their functions, in the order in which they are set."""
        for instance in instances:
            for elements in instance.module.elements:
                if elements.offset is None:
                    continue
                start = self.value(instance, elements.offset)
                for slot, item in enumerate(elements.items, start):
                    if item.function is not None:
                        yield slot, instance.spaces["func"][item.function]

    def value(self, instance: Instance, constant: Constant) -> int:
        """Return the value of a constant expression of an instance, without its sign."""
        number = constant.number
        for index in constant.globals:
            number += self.initial(instance.spaces["global"][index])
        return number & _MASK

    def initial(self, entity: Entity) -> int:
        """Return the initial value of a global."""
        if not isinstance(entity, Definition):
            raise LayoutError("a global of the host")
        owner = self.component.instances[entity.instance]
        return self.value(owner, owner.module.globals[entity.index].initial)

    def _globals_that_change(self) -> dict[Entity, int]:
        changing = {
            instance.spaces["global"][index]
            for instance in self.instances
            for body in instance.module.bodies
            for kind, index, _, _ in indices(body)
            if kind == "set global"
        }
        defined = (
            Definition(instance.number, "global", index)
            for instance in self.instances
            for index in range(len(instance.module.globals))
        )
        return {entity: n for n, entity in enumerate(e for e in defined if e in changing)}

    def function(self, entity: Entity) -> int:
        """Return the index of a function, behind all that only pass calls on."""
        while entity in self.aliases:
            entity = self.aliases[entity]
        return self.functions[entity]

    def type(self, signature: bytes) -> int:
        """Return the index of a function's type."""
        return self.types.setdefault(signature, len(self.types))

    def body(self, instance: Instance, body: bytes) -> bytes:
        """Return a function's body with its indices replaced."""
        pieces, last = [], 0
        for kind, index, start, end in indices(body):
            if kind == "func":
                new = unsigned(self.function(instance.spaces["func"][index]))
            elif kind == "type":
                new = unsigned(self.type(instance.module.types[index]))
            elif kind == "block":
                new = signed(self.type(instance.module.types[index]))
            else:
                entity = instance.spaces["global"][index]
                if entity in self.globals:
                    new = unsigned(self.globals[entity])
                else:
                    start -= 1  # the opcode: the global's value takes its place
                    new = i32_const(self.initial(entity))
            pieces += [body[last:start], new]
            last = end
        return b"".join([*pieces, body[last:]])

    def image(self) -> bytearray:
        """Return the contents of the memory."""
        memories = [pages for instance in self.instances for pages in instance.module.memories]
        if len(memories) != 1:
            raise LayoutError(f"{len(memories)} memories")
        image = bytearray(memories[0] * _PAGE)
        for instance in self.instances:
            for offset, content in instance.module.data:
                start = self.value(instance, offset)
                image[start : start + len(content)] = content
        return image

    def write(self, image: bytearray) -> bytes:
        """Return the module."""
        hosts = [
            sized(host.interface.encode()) + sized(host.name.encode()) + b"\0"
            + unsigned(self.type(self.component.signatures[host]))
            for host in self.hosts
        ]  # fmt: skip
        functions, bodies, declared = [], [], set()
        for instance in self.instances:
            module = instance.module
            functions += [unsigned(self.type(module.types[index])) for index in module.functions]
            for body in module.bodies:
                bodies.append(sized(self.body(instance, body)))
                declared |= {
                    self.function(instance.spaces["func"][index])
                    for kind, index, start, _ in indices(body)
                    if kind == "func" and body[start - 1] == 0xD2
                }
        table = {slot: self.function(entity) for slot, entity in self._table_items(self.instances)}
        least = next(tables[0] for i in self.instances if (tables := i.module.tables))
        size = max(least, max(table) + 1)
        segments = [
            b"\0" + i32_const(start) + b"\x0b" + vector([unsigned(f) for f in run])
            for start, run in _runs(table)
        ]
        if declared := declared.difference(table.values()):
            segments.append(b"\3\0" + vector([unsigned(f) for f in sorted(declared)]))
        data = [
            b"\0" + i32_const(start) + b"\x0b" + sized(content) for start, content in _pieces(image)
        ]
        contents = {
            1: vector(self.types),
            2: vector(hosts),
            3: vector(functions),
            4: vector([b"\x70\1" + unsigned(size) * 2]),
            5: vector([b"\0" + unsigned(len(image) // _PAGE)]),
            6: vector([self._global(entity) for entity in self.globals]),
            7: vector(self._exports()),
            9: vector(segments),
            10: vector(bodies),
            11: vector(data),
        }
        return MAGIC + b"".join(bytes([n]) + sized(content) for n, content in contents.items())

    def _global(self, entity: Entity) -> bytes:
        assert isinstance(entity, Definition)
        owner = self.component.instances[entity.instance]
        valtype = owner.module.globals[entity.index].valtype
        if valtype != I32:
            raise LayoutError("a global that changes and is no i32")
        return bytes([valtype, 1]) + i32_const(self.initial(entity)) + b"\x0b"

    def _exports(self) -> list[bytes]:
        functions = [
            sized(name.encode()) + b"\0" + unsigned(self.function(entity))
            for name, entity in self.component.exports.items()
        ]
        return [sized(b"memory") + b"\2\0", *functions]


def _trampoline_slot(body: bytes) -> int | None:
    """Return the slot that a function calls with its own parameters, in order; None if not that."""
    reader = Reader(body)
    if reader.unsigned() != 0:  # locals beyond the parameters
        return None
    for count in range(reader.end):
        opcode = reader.byte()
        if opcode == 0x20 and reader.unsigned() == count:
            continue
        if opcode != 0x41:
            return None
        slot = reader.signed()
        is_call = reader.byte() == 0x11
        reader.unsigned(), reader.unsigned()
        return slot if is_call and reader.take(1) == b"\x0b" and not reader.more() else None
    return None


def _runs(table: dict[int, int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the first slot and the functions of each run of neighbouring slots."""
    run: list[int] = []
    for slot in sorted(table):
        run.append(table[slot])
        if slot + 1 not in table:
            yield slot + 1 - len(run), run
            run = []


def _pieces(image: bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield the image's contents without its zeros, as (address, bytes)."""
    zeros = bytes(_PIECE)
    start = None
    for at in range(0, len(image) + 1, _PIECE):
        is_zero = image[at : at + _PIECE] in (zeros, b"")
        if start is None and not is_zero:
            start = at
        elif start is not None and is_zero:
            yield start, bytes(image[start:at])
            start = None


def link(component: bytes, edit: Callable[[bytearray], None] | None = None) -> bytes:
    """Return one core module for a component of componentize-py.

    `edit` changes the contents of the memory. Raises `LayoutError` if the component is not laid out
    as this file relies on.
    """
    linker = _Linker(_ComponentReader().read(component))
    image = linker.image()
    if edit is not None:
        edit(image)
    return linker.write(image)
