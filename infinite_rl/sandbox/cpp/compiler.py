"""From the text of a program to its module, by the clang of PyPI's `ziglang`.

The wheel has the sources of the standard library, but its own build of them has no exceptions. So
the library is built once a machine, which takes a minute or two, and kept in the user's cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ...errors import ExtraMissing, SandboxError
from ...files.atomic import atomic_folder
from ..compiled import private_folder
from ..programs import CompilerLimit, DoesNotCompile
from ..runtimes import runtime_file, runtime_named
from .cage import Done, run_caged

_HERE = Path(__file__).parent
_STACK_BYTES = 16 * 2**20
_ARCHIVE, _HEADERS = "libcxx.a", "stdcpp.pch"
_TARGET = ("--no-default-config", "-target", "wasm32-unknown-wasip1", "-w", "-fno-PIC", "-fno-lto")
_EXCEPTIONS = (
    *("-fwasm-exceptions", "-mllvm", "-wasm-use-legacy-eh=false", "-mcpu=generic"),
    *("-mexception-handling", "-mbulk-memory", "-mnontrapping-fptoint", "-msign-ext"),
)
_LIBRARY_SETTINGS = (
    *("_LIBCPP_ABI_VERSION=1", "_LIBCPP_ABI_NAMESPACE=__1", "_LIBCPP_HAS_THREADS=0"),
    *("_LIBCPP_HAS_MONOTONIC_CLOCK", "_LIBCPP_HAS_TERMINAL", "_LIBCPP_HAS_MUSL_LIBC=1"),
    *("_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS", "_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS"),
    *("_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0", "_LIBCPP_HAS_FILESYSTEM=1"),
    *("_LIBCPP_HAS_RANDOM_DEVICE", "_LIBCPP_HAS_LOCALIZATION", "_LIBCPP_HAS_UNICODE"),
    *("_LIBCPP_HAS_WIDE_CHARACTERS", "_LIBCPP_HAS_NO_STD_MODULES"),
    *("_LIBCPP_ENABLE_CXX17_REMOVED_FEATURES", "_LIBCPP_ENABLE_CXX20_REMOVED_FEATURES"),
    *("_LIBCPP_PSTL_BACKEND_SERIAL", "_WASI_EMULATED_PROCESS_CLOCKS", "_WASI_EMULATED_SIGNAL"),
    "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
)
_LIBRARY = (
    *("NDEBUG", "_LIBCPP_BUILDING_LIBRARY", "LIBCXX_BUILDING_LIBCXXABI"),
    *("_LIBCXXABI_BUILDING_LIBRARY", "_LIBCXXABI_HAS_NO_THREADS"),
    *("HAVE___CXA_THREAD_ATEXIT_IMPL", "_LIBUNWIND_HIDE_SYMBOLS"),
)
# Parts of the library that need threads, processes or time zones, which the sandbox does not have.
_LEFT_OUT = re.compile(
    r"noexception|thread|mutex|barrier|future|condition|atomic|pstl|tzdb|time_zone|print\.cpp"
    r"|iostream_win|experimental|directory_|operations\.cpp"
)
# The tag that all exceptions have; the compiler leaves it to a system's library.
_TAG = ".tagtype __cpp_exception i32\n.globl __cpp_exception\n__cpp_exception:\n"
_WRAPPED = "__main_void", "__wasi_fd_write", "__wasi_proc_exit"  # see support.txt
# For a program, limits on its templates and constants, and one error.
_PROGRAM = (
    *("-x", "c++", "-std=gnu++20", "-O2", "-g0", "-fno-trigraphs", "-ferror-limit=1"),
    *("-ftemplate-depth=900", "-fconstexpr-steps=20000000", "-ftemplate-backtrace-limit=1"),
    *("-fmacro-backtrace-limit=1", "-fno-caret-diagnostics", "-fno-color-diagnostics"),
)

logger = logging.getLogger(__name__)


class Tools(NamedTuple):
    """The compiler, its headers, and the folder of the library that was built for it."""

    zig: Path
    lib: Path
    built: Path

    def flags(self) -> list[str]:
        """Return the options that every source has, with the folders of the headers."""
        folders = ("libcxx/include", "libcxxabi/include", "include", "libc/include/wasm-wasi-musl")
        more = ("generic-musl", "wasm32-wasi-any", "any-wasi-any")
        includes = [*folders, *(f"libc/include/{name}" for name in more)]
        systems = [word for name in includes for word in ("-isystem", str(self.lib / name))]
        settings = [f"-D{each}" for each in _LIBRARY_SETTINGS]
        return [*_TARGET, *_EXCEPTIONS, "-nostdinc", "-nostdinc++", *settings, *systems]


@lru_cache(maxsize=1)
def tools() -> Tools:
    """Return the compiler with its library, which is built if it is not in the cache.

    Raises:
        ExtraMissing: the extra is not installed, or nothing can be kept for this user.
        SandboxError: the library cannot be built.
    """
    runtime_file(runtime_named("cpp"))  # that it is installed
    spec = find_spec("ziglang")
    assert spec and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    folder = private_folder()
    if folder is None:
        raise ExtraMissing("the C++ library is built once, and there is no folder to keep it in")
    path = folder / f"cpp-library-{_digest()[:24]}"
    kit = Tools(package / "zig", package / "lib", path.resolve())
    with (folder / f"{path.name}.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_dir():
            wait = "a minute or two"
            logger.warning("building the C++ library for this machine, once; this takes %s", wait)
            with atomic_folder(path) as draft:
                draft.mkdir()
                _build(kit._replace(built=draft), draft)
            _precompile(kit)
    return kit


def compile_program(code: str, headers: Mapping[str, str], *, whole: bool) -> bytes:
    """Return the module of a program, compiled in a cage.

    `headers` are files that it may include by name. With `whole`, the whole standard library is
    there before its first line. Raises `DoesNotCompile` or `CompilerLimit`.
    """
    kit = tools()
    reads = (kit.zig.parent, kit.built)
    with tempfile.TemporaryDirectory(prefix="infinite-rl-") as folder:
        work = Path(folder).resolve() / "work"
        (work / "bits").mkdir(parents=True)
        for name, text in {"main.cpp": code, **headers}.items():
            (work / name).write_text(text, encoding="utf-8", errors="replace")
        headers_first = ["-include-pch", str(kit.built / _HEADERS)] if whole else []
        more = ["-idirafter", str(kit.built), "-I", ".", *headers_first]
        command = [str(kit.zig), "clang", *kit.flags(), *_PROGRAM, *more]
        done = run_caged([*command, "-c", "main.cpp", "-o", "main.o"], reads, work)
        if done.code:
            raise _refusal(done, code)
        done = run_caged(_link(kit, ["main.o"], "main.wasm"), reads, work)
        if done.code > 0 and "undefined symbol" not in done.message:
            raise SandboxError(f"a C++ program cannot be linked: {done.message[:300]}")
        if done.code:
            raise _refusal(done, code)
        return (work / "main.wasm").read_bytes()


def _link(kit: Tools, objects: list[str], output: str) -> list[str]:
    parts = ["crt1-command.o", "support.o", "tag.o", _ARCHIVE]
    parts += ["libc.a", "libzigc.a", "libcompiler_rt.a"]
    wraps = [f"--wrap={name}" for name in _WRAPPED]
    options = ["--stack-first", "-z", f"stack-size={_STACK_BYTES}", "-s", *wraps]
    own = [str(kit.built / name) for name in parts]
    return [str(kit.zig), "wasm-ld", *options, "-o", output, *objects, *own]


def _refusal(done: Done, code: str) -> Exception:
    """What to say of a program, without the compiler's words on anything but the program."""
    if (
        done.code < 0
        or "allocat" in done.message
        or "fatal error: error in backend" in done.message
    ):
        return CompilerLimit("the compiler met its limit of time or memory")
    if "undefined symbol" in done.message:
        return DoesNotCompile("it does not compile: it uses a function that is not defined")
    for line in re.findall(r"^main\.cpp:(\d+):", done.message, re.MULTILINE):
        texts = code.splitlines()
        if 0 < int(line) <= len(texts):
            return DoesNotCompile(
                f"it does not compile: line {line}: {texts[int(line) - 1].strip()[:200]}"
            )
    return DoesNotCompile("it does not compile")


# --- the library ---------------------------------------------------------------------------------


def _digest() -> str:
    texts = [(_HERE / name).read_text("utf-8") for name in ("support.txt", "stdcpp.txt")]
    settings = _TARGET, _EXCEPTIONS, _LIBRARY_SETTINGS, _LIBRARY, _LEFT_OUT.pattern, _TAG, _PROGRAM
    recipe = "\n".join([version("ziglang"), repr(settings), *texts])
    return hashlib.sha256(recipe.encode()).hexdigest()


def _build(kit: Tools, folder: Path) -> None:
    """Compile the wheel's own sources of the library into `folder`. Raises `SandboxError`."""
    _build_system(kit, folder)
    lib = kit.lib
    sources = [
        *(lib / "libcxxabi" / "src").glob("*.cpp"),
        *(lib / "libcxx" / "src").glob("*.cpp"),
        *(lib / "libcxx" / "src" / "ryu").glob("*.cpp"),
        *(lib / "libcxx" / "src" / "filesystem").glob("*.cpp"),
        lib / "libunwind" / "src" / "Unwind-wasm.c",
    ]
    sources = [each for each in sources if not _LEFT_OUT.search(each.name)]
    folders = (
        "libcxx/src",
        "libcxx/libc",
        "libcxxabi/include",
        "libunwind/include",
        "libunwind/src",
    )
    includes = [word for each in folders for word in ("-I", str(lib / each))]
    flags = [*kit.flags(), "-O2", "-fvisibility=hidden", *(f"-D{each}" for each in _LIBRARY)]
    with tempfile.TemporaryDirectory(prefix="infinite-rl-") as scratch:

        def compile_one(source: Path) -> str:
            output = str(Path(scratch, f"{source.parent.name}-{source.name}.o"))
            standard = [] if source.suffix == ".c" else ["-std=c++23"]
            _run(kit, "clang", *flags, *standard, *includes, "-c", str(source), "-o", output)
            return output

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            objects = list(pool.map(compile_one, sources))
        _run(kit, "ar", "rcs", str(folder / _ARCHIVE), *objects)
    (folder / "tag.S").write_text(_TAG, encoding="ascii")
    tag = ["-c", str(folder / "tag.S"), "-o", str(folder / "tag.o")]
    _run(kit, "clang", *_TARGET, *_EXCEPTIONS, *tag)
    support = [
        "-std=c++20",
        "-x",
        "c++",
        str(_HERE / "support.txt"),
        "-o",
        str(folder / "support.o"),
    ]
    _run(kit, "clang", *kit.flags(), "-O2", "-c", *support)
    (folder / "bits").mkdir()
    shutil.copyfile(_HERE / "stdcpp.txt", folder / "bits" / "stdc++.h")


def _build_system(kit: Tools, folder: Path) -> None:
    """Have the wheel build its C library, by a program that is linked with it."""
    with tempfile.TemporaryDirectory(prefix="infinite-rl-") as scratch:
        Path(scratch, "main.c").write_text("int main(void) { return 0; }\n", encoding="ascii")
        environ = {
            "ZIG_GLOBAL_CACHE_DIR": f"{scratch}/all",
            "ZIG_LOCAL_CACHE_DIR": f"{scratch}/one",
        }
        environ["ZIG_VERBOSE_LINK"] = "1"  # it says where the parts are
        options = ["-target", "wasm32-wasi", "-O2", "main.c", "-o", "main.wasm"]
        message = _run(kit, "cc", *options, folder=scratch, environ=environ)
        for name in ("crt1-command.o", "libc.a", "libzigc.a", "libcompiler_rt.a"):
            path = next(word for word in message.split() if word.endswith(f"/{name}"))
            shutil.copyfile(Path(scratch, path), folder / name)


def _precompile(kit: Tools) -> None:
    """Read the whole library once: a program that includes it all starts from there."""
    header = str(kit.built / "bits" / "stdc++.h")
    flags = [*kit.flags(), *_PROGRAM[2:], "-idirafter", str(kit.built), "-I", "."]
    output = str(kit.built / _HEADERS)
    _run(kit, "clang", *flags, "-x", "c++-header", header, "-o", output)


def _run(
    kit: Tools, *words: str, folder: str | None = None, environ: dict[str, str] | None = None
) -> str:
    """Run the compiler on its own sources, and return its messages. Raises `SandboxError`."""
    command = [str(kit.zig), *words]
    done = subprocess.run(command, cwd=folder, env=environ or {}, capture_output=True, text=True)
    if done.returncode:
        raise SandboxError(f"the C++ library cannot be built: {done.stderr.strip()[:300]}")
    return done.stderr
