"""Adds the runtimes to a CycloneDX bill of materials: their files, hashes and sources.

    cyclonedx-py environment --output-reproducible --of JSON -o packages.json ENVIRONMENT
    python -m build_src.sbom packages.json SBOM.json

The first command lists the Python packages of an environment in which the wheel is installed. It
cannot see what the wheel's WebAssembly files were made of. Standard library only.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

from infinite_rl.sandbox.runtimes import RUNTIMES

from .runtime_files import FOLDER, SOURCES, file_hash, tools

# What a build fetches from npm, as its files name it: a package, its version, its SHA-512.
_FROM_NPM = re.compile(r'^PACKAGE = "([\w-]+)@([\d.]+)".*\nINTEGRITY = \(\n\s+"([^"]+)"', re.M)
_FROM_PYPI = {"python": "componentize-py", "sql": "ziglang"}  # those that leave code in the file


def sources_of(name: str) -> list[dict[str, Any]]:
    """Return the components that the file of a runtime is made of."""
    components = []
    for pin in tools([name]):
        package, version = pin.split("==")
        if package == _FROM_PYPI.get(name):
            components.append(_library("pypi", package, version))
    for path in sorted((SOURCES / name).glob("*.py")):
        for package, version, integrity in _FROM_NPM.findall(path.read_text(encoding="utf-8")):
            digest = base64.b64decode(integrity).hex()
            hashes = [{"alg": "SHA-512", "content": digest}]
            components.append(_library("npm", package, version) | {"hashes": hashes})
    return components


def _library(registry: str, package: str, version: str) -> dict[str, Any]:
    purl = f"pkg:{registry}/{package}@{version}"
    return {"type": "library", "bom-ref": purl, "name": package, "version": version, "purl": purl}


def with_runtimes(bill: dict[str, Any], folder: Path = FOLDER) -> dict[str, Any]:
    """Return a bill of materials with a component for each runtime's file in `folder`."""
    files = [
        {
            "type": "file",
            "bom-ref": f"runtimes/{runtime.filename}",
            "name": runtime.filename,
            "hashes": [{"alg": "SHA-256", "content": file_hash(folder / runtime.filename)}],
            "components": sources_of(runtime.name),
        }
        for runtime in RUNTIMES
        if runtime.is_built and (folder / runtime.filename).is_file()
    ]
    return {**bill, "components": [*bill.get("components", []), *files]}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m build_src.sbom PACKAGES.json SBOM.json")
    bill = with_runtimes(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    Path(sys.argv[2]).write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
