"""How varied the procedural tasks are: `python benchmarks/procedural.py [rows a family]`.

A skeleton is a prompt with all that a draw of numbers or names changes masked: code, numbers,
signs, coefficients, single letters, names of people and things.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from infinite_rl.procedural import families, make_problem
from infinite_rl.procedural.math_derivatives import MOVERS
from infinite_rl.procedural.math_rates import TRAVELLERS
from infinite_rl.procedural.templates import NAMES

MASKS = (
    (re.compile(r"(`{3,}).*?\1", re.DOTALL), "CODE"),
    (re.compile(r"`[^`\n]*`"), "CODE"),
    (re.compile(rf"\b(?:{'|'.join((*NAMES, *MOVERS, *TRAVELLERS))})\b"), "NAME"),
    (re.compile(r"\d+(?:\.\d+)?(?:/\d+)?"), "#"),
    (re.compile(r"\b[b-zB-HJ-Z]\b"), "v"),
    (re.compile(r"\(#\)|(?<![\w)])-(?=[#v(])"), "#"),
    (re.compile(r"#+(?=v)"), ""),
    (re.compile(r" [-+] "), " ± "),
    (re.compile(r"#+"), "#"),
)


def skeleton(prompt: str) -> str:
    """The prompt without its numbers, names and code."""
    for pattern, mask in MASKS:
        prompt = pattern.sub(mask, prompt)
    return prompt


def line(task: str, family: str, rows: int) -> tuple[str, int]:
    """One row of the table (distinct skeletons and prompts, median lengths, time a row), and the
    number of skeletons."""
    start = time.perf_counter()
    problems = [make_problem(task, seed, family=family) for seed in range(rows)]
    each_ms = (time.perf_counter() - start) / rows * 1000
    prompts = {problem.prompt for problem in problems}
    skeletons = {skeleton(prompt) for prompt in prompts}
    per_thousand = len(prompts) * 1000 // rows
    prompt_length = median(len(problem.prompt) for problem in problems)
    response_length = median(len(problem.response) for problem in problems)
    text = (
        f"{task:<11}{family:<13}{rows:>6}{len(skeletons):>11}{per_thousand:>15}"
        f"{prompt_length:>9.0f}{response_length:>10.0f}{each_ms:>8.2f}"
    )
    return text, len(skeletons)


def main(rows: int) -> None:
    print(
        f"{'task':<11}{'family':<13}{'rows':>6}{'skeletons':>11}{'prompts/1000':>15}"
        f"{'prompt':>9}{'response':>10}{'ms/row':>8}"
    )
    for task in ("math", "python", "javascript", "sql"):
        total = 0
        for family in families(task):
            text, skeletons = line(task, family, rows)
            print(text, flush=True)
            total += skeletons
        print(f"{task:<11}{'in all':<13}{rows * len(families(task)):>6}{total:>11}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
