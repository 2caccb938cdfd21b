"""Programs of each language in the sandbox, beside the language's native tool on this machine.

    python -m benchmarks.parity [LANGUAGE ...] [--count N] [--seed N] [--speed]

Prints how many programs end alike, and each difference. `--speed` prints programs a second on one
core in place of that.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True)
class Parity:
    """A language beside its native tool.

    `programs` makes programs from a count and a seed. `ours` and `native` run one and return how it
    ended, in a form that is compared by `==`; `near` says why two that differ are no failure, such
    as the last digits of numbers or a program that is unscored. `kind` sorts programs in the table.
    """

    tool: str
    programs: Callable[[int, int], Sequence[Any]]
    ours: Callable[[Any], object]
    native: Callable[[Any], object]
    kind: Callable[[Any], str]
    near: Callable[[Any, Any], str] = lambda _one, _other: ""


# Each module has a function `parity`, which raises UsageError if a tool is missing.
LANGUAGES: Mapping[str, str] = {
    "python": "benchmarks.parity_scripts:python",
    "javascript": "benchmarks.parity_scripts:javascript",
    "typescript": "benchmarks.parity_scripts:typescript",
    "sql": "benchmarks.parity_sql:parity",
    "cpp": "benchmarks.parity_cpp:parity",
    "c": "benchmarks.parity_c:parity",
    "scientific": "benchmarks.parity_scientific:parity",
}

_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; 1 if less than 99.5 % of a language's programs end alike."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(LANGUAGES)}"
    )
    parser.add_argument("--count", type=int, default=1000, help="programs of each language")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true", help="programs a second, not differences")
    args = parser.parse_args(arguments)
    shares = []
    if args.speed:
        print("| language | tool | a second | ms of CPU each | ms each |\n|---|---|---:|---:|---:|")
    for name in args.languages or LANGUAGES:
        language: Parity = resolve_name(LANGUAGES[name])()
        programs = language.programs(args.count, args.seed)
        if args.speed:
            print_speed(name, language, programs)
        else:
            shares.append(print_differences(name, language, programs))
    return int(any(share < 0.995 for share in shares))


def print_differences(name: str, language: Parity, programs: Sequence[Any]) -> float:
    """Print by kind how programs end, and those that differ.

    Returns the share of those that end alike, leaving aside those that differ for a known reason.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    reasons, differing = Counter[str](), []
    for program in programs:
        ours, native = language.ours(program), language.native(program)
        reason = "" if ours == native else language.near(ours, native)
        how = "alike" if ours == native else "near" if reason else "different"
        counts[language.kind(program)][how] += 1
        reasons.update([reason] if reason else [])
        if how == "different":
            differing.append((program, ours, native))
    alike = sum(count["alike"] for count in counts.values())
    print(f"{name} beside {language.tool}: {alike} of {len(programs)} programs end alike, "
          f"{len(differing)} differ without a known reason\n")  # fmt: skip
    print("| kind | programs | alike | near, or unscored | different |\n|---|---:|---:|---:|---:|")
    for kind, count in sorted(counts.items()):
        cells = (sum(count.values()), count["alike"], count["near"], count["different"])
        print(f"| {kind} | {' | '.join(map(str, cells))} |")
    for reason, count_of_it in reasons.most_common():
        print(f"\n{count_of_it} times: {reason}", end="")
    print()
    for program, ours, native in differing:
        print(f"\n{program}\n  ours    {_from_difference(ours, native)}"
              f"\n  native  {_from_difference(native, ours)}")  # fmt: skip
    return alike / max(1, alike + len(differing))


def _from_difference(one: object, other: object) -> str:
    """The part of what ended that differs from the other, and some before it."""
    text, same = str(one), len(commonprefix([str(one), str(other)]))
    return text[max(0, same - 60) : same + 200]


def print_speed(name: str, language: Parity, programs: Sequence[Any]) -> None:
    """Print the programs a second of CPU time of both tools, all programs compiled before."""
    for who, run in (("ours", language.ours), (language.tool, language.native)):
        for program in programs:
            run(program)
        began, cpu = time.perf_counter(), _cpu_s()
        for program in programs:
            run(program)
        seconds, used = time.perf_counter() - began, _cpu_s() - cpu
        print(
            f"| {name} | {who} | {len(programs) / used:,.0f} | {1000 * used / len(programs):.2f} |"
            f" {1000 * seconds / len(programs):.2f} |",
            flush=True,
        )


def _cpu_s() -> float:
    """The seconds of CPU of this process and of those that it started and that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in _WHO)


if __name__ == "__main__":
    sys.exit(main())
