"""C in the sandbox beside gcc: the programs of parity_c.txt with many numbers, and generated ones."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from infinite_rl.errors import UsageError
from infinite_rl.sandbox.executor import RewardExecutor

from .parity import Parity
from .parity_cpp import _expression

_TEXTS = Path(__file__).with_suffix(".txt")
_HOLE = re.compile(r"@\{([^{}]*)\}")
_doubts: dict[object, str] = {}  # of programs that are unscored unless they are right, by their end
_EXECUTOR = RewardExecutor(timeout=10)
_SCRATCH = tempfile.TemporaryDirectory(prefix="parity-c-")
_GENERATED = "generated"


class Program(NamedTuple):
    """A program and its input."""

    kind: str
    code: str
    stdin: str

    def __str__(self) -> str:
        return self.code


def parity() -> Parity:
    """Compare with gcc. Raises `UsageError` if it is not installed."""
    if shutil.which("gcc") is None:
        raise UsageError("gcc is not installed")
    return Parity(
        "gcc -O2 -fwrapv -std=gnu17",
        programs,
        _ours,
        _native,
        lambda each: str(each.kind),
        _is_unscored,
    )


def _is_unscored(ours: object, _native: object) -> str:
    return _doubts.get(ours, "")


def programs(count: int, seed: int) -> Sequence[Program]:
    """Fill each text in turn; a fifth of the programs are generated."""
    chance = random.Random(seed)
    texts = [each.split("\n", 1) for each in _TEXTS.read_text("utf-8").split("\n== ")[1:]]
    result = []
    for number in range(count):
        if number % 5 == 4:
            kind, code = _GENERATED, _generated(chance)
        else:
            kind, text = texts[(number - number // 5) % len(texts)]
            code = _HOLE.sub(lambda hole: _filled(hole[1], chance), text)
        result.append(Program(kind, code, _stdin(chance)))
    return result


def _filled(hole: str, chance: random.Random) -> str:
    if match := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", hole):
        return str(chance.randint(int(match[1]), int(match[2])))
    return chance.choice(hole.split("|"))


def _stdin(chance: random.Random) -> str:
    numbers = " ".join(str(chance.randint(-999, 999)) for _ in range(chance.randint(0, 20)))
    words = "\n".join(
        " ".join(chance.choice(["Level", "a", "tree", "Noon", "x9", "bb,cc", "the"]) for _ in "123")
        for _ in range(chance.randint(0, 4))
    )
    return f"{len(numbers.split())}\n{numbers}\n{words}" + "\n" * chance.randint(0, 1)


# --- generated programs --------------------------------------------------------------------------

_TYPES = (
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "size_t",
    "int8_t",
    "uint16_t",
    "int64_t",
)


def _generated(chance: random.Random) -> str:
    """Functions of numbers of many types, an array, a loop and a structure, printed at the end."""
    names = [f"v{n}" for n in range(6)]
    fields = "".join(f"  {chance.choice(_TYPES)} {name};\n" for name in names[:3])
    functions = "".join(
        f"static {chance.choice(_TYPES)} f{n}({chance.choice(_TYPES)} a, {chance.choice(_TYPES)} b) "
        f"{{ return {_expression(chance, 'ab')}; }}\n"
        for n in range(3)
    )
    variables = "".join(
        f"  {chance.choice(_TYPES)} {name} = {chance.randint(0, 2**31)};\n" for name in names
    )
    lines = "".join(f"    {_statement(chance, names)}\n" for _ in range(chance.randint(3, 8)))
    shows = "".join(
        f'  printf("%lld ", (long long)({name}));\n' for name in (*names, "s.v0", "s.v2")
    )
    return (
        "#include <stdio.h>\n#include <stdint.h>\n#include <stddef.h>\n"
        f"struct s {{\n{fields}}};\n{functions}"
        f"int main(void) {{\n{variables}  struct s s = {{1, 2, 3}};\n  unsigned t[8] = {{0}};\n"
        f"  for (int i = 0; i < {chance.randint(1, 30)}; i++) {{\n{lines}  }}\n{shows}"
        '  for (int i = 0; i < 8; i++) printf("%u ", t[i]);\n  return 0;\n}\n'
    )


def _statement(chance: random.Random, names: Sequence[str]) -> str:
    value = _expression(chance, names, 2)  # type: ignore[arg-type]
    target = chance.choice([*names, "s.v0", "s.v1", "s.v2", "t[i % 8]"])
    operator = chance.choice(["=", "=", "+=", "^=", "-=", "|="])
    call = f"f{chance.randint(0, 2)}({chance.choice(names)}, {value})"
    return chance.choice(
        [
            f"{target} {operator} {value};",
            f"{target} {operator} {call};",
            f"if ({value}) {target} {operator} {call}; else {chance.choice(names)}++;",
            f"{target} = {chance.choice(names)} < ({value}) ? {call} : {chance.choice(names)};",
            f"switch (({value}) & 3) {{ case 0: {target}++; case 1: t[i & 7] += {call}; break; "
            f"default: {target} = {chance.choice(names)}; }}",
        ]
    )


# --- running them --------------------------------------------------------------------------------


def _ours(program: Program) -> object:
    ran = _EXECUTOR.execute(program.code, "c", stdin=program.stdin)
    end = ran.exit_code, ran.stdout or ran.stderr[-200:] * (ran.exit_code == 126)
    if ran.doubt:
        _doubts[end] = f"unscored: {ran.doubt}"
    return end


def _native(program: Program) -> object:
    done = subprocess.run(
        [_binary(program.code)], input=program.stdin.encode(), capture_output=True, timeout=20
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, done.stdout.decode("utf-8", "replace")


@cache
def _binary(code: str) -> str:
    path = Path(_SCRATCH.name, f"program{len(list(Path(_SCRATCH.name).iterdir()))}")
    source = path.with_suffix(".c")
    source.write_text(code, encoding="utf-8")
    command = ["gcc", "-O2", "-w", "-fwrapv", "-std=gnu17", str(source), "-o", str(path), "-lm"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return str(path)
