"""Make `python.wasm`: CPython with its standard library, imported and stored as a component.

    python build_src/python/build.py [FOLDER]

Writes `python.wasm` and `python.wasm.sha256` into FOLDER (default `infinite_rl/runtimes`) and
prints the hash. Needs componentize-py 0.25.1, which carries CPython for WebAssembly.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNTIMES = HERE.parent.parent / "infinite_rl" / "runtimes"
GUEST = ("app.py", "library.py", "surroundings.py")
NAME = "python.wasm"
# Runs in the interpreter that builds: the package may have put no command on the PATH.
_TOOL = "import sys, componentize_py as c; sys.argv[0] = 'componentize-py'; c.script()"


def build(folder: Path) -> str:
    """Build into `folder`, atomically. Returns the SHA-256 of the component."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        source, made = Path(scratch, "guest"), Path(scratch, NAME)
        source.mkdir()
        for name in GUEST:
            (source / name).write_bytes((HERE / name).read_bytes())
        arguments = ["-q", "-d", str(HERE / "world.wit"), "-w", "sandbox", "componentize"]
        arguments += ["-p", str(source), "-o", str(made), "app"]
        # A fixed hash seed, and no site-packages of the builder's environment in the guest.
        kept = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        environment = {**kept, "PYTHONHASHSEED": "0"}
        subprocess.run([sys.executable, "-c", _TOOL, *arguments], check=True, env=environment)
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        made.replace(folder / NAME)
    (folder / f"{NAME}.sha256").write_text(f"{digest}  {NAME}\n", encoding="ascii")
    return digest


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else RUNTIMES
    print(build(target), NAME)
