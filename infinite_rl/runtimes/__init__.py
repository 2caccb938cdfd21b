"""The WebAssembly files of the runtimes, and the face of their table in `sandbox/runtimes.py`.

How the `.wasm` files are made, and what runs inside of them, is in `build_src/`.
"""

from ..sandbox.runtimes import (
    RUNTIMES,
    Guest,
    Limits,
    Runtime,
    language_of,
    load_guest,
    recorded_hash,
    runtime_file,
    runtime_named,
)

__all__ = [
    "RUNTIMES",
    "Guest",
    "Limits",
    "Runtime",
    "language_of",
    "load_guest",
    "recorded_hash",
    "runtime_file",
    "runtime_named",
]
