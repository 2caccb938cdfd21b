"""What `python -m benchmarks` measures, part by part, with the functions of the other scripts.

A part gives its lines. With `quick` it takes smaller sizes and fewer rounds.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks import dataset as curation
from benchmarks import generation as loopback
from benchmarks import humaneval, resume
from benchmarks import math_verifier as verdicts
from benchmarks import sandbox as boxes
from benchmarks.dataset import Planted
from benchmarks.math_pairs import labelled
from benchmarks.rounds import Median
from benchmarks.table import Better, Line
from infinite_rl.dataset.decontaminate import Leak
from infinite_rl.dataset.dedup import Duplicate, duplicates
from infinite_rl.sandbox.executor import RewardExecutor

NO_TRAINING = "not installed: pip install -e '.[train]'"
NO_TRL = "not installed: pip install -e '.[trl]'"
NO_MATH_VERIFY = "not installed: pip install -e '.[math-verify]'"
NO_NODE = "not installed: node"
NO_DATA = "no data in ../shared/data"


# --- sandbox -------------------------------------------------------------------------------------


def sandbox(quick: bool) -> Iterator[Line]:
    """Programs in the WebAssembly sandboxes, each beside a fresh subprocess, which isolates
    nothing. [Rivals](results/rivals.md) has forks, warm interpreters and other sandboxes, some of
    them faster. Reference solutions are counted beside those that pass outside, on CPython 3.11 and
    Node 20, as recorded."""
    rounds = 5 if quick else 21
    with RewardExecutor(timeout=30) as executor:
        for name, took in boxes.python_times(executor, rounds):
            yield _beside(f"Python: {name}", took, "python3 -c")
        for name, took in boxes.javascript_times(executor, rounds):
            yield _beside(f"JavaScript: {name}", took, "node -e")
        late = boxes.overshoots(executor, 1 if quick else 5)
        worst = max(map(max, late.values())) * 1000
        yield Line("endless programs: longest delay of the stop", "ms", worst, "sandbox")
        yield from _references(executor, quick)
    for language, rates in boxes.throughput(60 if quick else 400, 1 if quick else 5):
        what, theirs = f"{language}: hello worlds, two at a time", rates.get("2 subprocesses")
        peer, ours = NO_NODE if theirs is None else theirs, rates["2 workers"]
        yield Line(what, "a second", ours, "sandbox", peer, "2 subprocesses", "more")
    candidates = 100 if quick else 1000
    for language, rates in boxes.judging(candidates, 1 if quick else 3):
        what = f"{language}: {candidates} candidates with ten tests each, judged at once"
        yield Line(what, "a second", rates["at once"], "sandbox")
    for what, seconds in boxes.load_times(2 if quick else 5).items():
        yield Line(f"a fresh process: {what}", "ms", seconds * 1000, "sandbox")
    for what, seconds in boxes.compile_times().items():
        yield Line(f"a new machine: {what}", "s", seconds, "sandbox")


def _beside(what: str, took: Mapping[str, float], peer: str) -> Line:
    theirs = took[peer] * 1000 if peer in took else NO_NODE
    if "fib" in what:
        what += ", the work alone"
    return Line(what, "ms", took["sandbox"] * 1000, "sandbox", theirs, peer, "less")


def _references(executor: RewardExecutor, quick: bool) -> Iterator[Line]:
    for suite in humaneval.SUITES[: 1 if quick else None]:
        path = humaneval.DATA / suite.path
        what = f"{suite.title}: reference solutions that pass"
        if not path.is_file():
            yield Line(what, "", NO_DATA, "humaneval")
            continue
        ran = humaneval.run(suite, path, executor, threads=2)
        unit, outside = f"of {len(ran.pairs)}", "outside, as recorded"
        yield Line(what, unit, ran.passed, "humaneval", suite.ceiling, outside)
        yield Line(f"{suite.title}: a program", "ms", median(ran.times_ms), "humaneval")


# --- maths ---------------------------------------------------------------------------------------


def maths(quick: bool) -> Iterator[Line]:
    """Verdicts on the labelled pairs of `tests/reward_functions/math_pairs.txt` beside
    Math-Verify's, in CPU time of processes and their children. The labels follow this project's
    conventions, which [differences](results/math_verify_differences.md) compares with
    Math-Verify's. Math-Verify judges a batch pair by pair."""
    rounds, most = (1, 60) if quick else (3, 200)
    table = labelled()
    pairs = [pair.sides for pair in table]
    other = verdicts.math_verify()
    judges = [verdicts.ours, *([other] if other else [])]
    verdicts.load()
    for name, singles in (
        ("integer", verdicts.integers(500)),
        ("mixed pair", verdicts.mixed(pairs)),
    ):
        for figure, times in verdicts.spread(judges, singles, most, rounds).items():
            yield _judged(f"{name}: {figure}", "us CPU", times, "less")
    mixture = verdicts.batch(pairs, 100 if quick else 512)
    speeds = verdicts.rates(judges, mixture, rounds)
    yield _judged(f"batch of {len(mixture)} mixed pairs", "pairs a CPU second", speeds, "more")
    codes = (verdicts.IMPORT, verdicts.MATH_VERIFY_IMPORT)[: len(judges)]
    imports = [verdicts.import_ms(code, 2 if quick else 10) for code in codes]
    yield _judged("import in a fresh process, best", "ms", imports, "less")
    bare = verdicts.labelled_boxes(table)
    if quick:
        bare = random.Random(5).sample(bare, 100)
    marks = [verdicts.accuracy(judge, bare) for judge in judges]
    names = ("verdicts as labelled", "wrong answers accepted", "right answers refused")
    for name, counts in zip(names, zip(*marks, strict=True), strict=True):
        yield _judged(f"labelled pairs: {name}", f"of {len(bare):,}", counts)


def _judged(what: str, unit: str, figures: Sequence[float], better: Better = "") -> Line:
    theirs = figures[1] if len(figures) > 1 else NO_MATH_VERIFY
    return Line(what, unit, figures[0], "math_verifier", theirs, "Math-Verify", better)


# --- generation ----------------------------------------------------------------------------------


def generation(quick: bool) -> Iterator[Line]:
    """Rows from a loopback server that takes a second for each answer, beside bare calls of the
    same client, whose answers are neither judged nor written. Folders of a run as they grow and are
    opened again."""
    threads, rounds, most = (64, 1, 64) if quick else (256, 3, 2048)
    paces: dict[str, list[loopback.Pace]] = {}
    with loopback.serving(latency_s=1.0) as base_url:
        for _ in range(rounds):
            works = loopback.works(base_url, most, threads)
            for name, work in works.items():
                paces.setdefault(name, []).append(loopback.measured(work))
    rates = {name: Median(one.a_second for one in each) for name, each in paces.items()}
    costs = {name: Median(one.cpu_ms for one in each) for name, each in paces.items()}
    script = "generation"
    for name in ("default mix", "maths alone"):
        ours, solved = f"{name}, --verify 0", f"{name}, with solvers"
        what = f"{name}: {works[ours].total:,} rows, {threads} at once"
        yield Line(f"{what}, --verify 0", "ms CPU a row", costs[ours], script)
        more = costs[solved] - costs[ours]
        yield Line(f"{what}: solvers, in addition", "ms CPU a row", more, script)
        yield Line(f"{what}, with solvers", "rows a second", rates[solved], script)
    for peer in ("calls alone, threads", "calls alone, asyncio"):
        name = "maths alone, --verify 0"
        what = f"{name}: {most:,} rows, {threads} at once"
        yield Line(what, "rows a second", rates[name], script, rates[peer], peer, "more")
        yield Line(what, "ms CPU a row", costs[name], script, costs[peer], peer, "less")
    yield from _folder(500 if quick else 50_000, 1 if quick else 3)


def _folder(rows: int, rounds: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        for before, each in resume.filled(Path(name), rows):
            yield Line(f"a row appended to {before:,}", "ms CPU", each, "resume")
        figures = [resume.opened(Path(name), rows) for _ in range(rounds)]
    cpu, _, peak = (Median(values) for values in zip(*figures, strict=True))
    yield Line(f"a folder of {rows:,} rows opened again", "s CPU", cpu, "resume")
    yield Line(f"a folder of {rows:,} rows opened again: peak", "MB", peak, "resume")


# --- dataset -------------------------------------------------------------------------------------


def dataset(quick: bool) -> Iterator[Line]:
    """Copies and leaks planted among real and procedural rows: how many are found, and how fast
    rows are curated."""
    if not all(path.is_file() for path in curation.BENCHMARKS.values()):
        yield Line("all of it", "", NO_DATA, "dataset")
        return
    copies = curation.planted_copies(few=quick)
    yield from _detection("dedup", copies, duplicates(copies.rows))
    leaks = curation.planted_leaks(few=quick)
    yield from _detection("decontaminate", leaks, curation.found_leaks(leaks.rows))
    sides = curation.split_copies(few=quick)
    what, unit = "split: copies in another split than their row", f"of {sides.copies:,}"
    chance = round(sides.by_chance)
    yield Line(what, unit, sides.apart, "dataset split", chance, "a random split, computed")
    rows = 1_000 if quick else 10_000
    for name in curation.SCALED:
        speeds = [rows / curation.scaled(name, rows)[1] for _ in range(1 if quick else 3)]
        yield Line(f"{name}: {rows:,} rows", "rows a CPU second", Median(speeds), "dataset scale")


def _detection(verb: str, planted: Planted, figures: Sequence[Duplicate | Leak]) -> Iterator[Line]:
    script, plants = f"dataset {verb}", planted.plants
    others = sum("kept" in kind for kind, _ in plants)
    unit, recall = f"% of {len(plants) - others:,}", 100 * planted.recall(figures)
    yield Line(f"{verb}: planted rows that were found", unit, recall, script)
    if others:
        false_positives = sum(
            count for kind, count in planted.hits(figures).items() if "kept" in kind
        )
        yield Line(
            f"{verb}: different tasks removed as copies", f"of {others:,}", false_positives, script
        )
    wrong = sum(one.row <= planted.first for one in figures)
    yield Line(f"{verb}: other rows removed", f"of {planted.first:,}", wrong, script)


# --- training ------------------------------------------------------------------------------------


def training(quick: bool) -> Iterator[Line]:
    """GRPO of a tiny random model on one thread, with the same config, rows and reward: the engine
    `local` beside TRL. The local engine learns only from groups whose rewards differ."""
    if not (find_spec("torch") and find_spec("transformers")):
        yield Line("all of it", "", NO_TRAINING, "training")
        return
    from benchmarks import training as engines  # it needs what may be missing

    engines.quieten()
    steps, rounds = (3, 1) if quick else (5, 3)
    cases = [(4, 1.0), (16, 0.25), (64, 1.0)][: 1 if quick else None]
    named = [name for name in engines.OPTIONS if name == "local" or find_spec(name)]
    with tempfile.TemporaryDirectory() as folder:
        engines.make(Path(folder) / "model")
        for tokens, share in cases:
            figures = engines.taken_in_turns(named, folder, tokens, share, steps, rounds)
            what = f"{tokens} new tokens, {share:.0%} of the groups differ"
            theirs = Median(figures["trl"]) if "trl" in figures else NO_TRL
            ours, unit = Median(figures["local"]), "completions a CPU second"
            yield Line(what, unit, ours, "training", theirs, "TRL", "more")


PARTS: Mapping[str, Callable[[bool], Iterator[Line]]] = {
    each.__name__: each for each in (sandbox, maths, generation, dataset, training)
}
