"""How well and how fast rows are curated: `python -m benchmarks.dataset --help`.

Duplicates and leaks are planted among real rows (GSM8K, MBPP, MATH-500, HumanEval and IFEval, from
../shared/data) and procedural ones; what is found of them is recall, by the kind of plant, and what
is found besides is shown. Everything is drawn from a seed, so all but the times are the same in
every run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from infinite_rl.dataset.decontaminate import Benchmarks, Leak, decontaminate
from infinite_rl.dataset.dedup import Duplicate, duplicates
from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.rows import Row, read
from infinite_rl.dataset.scoring import score_rows
from infinite_rl.dataset.split import LEFT_OUT, split
from infinite_rl.dataset.tokens import prompt_column
from infinite_rl.procedural import families, make_problem

Result = TypeVar("Result", Duplicate, Leak)
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BENCHMARKS = {
    "gsm8k": DATA / "gsm8k" / "test.jsonl",
    "math500": DATA / "math500" / "test.jsonl",
    "humaneval": DATA / "humaneval" / "HumanEval.jsonl.gz",
    "mbpp": DATA / "mbpp" / "sanitized-mbpp.json",
    "ifeval": DATA / "ifeval" / "input_data.jsonl",
}
SEED = 20
_SYNONYMS = """
    buys purchases, bought purchased, gets receives, gave handed, total altogether, each every,
    many numerous, big large, also too, kids children, car vehicle, money cash, needs requires,
    wants wishes, friends pals, house home, store shop, started began, make produce, find determine,
    write create, check test, given supplied, list array, number count, calculate compute,
    whether if, cost price, eat consume
"""
SYNONYMS = dict(pair.split() for pair in _SYNONYMS.split(","))
NAMES = "Zuri Oleander Bartholomew Xiomara Thaddeus Wilhelmina Cosmo Ingrid".split()  # noqa: SIM905
NO_NAMES = frozenset(
    "The Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May "  # noqa: SIM905
    "June July August September October November December Python Find How What Return Write".split()
)


# --- plants: a row in, a prompt that asks for the same out, or None where that cannot be made ----


def _respelled(text: str, chance: random.Random) -> str:
    text = re.sub(r" +", lambda _: chance.choice((" ", "  ", " \t")), text.strip().rstrip("."))
    return chance.choice((text.upper(), text.lower(), f"**{text}**", text.replace(", ", " , ")))


def _synonyms(text: str, chance: random.Random) -> str | None:  # noqa: ARG001 -- a plant's form
    changed = re.sub(r"[a-z]+", lambda results: SYNONYMS.get(results[0], results[0]), text)
    return changed if changed != text else None


def _renamed(text: str, chance: random.Random) -> str | None:
    new = dict(zip(_names(text), chance.sample(NAMES, len(NAMES)), strict=False))
    return re.sub(r"\b[A-Z][a-z]{2,}\b", lambda word: new.get(word[0], word[0]), text)


def _names(text: str) -> list[str]:
    return sorted(set(re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", text)) - NO_NAMES)


def _reordered(text: str, chance: random.Random) -> str | None:  # noqa: ARG001 -- a row's form
    sentences = re.split(r"(?<=[.?!]) +", text)
    return " ".join([*sentences[1:-1], sentences[0], sentences[-1]]) if len(sentences) > 3 else None


def _every(nth: int, change: str, text: str) -> str:
    words = text.split()
    changed = [change.format(word) if at % nth == 0 else word for at, word in enumerate(words, 1)]
    return " ".join(changed)


def _as_page(text: str, chance: random.Random) -> str:
    """With entities, tags, soft hyphens, accents and digits of full width."""
    text = text.translate({digit: digit + 0xFEE0 for digit in range(0x30, 0x3A)})
    hidden = ("&shy;", "\u200b", "\u0301")
    text = re.sub(r"(?<=[a-z])(?=[a-z])", lambda _: chance.choice((*hidden, *[""] * 9)), text)
    return f"<p>{text.replace(' ', '&nbsp;')}</p>"


def _prefaced(text: str, chance: random.Random) -> str:
    preface = chance.choice(("Please solve this task. ", "Here is a question for you: ", "Q: "))
    return preface + text + chance.choice((" Think step by step.", " Explain your answer.", ""))


COPIES: Mapping[str, Callable[[str, random.Random], str | None]] = {
    "exact, respelled": _respelled,
    "synonyms": _synonyms,
    "changed names": _renamed,
    "reordered": _reordered,
    "preface and end": _prefaced,
}


def _other_number(text: str, chance: random.Random) -> str | None:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return None
    index = chance.choice(numbers)
    return text[: index.start()] + str(int(index[0]) + chance.randint(1, 9)) + text[index.end() :]


def _other_noun(text: str, chance: random.Random) -> str | None:
    results = sorted(set(re.findall(r"(?<=\d )[a-z]{3,}s\b", text)))
    if not results:
        return None
    noun, new = chance.choice(results), chance.choice(("hens", "cows", "lamps", "boats"))
    return re.sub(rf"\b{noun}\b", new, text).replace(noun[:-1] + " ", new[:-1] + " ")


def _swapped(text: str, chance: random.Random) -> str | None:  # noqa: ARG001 -- a row's form
    """Another of its people is asked for."""
    start, end, question = text.rpartition(". ")
    here = [name for name in _names(text) if name in question]
    there = [name for name in _names(text) if name not in question]
    return start + end + question.replace(here[0], there[0]) if here and there else None


TASKS: Mapping[str, Callable[[str, random.Random], str | None]] = {
    "another number": _other_number,
    "another noun": _other_noun,
    "another name asked for": _swapped,
}


def _real() -> list[Row]:
    """Rows of one shape, all of them different tasks."""
    gsm8k = load("gsm8k", DATA / "gsm8k/train.jsonl")
    mbpp = [
        {"type": "program", "prompt": row["prompt"], "answer": "\n".join(row["test_list"])}
        for row in read(BENCHMARKS["mbpp"])
    ]
    return [*gsm8k, *mbpp, *load("ifeval", BENCHMARKS["ifeval"])]


def _procedural(each: int) -> Iterator[Row]:
    for task in ("math", "python"):
        for family in families(task):
            for seed in range(each):
                problem = make_problem(task, seed, family=family)
                row = {"type": task, "prompt": problem.prompt, "answer": problem.answer}
                yield {**row, "response": problem.response}


# --- sections ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """Rows that are all different tasks, real and procedural; and plants, each with its kind."""

    real: list[Row]
    synthetic: list[Row]
    plants: list[tuple[str, Row]]

    @property
    def first(self) -> int:
        """The place of the first plant among all."""
        return len(self.real) + len(self.synthetic)

    @property
    def rows(self) -> list[Row]:
        return [*self.real, *self.synthetic, *(row for _, row in self.plants)]

    def hits(self, results: Sequence[Duplicate | Leak]) -> Counter[str]:
        """How many plants of each kind were found."""
        numbers = {one.row - 1 for one in results}
        return Counter(
            kind for at, (kind, _) in enumerate(self.plants, self.first) if at in numbers
        )

    def right(self, results: Sequence[Duplicate | Leak]) -> int:
        """How many plants were found, those left out that are other tasks."""
        return sum(count for kind, count in self.hits(results).items() if "kept" not in kind)

    def recall(self, results: Sequence[Duplicate | Leak]) -> float:
        """The share of them that was found."""
        return self.right(results) / sum("kept" not in kind for kind, _ in self.plants)

    def wrong(self, results: Sequence[Result]) -> list[Result]:
        """Those of the found that are no plants."""
        return [one for one in results if one.row <= self.first]


def planted_copies(few: bool = False) -> Planted:
    """Copies, and other tasks in nearly the same words; `few` takes a tenth of all."""
    chance = random.Random(SEED)
    real, synthetic = _real(), list(_procedural(100))
    if few:
        real, synthetic = (chance.sample(rows, len(rows) // 10) for rows in (real, synthetic))
    planted: list[tuple[str, Row]] = []
    for kind, change in COPIES.items():
        for group in (real, synthetic):
            for row in chance.sample(group, 50 if few else 500):
                if (prompt := change(row["prompt"], chance)) not in (None, row["prompt"]):
                    short = ", short prompts" if len(row["prompt"].split()) < 20 else ""
                    planted.append((kind + short, {**row, "prompt": prompt}))
    for kind, change in TASKS.items():
        for row in chance.sample(real, 100 if few else 1_000):
            if (prompt := change(row["prompt"], chance)) not in (None, row["prompt"]):
                other = {**row, "prompt": prompt, "answer": f"{row['answer']}1"}
                planted.append((f"{kind}: to be kept", other))
    return Planted(real, synthetic, planted)


def near_duplicates(rows: int) -> None:  # noqa: ARG001 -- a section's form
    """Planted copies, and other tasks in nearly the same words: with answers, and without any."""
    planted = planted_copies()
    _compared(planted)
    for row in planted.rows:
        row["answer"] = ""
    print("\nthe same without answers")
    _compared(planted)


def _compared(planted: Planted) -> None:
    everything = planted.rows
    results = duplicates(everything)
    wrong = _table(planted, results, "removed", "real rows")
    precision = planted.right(results) / len(results)
    print(f"recall {planted.recall(results):.3f}, precision {precision:.4f}; ", end="")
    print("rows removed that were not planted:")
    for one in wrong:
        print(f"  {one.similarity:.2f} {everything[one.row - 1]['prompt'][:150]!r}")
        print(f"       {everything[one.of_row - 1]['prompt'][:150]!r}")


def _table(planted: Planted, results: Sequence[Result], what: str, real: str) -> list[Result]:
    """Print how much was found by the kind of plant; what was found besides."""
    print(f"{'planted':<38}{'rows':>7}{what:>9}")
    hits = planted.hits(results)
    for kind, count in sorted(Counter(kind for kind, _ in planted.plants).items()):
        print(f"{kind:<38}{count:>7}{hits[kind] / count:>9.1%}")
    wrong = planted.wrong(results)
    in_made = sum(one.row > len(planted.real) for one in wrong)
    print(f"{f'nothing: {real}':<38}{len(planted.real):>7}{len(wrong) - in_made:>9}")
    print(f"{'nothing: procedural rows':<38}{len(planted.synthetic):>7}{in_made:>9}")
    return wrong


def planted_leaks(few: bool = False) -> Planted:
    """Texts of benchmarks, whole, in part and in other text; `few` takes a tenth of all."""
    chance = random.Random(SEED)
    clean = [dict(row) for row in read(DATA / "gsm8k" / "train.jsonl")]
    synthetic = list(_procedural(100))
    planted: list[tuple[str, Row]] = []
    for name, path in BENCHMARKS.items():
        for row in read(path):
            prompt = str(row[prompt_column(row)])
            host = chance.choice(clean)["question"]
            wrapped = f"{host} {prompt} {host}"
            words = prompt.split()
            for kind, text in (
                ("verbatim", _respelled(prompt, chance)),
                ("wrapped", wrapped),
                ("first half", " ".join(words[: len(words) // 2])),
                ("middle half", " ".join(words[len(words) // 4 : -(len(words) // 4) or None])),
                ("synonyms", _synonyms(prompt, chance)),
                ("a word put in every 5", _every(5, "{} really", prompt)),
                ("every 6th word changed", _every(6, "thing", prompt)),
                ("as a web page", _as_page(prompt, chance)),
            ):
                if text and text != prompt:
                    planted.append((f"{name}, {kind}", {"prompt": text}))
            if code := row.get("canonical_solution") or row.get("code"):
                response = f"Sure.\n```python\n{code}\n```"
                planted.append(
                    (f"{name}, code in a response", {"prompt": host, "response": response})
                )
    if few:
        return Planted(clean[::10], synthetic[::10], planted[::10])
    return Planted(clean, synthetic, planted)


def found_leaks(rows: Iterable[Row]) -> list[Leak]:
    """The rows that share words with the benchmarks."""
    reported: list[Leak] = []
    for _ in decontaminate(rows, Benchmarks(BENCHMARKS), on_leak=reported.append):
        pass
    return reported


def leaks(rows: int) -> None:  # noqa: ARG001 -- a section's form
    """Texts of benchmarks, whole, in part and in other text, in real and procedural rows."""
    planted = planted_leaks()
    everything = planted.rows
    start = time.perf_counter()
    reported = found_leaks(everything)
    took = time.perf_counter() - start
    wrong = _table(planted, reported, "found", "GSM8K train")
    precision = (len(reported) - len(wrong)) / len(reported)
    print(f"precision {precision:.4f}; {len(everything)} rows in {took:.1f} s")
    for leak in wrong:
        print(f"  {leak}"[:200])
    others()


def others() -> None:
    """What disjoint data sets share with one another."""
    print(f"\n{'rows':<12}{'against':<34}{'rows':>7}{'found':>9}")
    sources = {"gsm8k train": DATA / "gsm8k" / "train.jsonl", **BENCHMARKS}
    for name, path in sources.items():
        family = name.split()[0]
        against = {name: path for name, path in BENCHMARKS.items() if name != family}
        if name == "gsm8k train":
            against = {"gsm8k": BENCHMARKS["gsm8k"]}
        reported: list[Leak] = []
        count = sum(
            1 for _ in decontaminate(read(path), Benchmarks(against), on_leak=reported.append)
        )
        print(f"{name:<12}{' '.join(against):<34}{count + len(reported):>7}{len(reported):>9}")
        for leak in reported:
            print(f"  {leak}"[:200])


class Sides(NamedTuple):
    """What became of copies and of their rows, when both were split."""

    rows: int
    copies: int
    sizes: Counter[str]
    moved: int  # rows that were on another side before the copies came
    apart: int  # copies on another side than their row
    by_chance: float  # so many of them would be, were the split at random


def split_copies(few: bool = False) -> Sides:
    """Split rows, and them again with copies; `few` takes a tenth of all."""
    chance = random.Random(SEED)
    base = _real()[:: 10 if few else 1]
    copies = [
        {**row, "prompt": prompt, "copy_of": index}
        for index, row in chance.sample(list(enumerate(base)), 300 if few else 3_000)
        if (prompt := chance.choice(list(COPIES.values()))(row["prompt"], chance))
    ]
    shares = {"train": 0.8, "validation": 0.1, "test": 0.1}
    before = [row["split"] for row in split(base, shares)]
    after = list(split([*base, *copies], shares))
    moved = sum(one != row["split"] for one, row in zip(before, after, strict=False))
    apart = sum(
        row["split"] not in (before[row["copy_of"]], LEFT_OUT) for row in after[len(base) :]
    )
    by_chance = len(copies) * (1 - sum(share**2 for share in shares.values()))
    sizes = Counter(str(row["split"]) for row in after)
    return Sides(len(base), len(copies), sizes, moved, apart, by_chance)


def sides(rows: int) -> None:  # noqa: ARG001 -- a section's form
    """Near-duplicates across a split, and rows that move when others are added."""
    results = split_copies()
    print(f"{results.rows} rows and {results.copies} copies: {dict(results.sizes)}")
    print(f"rows that moved when the copies came: {results.moved}; ", end="")
    print(f"left out: {results.sizes[LEFT_OUT]}")
    print(f"copies on another side than their row: {results.apart} ", end="")
    print(f"(a random split: {results.by_chance:.0f})")


def scale(rows: int) -> None:
    """Time and memory of many rows, and of hostile ones; workers take theirs besides."""
    print(f"{'':<34}{'rows':>9}{'seconds':>9}{'CPU s':>8}{'rows/CPU s':>11}{'MB':>6}")
    for name in SCALED:
        for kind, source, count in (
            ("", _many, rows // 10),
            ("", _many, rows),
            (" of 1 MB each", _hostile, 10),
        ):
            if name == "score" and source is _hostile:
                continue  # it has no answers
            took, used, memory = scaled(name, count, source)
            line = f"{count:>9}{took:>9.1f}{used:>8.1f}{count / used:>11.1f}{memory:>6.0f}"
            print(f"{name + kind:<34}{line}", flush=True)


def scaled(
    name: str, count: int, source: Callable[[int], Iterable[Row]] | None = None
) -> tuple[float, float, float]:
    """Seconds, CPU seconds, and MB, of one of `SCALED` in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (name, source or _many, count))


def _measured(
    name: str, source: Callable[[int], Iterable[Row]], count: int
) -> tuple[float, float, float]:
    """Seconds, those of the processor, and the most memory in MB above what was there before."""
    before = _most_memory()
    start, started = time.perf_counter(), time.process_time()
    SCALED[name](source(count))
    took, used = time.perf_counter() - start, time.process_time() - started
    return took, used, (_most_memory() - before) / 1024


def _most_memory() -> int:
    """The most kB that this process has held; getrusage would count its parent's before `exec`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])


def _many(count: int) -> Iterator[Row]:
    """GSM8K's rows over and over, each time with other numbers."""
    chance = random.Random(SEED)
    path = DATA / "gsm8k" / "train.jsonl"
    again = (row for _ in range(1 + count // 7_000) for row in read(path))
    for row in islice(again, count):
        yield {**row, "question": _other_number(row["question"], chance) or row["question"]}


def _hostile(count: int) -> Iterator[Row]:
    chance = random.Random(SEED)
    makers: list[Callable[[], str]] = [
        lambda: "a" * 1_000_000,
        lambda: "(" * 1_000_000,
        lambda: " -" * 500_000,
        lambda: "".join(chance.choices("abcdefgh \n", k=1_000_000)),
        lambda: "".join(map(chr, chance.choices(range(32, 0xD800), k=350_000))),
    ]
    for number in range(count):
        yield {"question": makers[number % len(makers)]()}


def _scored(rows: Iterable[Row]) -> None:
    completions = (
        {"type": "gsm8k", "prompt": row["question"], "answer": row["answer"].split("#### ")[1],
         "response": f"<answer>{row['answer'].split('#### ')[1]}</answer>"}
        for row in rows
    )  # fmt: skip
    assert all(row["status"] == "passed" for row in score_rows(completions))


SCALED: Mapping[str, Callable[[Iterable[Row]], Any]] = {
    "score": _scored,
    "dedup": duplicates,
    "decontaminate": lambda rows: sum(1 for _ in decontaminate(rows, Benchmarks(BENCHMARKS))),
    "split": lambda rows: sum(1 for _ in split(rows)),
}
SECTIONS = {"dedup": near_duplicates, "decontaminate": leaks, "split": sides, "scale": scale}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--rows", type=int, default=100_000, help="of `scale` (default: 100000)")
    parser.add_argument("--save", type=Path, help="write what is printed to this file instead")
    args = parser.parse_args()
    if not args.save:
        report(args)
        return
    with args.save.open("w", encoding="utf-8") as file, redirect_stdout(file):
        reported = " ".join(["python -m benchmarks.dataset", *args.sections])
        print(f"# How rows are curated\n\n`{reported}` printed this.\n\n```")
        report(args)
        print("```")


def report(args: argparse.Namespace) -> None:
    load = os.getloadavg()[0]
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, load {load:.1f}, ", end="")
    print(f"Python {platform.python_version()}")
    for name in args.sections or SECTIONS:
        print(f"\n{name}: {SECTIONS[name].__doc__}")
        SECTIONS[name](args.rows)


if __name__ == "__main__":
    main()
