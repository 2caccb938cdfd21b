"""The whole table: sandbox, maths, generation, dataset and training, beside their peers.

    python -m benchmarks [--quick] [--only PART,PART] [-o docs/benchmarks.md]

Some twelve minutes on two quiet cores; `--quick` takes about two. A peer that is not installed is
named with what installs it. A part that fails is named, the others go on, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.parts import PARTS
from benchmarks.table import Measure, measured, page, scripts


def main(arguments: Sequence[str] | None = None, parts: Mapping[str, Measure] = PARTS) -> int:
    """Measure, print and save; 1 where a part has failed."""
    args = _parser(parts).parse_args(arguments)
    named = args.only.split(",") if args.only else list(parts)
    if unknown := [name for name in named if name not in parts]:
        _parser(parts).error(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    options = (["--quick"] if args.quick else []) + (["--only", args.only] if args.only else [])
    results = [measured(name, parts[name], args.quick) for name in parts if name in named]
    text = page(results, " ".join(["python -m benchmarks", *options]), args.quick)
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    return int(any(part.failure for part in results))


def _parser(parts: Mapping[str, Measure]) -> argparse.ArgumentParser:
    others = "\n".join(f"  python -m benchmarks.{name:<17} {about}" for name, about in scripts())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"alone, each with its own --help:\n{others}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, rough figures")
    parser.add_argument("--only", default="", metavar="PART,PART", help=f"of {', '.join(parts)}")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the page here, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
