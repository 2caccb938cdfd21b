"""A differential fuzzer: generated programs in the sandbox and on this machine, side by side.

    python -m benchmarks.fuzz python [--programs N] [--seed S] [--jobs N] [--host COMMAND]
    python -m benchmarks.fuzz javascript ...

Programs grow from the grammar in `fuzz_python.txt` or `fuzz_javascript.txt`; the same seed gives
the same program everywhere. Both sides must print the same, end with the same exit code, and name
the same error. What differs is cut down to the lines that it takes and printed once a kind, with
its seed: `--seed S --programs 1 --show` repeats it. Differences that have a known reason, such as
another version of the language, are counted by that reason.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path

from benchmarks.native import STOPPED, Ending, Native
from benchmarks.sandbox import machine
from infinite_rl.sandbox.executor import RewardExecutor

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 10.0
TRIAL_S = 1.0  # for a program with a line taken out: it may loop
EXAMPLES = 1  # of one kind and chunk is cut down to the lines that it takes
DEPTH = 4  # holes inside holes
BLOCKS = 6  # at most, in one program
CHUNK = 500  # programs that a worker process makes at a time
_HOLE = re.compile(r"<<([a-z_]+|-?\d+\.\.-?\d+)>>")


# --- programs ------------------------------------------------------------------------------------

Grammar = dict[str, list[str]]


@cache
def grammar(language: str) -> Grammar:
    """Read the language's grammar. Its header says how it is written."""
    text = (HERE / f"fuzz_{language}.txt").read_text(encoding="utf-8")
    rules: Grammar = {}
    for section in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = section.partition("\n")
        name, _, kind = head.partition(" ")
        parts = re.split(r"\n{2,}", body) if kind == "paragraphs" else body.splitlines()
        rules[name] = [part.strip("\n") for part in parts if part.strip()]
    return rules


def expand(rng: random.Random, rules: Grammar, text: str, depth: int = DEPTH) -> str:
    """The text with its holes filled. At depth 0 only with what has none of its own."""

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if ".." in name:
            low, _, high = name.partition("..")
            return str(rng.randint(int(low), int(high)))
        leaves = [rule for rule in rules[name] if not _inner(rule)]
        rule = rng.choice((leaves or rules[name][:1]) if depth <= 0 else rules[name])
        return expand(rng, rules, rule, depth - 1)

    return _HOLE.sub(fill, text)


def _inner(rule: str) -> bool:
    return any(".." not in name for name in _HOLE.findall(rule))


@dataclass(frozen=True)
class Block:
    """A piece of a program: whole lines, independent of the other pieces. `kind` is its rule."""

    kind: str
    lines: tuple[str, ...]


Blocks = tuple[Block, ...]


def generate(language: str, seed: int) -> Blocks:
    """The program of a seed."""
    rng, rules = random.Random(f"{language} {seed}"), grammar(language)
    kinds = [rng.choice(rules["block"]) for _ in range(rng.randint(1, BLOCKS))]
    if rng.random() < 0.2:
        kinds.append(rng.choice(rules["ending"]))
    return tuple(Block(kind, tuple(expand(rng, rules, kind).split("\n"))) for kind in kinds)


def source(language: str, blocks: Blocks) -> str:
    """The program's text: a prologue, then each block on its own, so that all of them run."""
    rules = grammar(language)
    parts = []
    for number, block in enumerate(blocks):
        if block.kind in rules["ending"]:
            parts.append("\n".join(block.lines))
            continue
        frame = "\n".join(rules["frame"]).replace("<<number>>", str(number))
        before, _, after = frame.partition("<<lines>>")
        indent = before.rpartition("\n")[2]
        parts.append(before.removesuffix(indent))
        parts[-1] += "\n".join(indent + line for line in block.lines) + after
    body = "\n".join(parts) + "\n"
    prologue = (line for line in rules["prologue"] if _is_needed(line, body))
    return "\n".join(prologue) + "\n" + body


def _is_needed(line: str, body: str) -> bool:
    module = line.removeprefix("import ")
    return module == line or f"{module}." in body


# --- both sides ----------------------------------------------------------------------------------


class Sides:
    """The sandbox and the machine's own interpreter, for one language."""

    def __init__(self, language: str, host: str) -> None:
        self.language = language
        self._native = Native(language, host)
        self._executor = RewardExecutor()

    def guest(self, code: str, timeout: float = TIMEOUT_S) -> Ending:
        ended = self._executor.execute(code, self.language, timeout=timeout)
        return Ending(ended.stdout, ended.stderr, ended.exit_code)

    def host(self, code: str, timeout: float = TIMEOUT_S) -> Ending:
        return self._native.run(code, timeout)

    def alone(self, code: str) -> Ending:
        """The host again, in a process that has run nothing else, as Python's always are."""
        if self.language != "python":
            self._native.close()
        return self.host(code)

    def close(self) -> None:
        self._native.close()


# What Python 3.14 words otherwise than those before it, made equal; and addresses.
_PYTHON_WORDS = tuple(
    (re.compile(pattern), equal)
    for pattern, equal in (
        (
            r"(?:integer |float )?(?:division or modulo|division|modulo|floor division) by zero",
            "/0",
        ),
        (r"0\.0 cannot be raised to a negative power|zero to a negative power", "/0"),
        (r"(?<=ValueError )(?:list|deque)\.index\(x\): x not in \w+", "not there"),
        (r"(?<=ValueError ).* is not in (?:list|deque)", "not there"),
        (r"expected a [\w ]+, got [-+\w.]+|math domain error", "out of its domain"),
        (r"cannot use '.*' as a (?:dict key|set element) \((unhashable type: '.*')\)", r"\1"),
        (r" at 0x[0-9a-f]+", " at an address"),
        (r"(?<=cannot import name )(.*) from '(\w+)' \(.*\)", r"\1 from \2"),
    )
)


def seen(language: str, ending: Ending) -> tuple[str, int, str]:
    """What is compared: all of stdout, the exit code, the line of stderr that names the error."""
    if language == "python":
        lines = ending.stderr.rstrip().splitlines()
        out, error = ending.stdout, lines[-1] if lines else ""
        for pattern, equal in _PYTHON_WORDS:
            out, error = pattern.sub(equal, out), pattern.sub(equal, error)
        return out, ending.exit_code, error
    lines = [line for line in ending.stderr.splitlines() if not line.startswith("    at ")]
    error = re.sub(r"^Uncaught ", "", "\n".join(lines), flags=re.MULTILINE)
    return ending.stdout, ending.exit_code, error.strip()


@dataclass(frozen=True)
class Difference:
    """A program that behaves differently, cut down, and the first lines that differ."""

    language: str
    seed: int
    kind: str
    code: str
    guest: str
    host: str

    def __str__(self) -> str:
        code = "\n".join("    " + line for line in self.code.splitlines())
        return f"seed {self.seed}:\n{code}\n  sandbox: {self.guest}\n  host:    {self.host}"


def first_difference(language: str, guest: Ending, host: Ending) -> tuple[str, str] | None:
    """The first lines, exit codes or errors that differ, None where nothing does."""
    ours, theirs = seen(language, guest), seen(language, host)
    for name, one, other in zip(("", "exit code ", "error: "), ours, theirs, strict=True):
        if one == other:
            continue
        lines, others = str(one).split("\n"), str(other).split("\n")
        for line, another in zip_longest(lines, others, fillvalue="(nothing)"):
            if line != another:
                return name + line, name + another
    return None


def compare(sides: Sides, blocks: Blocks, timeout: float = TIMEOUT_S) -> tuple[str, str] | None:
    """Run the blocks on both sides. None where they agree."""
    code = source(sides.language, blocks)
    host = sides.host(code, timeout)
    if host.exit_code == STOPPED:
        return None
    return first_difference(sides.language, sides.guest(code, timeout), host)


def culprit(sides: Sides, blocks: Blocks) -> Blocks:
    """The first block that differs by itself, else all of them."""
    return next(((block,) for block in blocks if compare(sides, (block,))), blocks)


def cut_down(sides: Sides, block: Block) -> Block:
    """The block without the lines that the same difference does not need."""
    lines, wanted = list(block.lines), compare(sides, (block,))
    for number in range(len(lines) - 1, -1, -1):
        fewer = lines[:number] + lines[number + 1 :]
        trial = (Block(block.kind, tuple(fewer)),)
        if fewer and wanted and compare(sides, trial, TRIAL_S) == wanted:
            lines = fewer
    return Block(block.kind, tuple(lines))


def difference(sides: Sides, seed: int, cut: Counter[str]) -> Difference | None:
    """What becomes of one seed. `cut` counts the kinds that were cut down."""
    blocks = generate(sides.language, seed)
    if compare(sides, blocks) is None:
        return None
    blocks = culprit(sides, blocks)
    mismatch = described(sides, seed, blocks)
    if mismatch is None or reason(mismatch):
        return mismatch
    if len(blocks) == 1 and cut[mismatch.kind] < EXAMPLES:
        cut[mismatch.kind] += 1
        blocks = (cut_down(sides, blocks[0]),)
    return described(sides, seed, blocks, alone=True)


def described(sides: Sides, seed: int, blocks: Blocks, alone: bool = False) -> Difference | None:
    """The difference that the blocks show. `alone`: also where no other program ran before."""
    code = source(sides.language, blocks)
    host = sides.alone(code) if alone else sides.host(code)
    mismatch = first_difference(sides.language, sides.guest(code), host)
    if mismatch is None:  # other programs in the same process were the cause, or the clock
        return None
    shown = code if len(blocks) > 1 else "\n".join(blocks[0].lines)
    return Difference(sides.language, seed, blocks[0].kind, shown, *mismatch)


def search(language: str, host: str, seeds: Sequence[int]) -> list[Difference]:
    """All differences of these seeds. A function of the module, so that workers find it."""
    sides, cut = Sides(language, host), Counter[str]()
    try:
        return [mismatch for seed in seeds if (mismatch := difference(sides, seed, cut))]
    finally:
        sides.close()


# --- what is known -------------------------------------------------------------------------------

_ERROR = re.compile(
    r"(?:error: |caught |\[?['\"]?)*(\w*(?:Error|Exception|Warning|Exit|Interrupt))\b"
)


@dataclass(frozen=True)
class Known:
    """A reason for differences. `holds` is asked of the program and both first lines."""

    language: str
    reason: str
    holds: Callable[[str, str, str], object]


def _same_error(_code: str, guest: str, host: str) -> bool:
    """Both name the same class of error, in other words."""
    ours, theirs = _ERROR.match(guest), _ERROR.match(host)
    return bool(ours and theirs and ours[1] == theirs[1])


_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]+p[-+]\d+|-?\d+\.\d{5,}(?:e[-+]?\d+)?")


def _rounded(match: re.Match[str]) -> str:
    text = match[0]
    return f"{float.fromhex(text) if '0x' in text else float(text):.11g}"


def _same_but_last_digits(_code: str, guest: str, host: str) -> bool:
    """Equal once floats are rounded to eleven digits."""
    return _FLOAT.sub(_rounded, guest) == _FLOAT.sub(_rounded, host)


def _same_start_of_digits(_code: str, guest: str, host: str) -> bool:
    """Equal but for the ends of long fractions in some base."""
    ours, theirs = (re.findall(r"[\w.]+|[^\w.]+", line) for line in (guest, host))
    pairs = [(one, other) for one, other in zip(ours, theirs, strict=False) if one != other]
    return len(ours) == len(theirs) and all(
        "." in one and len(one) >= 12 and one[:10] == other[:10] for one, other in pairs
    )


def _same_without_colours(_code: str, guest: str, host: str) -> bool:
    return "\x1b[" in host and re.sub(r"\x1b\[\d+m", "", host) == guest


def _same_without_signs(_code: str, guest: str, host: str) -> bool:
    return guest.replace("-0j", "0j") == host.replace("-0j", "0j")


# Each looks at the lines that differ: what the program says elsewhere is no reason.
KNOWN = (
    Known("python", "the same class of error in other words", _same_error),
    Known("python", "the last digits of a float", _same_but_last_digits),
    Known("python", "the sign of a zero in a complex product", _same_without_signs),
    Known(
        "python",
        "half a surrogate pair is printed as an escape, and is no error",
        lambda _code, _guest, host: "surrogates not allowed" in host,
    ),
    Known(
        "python",
        "a warning of the compiler, whose source line the host does not know",
        lambda _code, _guest, host: "SyntaxWarning" in host or "exec(compile(code" in host,
    ),
    Known(
        "python",
        "a note on what JSON cannot hold comes after the error",
        lambda _code, guest, host: "when serializing" in guest and "not JSON serial" in host,
    ),
    Known(
        "python",
        "numbers of system errors are those of WASI",
        lambda _code, guest, host: (
            re.search(r"\[Errno \d+", guest)
            and re.findall(r"Errno.*", guest) == re.findall(r"Errno.*", host)
        ),
    ),
    Known(
        "python",
        "a format of Decimal that the host refuses",
        lambda _code, _guest, host: host == "ValueError invalid format string",
    ),
    Known(
        "python",
        "KeyboardInterrupt that nobody catches ends by a signal on the host",
        lambda _code, guest, host: (guest, host) == ("exit code 1", "exit code -2"),
    ),
    Known("javascript", "the same class of error in other words", _same_error),
    Known("javascript", "the last digits of a float", _same_but_last_digits),
    Known("javascript", "the last digits of a fraction in another base", _same_start_of_digits),
    Known("javascript", "no colours", _same_without_colours),
)


def reason(mismatch: Difference) -> str:
    """Why it differs, as far as that is known; else ""."""
    return next(
        (
            cause.reason
            for cause in KNOWN
            if cause.language == mismatch.language
            and cause.holds(mismatch.code, mismatch.guest, mismatch.host)
        ),
        "",
    )


# --- the report ----------------------------------------------------------------------------------


def run(language: str, host: str, seeds: range, jobs: int) -> Iterator[Difference]:
    """Search the seeds with worker processes, with a line on stderr for each tenth."""
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    started, last_report = time.monotonic(), time.monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        results = pool.map(search, [language] * len(chunks), [host] * len(chunks), chunks)
        for number, mismatch in enumerate(results, start=1):
            yield from mismatch
            if time.monotonic() - last_report > 10:
                last_report = time.monotonic()
                done = min(number * CHUNK, len(seeds))
                print(
                    f"{done} programs, {last_report - started:.0f} s", file=sys.stderr, flush=True
                )


def report(language: str, count: int, differences: Sequence[Difference], wall: float) -> None:
    """Print what is left, one example of each kind, and how many of each known reason."""
    reasons = Counter(reason(mismatch) for mismatch in differences)
    left = reasons.pop("", 0)
    print(f"{count} {language} programs in {wall:.0f} s: {left} differ without a known reason\n")
    for why, number in reasons.most_common():
        print(f"- {number}: {why}")
    kinds = Counter(mismatch.kind for mismatch in differences if not reason(mismatch))
    for kind, number in kinds.most_common():
        example = min(
            (
                mismatch
                for mismatch in differences
                if mismatch.kind == kind and not reason(mismatch)
            ),
            key=lambda mismatch: len(mismatch.code),
        )
        print(f"\n{number} times, the shortest with {example}")


def show(language: str, host: str, seed: int) -> None:
    """Print the program of a seed and how both sides end."""
    sides = Sides(language, host)
    code = source(language, generate(language, seed))
    print(code)
    for name, ending in (("sandbox", sides.guest(code)), ("host", sides.alone(code))):
        print(f"--- {name}: exit code {ending.exit_code}\n{ending.stdout}{ending.stderr}")
    sides.close()


def main() -> None:
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # half a pair
    parser = argparse.ArgumentParser(
        description="Compare generated programs in the sandbox and outside."
    )
    parser.add_argument("language", choices=("python", "javascript"))
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--host", default="", help="the interpreter: this Python, or node")
    parser.add_argument("--save", type=Path, help="a file for all differences, a line of JSON each")
    parser.add_argument("--show", action="store_true", help="print the first program and its ends")
    options = parser.parse_args()
    if options.show:
        show(options.language, options.host, options.seed)
        return
    print(machine())
    started = time.monotonic()
    seeds = range(options.seed, options.seed + options.programs)
    mismatch = list(run(options.language, options.host, seeds, options.jobs))
    if options.save:
        lines = (json.dumps({**vars(each), "reason": reason(each)}) for each in mismatch)
        options.save.write_text("\n".join(lines), encoding="utf-8")
    report(options.language, len(seeds), mismatch, time.monotonic() - started)


if __name__ == "__main__":
    main()
