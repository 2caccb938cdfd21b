"""`infinite-rl timeline`: where the time of a training run went, as a picture and in words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import arguments
from .terminal import DONE, one_line, plain, tell

_VERSIONS = 20  # lines of the table of fates


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "timeline",
        help="draw where the time of a training run went, and say it in words",
        description="Draw what each worker of a run did when, and print the time by stage, the "
        "share in which workers were idle, how much of sampling and learning went on at once, and "
        "what became of the prompts by version of the policy. RUN may be running still, or have "
        "been resumed. The engines asyncio and ray write the events that this needs.",
        epilog="Example: infinite-rl timeline artifacts/runs/20260131T120000Z_1a2b3c4d. "
        "Exit code: 0 done, 1 not done, 2 wrong usage.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="PATH",
        help="the picture, .png or .svg (default: RUN/plots/timeline.png and .svg)",
    )  # fmt: skip
    parser.add_argument(
        "--against", type=Path, metavar="RUN", help="another run whose idle shares stand beside"
    )
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..training.runs.timeline import draw, pictures, read, summary

    timeline = read(given.run)
    found = summary(timeline)
    other = summary(read(given.against)) if given.against else None
    paths = [given.out] if given.out else pictures(given.run)
    draw(timeline, paths, given.run.resolve().name)
    values = {**found, **({"against": other} if other else {})}
    tell(given, values, *_lines(found, other), f"in {', '.join(map(plain, map(str, paths)))}")
    return DONE


def _lines(found: Mapping[str, Any], other: Mapping[str, Any] | None) -> Iterator[str]:
    yield f"{found['seconds']:.1f} seconds, {len(found['workers'])} workers"
    yield "by stage: " + ", ".join(
        f"{one_line(name, 40)} {each['seconds']:.1f} s in {each['spans']}"
        for name, each in found["stages"].items()
    )
    for name, times in found["workers"].items():
        said = [f"{one_line(stage, 40)} {s:.1f} s" for stage, s in times.items() if stage != "idle"]
        said.append(f"idle {times['idle']:.0%}")
        if name in found["lost"]:
            said.append(f"died {found['lost'][name]} times")
        yield f"  {one_line(name, 40)}: {', '.join(said)}"
    for role, share in found["idle"].items():
        beside = other["idle"].get(role) if other else None
        more = "" if beside is None else f", {beside:.1%} in the other run"
        yield f"idle share of {one_line(role, 40)}: {share:.1%}{more}"
    overlap = found["overlap"]
    yield (
        f"sampling and learning at once: {overlap['seconds']:.1f} s, "
        f"{overlap['of_training']:.1%} of the time of learning"
    )
    yield from _fates(found["fates"])


def _fates(fates: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """What became of the prompts, by version; of many versions several in a line."""
    if len(fates) == 1:
        return
    versions = [name for name in fates if name != "all"]
    size = -(-len(versions) // _VERSIONS)
    yield "prompts: " + _counts(fates["all"])
    for begin in range(0, len(versions), size):
        some = versions[begin : begin + size]
        sums = {name: sum(fates[each].get(name, 0) for each in some) for name in fates["all"]}
        span = some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}"
        yield f"  version {span}: {_counts(sums)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
