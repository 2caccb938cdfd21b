"""How our verdicts on IFEval differ from its authors' checker: `python -m benchmarks.ifeval`.

Texts are English prose: questions of GSM8K, cut to a number of words, in the case that an
instruction asks for. First, of the prompts that ask for English in one case, the share that passes
by our own convention and by the published one, whose language is langdetect's. Then, where lm_eval
can be imported, each instruction of IFEval by its authors' code, as lm_eval ships it, beside both.
Two instructions need data of NLTK, which is not fetched here: without it they are left out.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from benchmarks.dataset import DATA, SEED
from benchmarks.sandbox import machine
from infinite_rl.dataset.rows import read
from infinite_rl.reward_functions.instruction.reward import InstructionRewardFunction, judged_text

WORDS = (3, 5, 10, 15, 20, 30, 40, 0)  # of a text; 0: all
TEXTS = 500  # for each length and case
KINDS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "capitals": str.upper,
    "lower case": str.lower,
    "5 words": lambda text: " ".join(text.split()[:5]),
    "5 words, capitals": lambda text: " ".join(text.split()[:5]).upper(),
    "a list": lambda text: re.sub(r"[.?] ", "\n* ", f"* {text}"),
    "titled": lambda text: f"<<A title>>\n\n{text}\n\nP.S. [name] **Thanks**",
    "quoted": lambda text: f'"{text}"',
}
CASES = {"change_case:english_capital": str.upper, "change_case:english_lowercase": str.lower}
NEED_NLTK = frozenset({"length_constraints:number_sentences", "change_case:capital_word_frequency"})


def followed(reward: InstructionRewardFunction, text: str, row: Any) -> list[bool]:
    details = reward.compute_reward(text, row).details or {}
    return [each["followed"] for each in details["instructions"]]


def languages(rows: list[dict[str, Any]], texts: list[str]) -> None:
    """Print the share of texts that pass, and what that is in points of IFEval's prompts."""
    import langdetect

    langdetect.DetectorFactory.seed = 0
    asking = {name: sum(name in row["instruction_id_list"] for row in rows) for name in CASES}
    own, published = (InstructionRewardFunction(convention=name) for name in ("own", "published"))
    print(f"{'words':<8}{'case':<12}{'ours':>8}{'published':>11}{'points of prompts':>19}")
    for count in WORDS:
        both = 0.0
        for name, cased in CASES.items():
            row = json.dumps([{"instruction_id": name, "kwargs": {}}])
            cut = [cased(" ".join(text.split()[: count or None])) for text in texts]
            ours, theirs = (
                sum(reward.compute_reward(text, row).passed for text in cut) / len(cut)
                for reward in (own, published)
            )
            points = 100 * (ours - theirs) * asking[name] / len(rows)
            both += points
            case = name.rpartition("_")[2]
            print(f"{count or 'all':<8}{case:<12}{ours:>8.1%}{theirs:>11.1%}{points:>19.2f}")
        print(f"{'':<8}{'both':<12}{'':>19}{both:>19.2f}", flush=True)


def authors() -> Callable[[str, Any], list[bool]] | None:
    """The verdicts of the authors' checker, or None where it is not installed."""
    try:
        nltk = import_module("nltk")
        nltk.download = lambda *_, **__: False  # type: ignore[attr-defined] # it would be fetched
        with contextlib.redirect_stdout(io.StringIO()):
            utils = import_module("lm_eval.tasks.ifeval.utils")
    except ImportError:
        return None

    def verdicts(text: str, row: Any) -> list[bool]:
        example = utils.InputExample(**{name: row[name] for name in (
            "key", "instruction_id_list", "prompt", "kwargs"
        )})  # fmt: skip
        done: list[bool] = utils.test_instruction_following_strict(
            example, text
        ).follow_instruction_list
        return done

    return verdicts


def has_nltk_data() -> bool:
    with contextlib.suppress(LookupError):
        return bool(import_module("nltk").data.find("tokenizers/punkt_tab"))
    return False


def beside_the_authors(rows: list[dict[str, Any]], texts: list[str]) -> None:
    """Print how many verdicts on instructions and on prompts differ, by the kind of text."""
    judge = authors()
    if judge is None:
        print("lm_eval's task ifeval cannot be imported: its authors' checker is not compared")
        return
    left_out = frozenset[str]() if has_nltk_data() else NEED_NLTK
    rows = [row for row in rows if not left_out & {*row["instruction_id_list"]}]
    print(
        f"\n{len(rows)} prompts" + (f", without {', '.join(sorted(left_out))}" if left_out else "")
    )
    rewards = {name: InstructionRewardFunction(convention=name) for name in ("own", "published")}
    by_name = {name: Counter[str]() for name in rewards}
    head = f"{'texts':<20}{'verdicts':>9}{'own: more':>11}{'fewer':>7}"
    print(f"{head}{'published: more':>17}{'fewer':>7}")
    for kind, change in KINDS.items():
        lines: dict[str, Counter[bool]] = {name: Counter() for name in rewards}
        verdicts = 0
        for row, text in zip(rows, cycled(texts), strict=False):
            response = change(text)
            theirs = judge(judged_text(response)[1], row)
            verdicts += len(theirs)
            for name, reward in rewards.items():
                ours = followed(reward, response, row)
                for id_, one, other in zip(row["instruction_id_list"], ours, theirs, strict=True):
                    if one != other:
                        lines[name][one] += 1
                        by_name[name][f"{id_} {'passes' if one else 'fails'} here only"] += 1
        cells = "".join(
            f"{lines[name][True]:>{width}}{lines[name][False]:>7}"
            for name, width in (("own", 11), ("published", 17))
        )
        print(f"{kind:<20}{verdicts:>9}{cells}", flush=True)
    for name, counts in by_name.items():
        for what, count in counts.most_common():
            print(f"  {name}: {what}: {count}")


def cycled(texts: list[str]) -> Iterator[str]:
    while True:
        yield from texts


def main() -> None:
    print(machine())
    rows = list(read(DATA / "ifeval" / "input_data.jsonl"))
    texts = [row["question"] for row in read(DATA / "gsm8k" / "train.jsonl")]
    texts = random.Random(SEED).sample(texts, TEXTS)
    languages(rows, texts)
    beside_the_authors(rows, texts)


if __name__ == "__main__":
    main()
