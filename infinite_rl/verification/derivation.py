"""A maths row's answer, derived a second time from its prompt alone.

By this package:

    evaluation   the prompt asks for the value of one expression that it states
    equations    it states one linear or quadratic equation, or two linear ones, and asks for all
                 solutions, or for a value that they determine
    enumeration  it asks for a count, a divisor or a remainder of the numbers that it states

A prompt is read only if every word of it is among those of such a task: whatever else it says, as
"positive" or "the sum of", could ask for another answer. Then nothing is derived, which is said.

    program      a model that sees the prompt alone writes a program, whose output is the answer
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

from ..layout import ANSWER_TAG, fenced, tagged
from ..reward_functions.math import verify
from ..reward_functions.math.bounds import Budget, OutOfTime, OverBudget, Undefined, Unparsed
from ..reward_functions.math.exact import NotPolynomial, Quotients, rational
from ..reward_functions.math.extract import answer_text
from ..reward_functions.math.normal_form import read
from ..reward_functions.math.parse import parse
from ..reward_functions.math.tree import Node
from ..reward_functions.reward_function import RewardFunction
from ..sandbox.executor import RewardExecutor
from ..sandbox.runtimes import FUEL_PER_NS
from ..solver_prompts import Request
from ..types import Sample
from .latex import Unwritable, fraction

_SYSTEM = """Write a Python program that computes the answer to the task: by brute force, search or
exact arithmetic, not by formulas that you remember. It prints the final value alone, exact, on its
last line, within a few seconds, with the standard library only. Give it once, in <{tag}> tags
closed by </{tag}>: one fenced ```python block."""
_SLOWDOWN = 6  # the time for the instructions of a second, on a slow machine
_LONGEST, _QUOTE = 600, 80  # characters of a prompt, and of an answer in a message
_LARGEST = 10**12  # of a number whose divisors are counted
_READ_S = 1.0
_FAULTS = (Unparsed, OverBudget, OutOfTime, Undefined, NotPolynomial, RecursionError, ValueError)
_PLAIN = ("num", "add", "mul", "div", "pow", "neg", "fact", "binom")  # exact beyond doubt


class Derivation(NamedTuple):
    """How an answer was derived a second time: `by` a way, or "none".

    `agrees` says whether both answers are equal; it is None, and `reason` says why, if nothing
    was derived. `answer` is the derived one, `program` the program that printed it.
    """

    by: str
    agrees: bool | None = None
    answer: str = ""
    reason: str = ""
    program: str = ""

    @property
    def fault(self) -> str:
        """Why the row is refuted, "" if it is not."""
        return f"by {self.by} its answer is {self.answer[:_QUOTE]}" if self.agrees is False else ""

    def columns(self) -> dict[str, Any]:
        """The column of a row, and the details for its certificate."""
        details = {name: getattr(self, name) for name in ("answer", "reason", "program")}
        return {"derived_by": self.by, "derivation": {k: v for k, v in details.items() if v}}


def derive(sample: Sample) -> Derivation:
    """Derive the answer of a row a second time, without its answer and response.

    A derived answer that equals the row's confirms it. One that differs refutes it only if both are
    exact numbers; else nothing is said to be derived.
    """
    if sample.type not in ("math", "gsm8k") or len(sample.prompt) > _LONGEST:
        return Derivation("none", reason="its prompt states no expression, equation or count")
    for by, way in _WAYS.items():
        try:
            derived = way(sample.prompt)
        except _FAULTS:
            continue
        if derived is not None:
            return _compared(by, derived, sample.answer)
    return Derivation("none", reason="its prompt states no expression, equation or count")


def program_request(sample: Sample) -> Request:
    """Return what the author of a program sees: the row's prompt, and what to print."""
    return Request(_SYSTEM.format(tag=ANSWER_TAG), sample.prompt)


def derive_by_program(sample: Sample, text: str, reward: RewardFunction) -> Derivation:
    """Derive an answer by the program in a text, which runs in the sandbox.

    A program that fails, or whose output the reward cannot read as an answer, derives nothing.
    """
    from ..reward_functions.coding import read_submission  # the other ways run no program

    code = read_submission(text, ANSWER_TAG, "python").code
    if not code.strip():
        return Derivation("none", reason="the model wrote no program")
    # By instructions, not by time: a replay ends in the same way on a busy machine.
    fuel, wait_s = int(reward.timeout * 10**9 * FUEL_PER_NS), _SLOWDOWN * reward.timeout
    execution = RewardExecutor(timeout=wait_s, fuel=fuel, seed=0).execute(code, "python")
    printed = execution.stdout.strip().splitlines()[-1:]
    if execution.status != "ok" or not printed or len(printed[0]) > _LONGEST:
        return Derivation("none", reason=f"the program ended with {execution.status}", program=code)
    score = reward.score(sample, tagged(printed[0]))
    if score.status == "unscored" or score.format_score < 1.0:
        return Derivation("none", reason="the program printed no answer", program=code)
    return Derivation("program", score.passed, printed[0], program=code)


def replay(sample: Sample, record: Mapping[str, Any], reward: RewardFunction) -> str:
    """Say how a recorded derivation differs from what comes of it now, "" if it does not."""
    details = record.get("derivation")
    code = str(details.get("program", "")) if isinstance(details, dict) else ""
    now = derive(sample)
    if record.get("derived_by") == "program" or code:
        now = derive_by_program(sample, tagged(f"\n{fenced(code, 'python')}\n"), reward)
    if now.fault:
        return now.fault
    for name, value in now.columns().items():
        if record.get(name, "") != value:
            return f"its {name} is {value!r}, and {record.get(name)!r} is recorded"
    return ""


def _compared(by: str, derived: str, answer: str) -> Derivation:
    if verify(derived, answer).status == "equal":
        return Derivation(by, True, derived)
    try:
        value, gold = _exact(parse(derived)), _exact(read(answer_text(answer), Budget(_READ_S)))
    except _FAULTS:
        value = gold = None
    if value is None or gold is None:
        return Derivation("none", reason=f"by {by} it is {derived[:80]}, which cannot be compared")
    with suppress(Unwritable):  # of too many digits: then the expression stands for it
        derived = fraction(value)
    return Derivation(by, False, derived)


def _exact(node: Node) -> Fraction | None:
    """The value of a number beyond doubt, else None."""
    plain = node.op in _PLAIN and all(each.op in _PLAIN for each in _parts(node))
    return rational(node, Budget(_READ_S)) if plain else None


def _parts(node: Node) -> Iterator[Node]:
    for each in node.args:
        yield each
        yield from _parts(each)


# --- the words of a prompt -----------------------------------------------------------------------

_DOLLARS = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|\\\((.+?)\\\)|\$([^$]+)\$", re.DOTALL)
# Sentences on the form of an answer, which equality does not depend on.
_FORM = re.compile(
    r"(?<=[.?!\]])\s*(?:Give (?:it|an exact value|the (?:exact|result))|Express your answer as an?"
    r"|Answer (?:with|in)|Write (?:it|your answer) as|Use set notation|List the elements|State it"
    r"|Do not round|The answer should be|Simplify your answer)\b[^.?!$]*[.!]?"
)
_BASES = re.compile(r"\bbase|decimal|percent|per cent|nearest|estimate|round(?! an)", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\\[lcv]?dots|\.\.|…")
# Readers differ on these: a quotient of fractions in one line, and 1/2x.
_AMBIGUOUS = re.compile(r"/[^÷]*÷|÷[^/]*/|/\s*[\d.]+\s*(?:[a-z(]|\\[a-z])")
# A formula in plain text: numbers, single letters and signs between words.
_RUN = re.compile(
    r"\([a-z], ?[a-z]\)"
    r"|(?<![\w.,])[-+(]*(?:\d|[a-z](?![a-z]))(?:[\d +*/^().=·÷-]|[a-z](?![a-z]))*"
)
_FORMULA = re.compile(r"[\d=,]|[a-z)] ?[-+*/·] ?[a-z(]")
_SPACED = re.compile(r"[a-z\d)]\s+[a-z\d(]", re.IGNORECASE)


class _Prompt(NamedTuple):
    words: tuple[str, ...]
    formulas: tuple[str, ...]


def _read(prompt: str) -> _Prompt | None:
    """The words and the formulas of a prompt; None if they cannot be told apart."""
    text = _FORM.sub("", prompt.strip())
    if _ELLIPSIS.search(text) or _BASES.search(text):
        return None
    marked = bool(_DOLLARS.search(text))
    pattern = _DOLLARS if marked else _RUN
    formulas: list[str] = []

    def take(match: re.Match[str]) -> str:
        formula = next((group for group in match.groups() if group), match[0])
        formula = re.sub(r"\\[,;:! ]|~", " ", formula).strip().rstrip(".,;?").strip()
        is_name = len(formula) == 1 and formula.islower() and formula not in "ai"
        if not (marked or is_name or (len(formula) > 1 and _FORMULA.search(formula))):
            return match[0]
        formulas.append(formula)
        return " # "

    rest = pattern.sub(take, text)
    if any(_AMBIGUOUS.search(each.replace("\\div", "÷")) for each in formulas):
        return None
    if not marked and any(_SPACED.search(each) for each in formulas):
        return None
    words = tuple(re.findall(r"#|\w+|[^\s\w.,:;?!]", rest.casefold()))
    return _Prompt(words, tuple(formulas))


def _fits(words: Sequence[str], vocabulary: str) -> bool:
    return set(words) <= {*vocabulary.split(), "#"}


# --- the ways ------------------------------------------------------------------------------------

_VALUE_WORDS = """compute evaluate calculate simplify find what is the exact value of expression
following work out determine"""


def _evaluation(prompt: str) -> str | None:
    read_prompt = _read(prompt)
    if read_prompt is None or not _fits(read_prompt.words, _VALUE_WORDS):
        return None
    formulas = read_prompt.formulas
    if len(formulas) != 1 or re.search(r"[=<>≤≥≡]|\\[lg]eq?\b|\\neq|\\equiv", formulas[0]):
        return None
    node = parse(formulas[0])
    return formulas[0] if node.is_expression and node.op not in ("num", "sym") else None


_EQUATION_WORDS = """solve find determine the equation equations for all solution solutions root
roots set of has have exactly one two both hold at once and also if as well that what is are value
values given satisfies satisfy numbers number following work out ordered pair system which by to
then when it quadratic in without a calculator do sides agree give only this makes true isolate
suppose compute first state report unknown real largest smallest least sum product"""
_CHOICES: dict[str, Callable[[Fraction, Fraction], str]] = {
    "sum": lambda middle, _: fraction(2 * middle),
    "product": lambda middle, square: fraction(middle**2 - square),
    "largest": lambda middle, square: f"{fraction(middle)} + \\sqrt{{{fraction(square)}}}",
    "smallest": lambda middle, square: f"{fraction(middle)} - \\sqrt{{{fraction(square)}}}",
    "least": lambda middle, square: f"{fraction(middle)} - \\sqrt{{{fraction(square)}}}",
}  # fmt: skip


def _equations(prompt: str) -> str | None:
    read_prompt = _read(prompt)
    if read_prompt is None or not _fits(read_prompt.words, _EQUATION_WORDS):
        return None
    equations = [each for each in read_prompt.formulas if each.count("=") == 1]
    others = [each for each in read_prompt.formulas if "=" not in each]
    if re.search(r"[<>≤≥≡]|\\[lg]eq?\b|\\neq|\\equiv|\\pmod", "".join(read_prompt.formulas)):
        return None
    sides = [[parse(side) for side in each.split("=")] for each in equations]
    if not all(side.is_expression for pair in sides for side in pair):
        return None
    differences = [left - right for left, right in sides]
    names = sorted(frozenset[str]().union(*[each.symbols for each in differences]))
    targets = [parse(each) for each in others if parse(each).op != "sym" or len(names) > 1]
    if len(differences) == 1 and len(names) == 1:
        return _one_unknown(differences[0], names[0], targets, read_prompt.words)
    chosen = _CHOICES.keys() & set(read_prompt.words)
    if len(differences) == 2 and len(names) == 2 and len(targets) == 1 and not chosen:
        return _two_unknowns(differences, names, targets[0])
    return None


def _coefficients(node: Node, names: Sequence[str]) -> dict[int, Fraction] | None:
    """The coefficients of a polynomial by its packed powers; None for a quotient."""
    top, bottom = Quotients(list(names), Budget(_READ_S)).expand(node)
    if set(bottom) != {0}:
        return None
    return {power: Fraction(factor) / Fraction(bottom[0]) for power, factor in top.items()}


def _one_unknown(
    difference: Node, name: str, targets: Sequence[Node], words: Sequence[str]
) -> str | None:
    factors = _coefficients(difference, [name])
    if not factors or max(factors) > 2:
        return None
    c, b, a = (factors.get(power, Fraction(0)) for power in range(3))
    if a == 0:
        if b == 0:
            return None
        if _CHOICES.keys() & set(words):
            return None
        return _value_at(targets, {name: -c / b}) if targets else fraction(-c / b)
    middle, square = -b / (2 * a), (b * b - 4 * a * c) / (4 * a * a)
    if targets or square < 0 or not {"solution", "solutions", "roots"} & set(words):
        return None  # complex ones, or a value that depends on which of the two
    if chosen := [name for name in _CHOICES if name in words]:
        return _CHOICES[chosen[0]](middle, square) if len(chosen) == 1 and square else None
    if not {"solutions", "roots"} & set(words):
        return None
    roots = [f"{fraction(middle)} {sign} \\sqrt{{{fraction(square)}}}" for sign in "+-"]
    return f"\\{{{', '.join(roots) if square else fraction(middle)}\\}}"


def _two_unknowns(differences: Sequence[Node], names: Sequence[str], target: Node) -> str | None:
    every = [_coefficients(each, names) for each in differences]
    units = [next(iter(Quotients(list(names), Budget(_READ_S)).expand(Node("sym", (), n))[0]))
             for n in names]  # fmt: skip
    if any(each is None or set(each) - {0, *units} for each in every):
        return None
    (a, b, e), (c, d, f) = (
        [each.get(unit, Fraction(0)) for unit in (*units, 0)] for each in every if each
    )
    determinant = a * d - b * c
    if not determinant:
        return None
    values = ((b * f - d * e) / determinant, (c * e - a * f) / determinant)
    return _value_at([target], dict(zip(names, values, strict=True)))


def _value_at(targets: Sequence[Node], values: dict[str, Fraction]) -> str | None:
    """The value of the one expression, or pair, that is asked for."""
    if len(targets) != 1:
        return None
    there = {name: Node("num", (), value) for name, value in values.items()}
    parts = targets[0].args if targets[0].op == "tuple" else (targets[0],)
    exact = [rational(part.substituted(there), Budget(_READ_S)) for part in parts]
    texts = [fraction(value) for value in exact if value is not None]
    if len(texts) != len(parts):
        return None
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+)"
_START = r"(?:what is|find|compute|determine|calculate|work out|give)?\s*(?:the )?"
_COUNTS: Sequence[tuple[str, Callable[..., int]]] = (
    (rf"how many (?:positive )?(?:whole-number |integer )?(?:divisors|factors) does {_NUMBER} have",
     lambda n: len(_divisors(n))),
    (rf"{_START}number of positive (?:integer )?(?:divisors|factors) of {_NUMBER}",
     lambda n: len(_divisors(n))),
    (rf"{_START}sum of (?:all )?(?:of )?(?:the )?positive (?:integer )?(?:divisors|factors) of "
     rf"{_NUMBER}", lambda n: sum(_divisors(n))),
    (rf"{_START}(?:greatest common divisor|greatest common factor|gcd) of {_NUMBER}(?:, {_NUMBER})?"
     rf",? and {_NUMBER}", math.gcd),
    (rf"{_START}least common multiple of {_NUMBER}(?:, {_NUMBER})?,? and {_NUMBER}", math.lcm),
    (rf"{_START}remainder (?:when|of) {_NUMBER} (?:is )?divided by {_NUMBER}", lambda a, b: a % b),
    (rf"{_START}remainder (?:when|of) {_NUMBER}\^\{{?(\d+)\}}? (?:is )?divided by {_NUMBER}",
     lambda a, b, m: pow(a, b, m)),
    (rf"{_START}units digit of {_NUMBER}\^\{{?(\d+)\}}?", lambda a, b: pow(a, b, 10)),
    (rf"{_START}(?:greatest|largest) prime factor of {_NUMBER}", lambda n: max(_primes(n))),
    (rf"{_START}(?:smallest|least) prime factor of {_NUMBER}", lambda n: min(_primes(n))),
)  # fmt: skip


def _enumeration(prompt: str) -> str | None:
    text = re.sub(r"\s+", " ", prompt.replace("$", "")).strip().rstrip(".?").casefold()
    for pattern, count in _COUNTS:
        if match := re.fullmatch(pattern, text):
            numbers = [int(each.replace(",", "")) for each in match.groups() if each]
            if min(numbers) > 0 and max(numbers) <= _LARGEST:
                return str(count(*numbers))
    return None


def _primes(number: int) -> list[int]:
    """The prime factors of a number, by trial."""
    primes, candidate = [], 2
    while candidate * candidate <= number:
        while number % candidate == 0:
            primes.append(candidate)
            number //= candidate
        candidate += 1
    return [*primes, number] if number > 1 else primes


def _divisors(number: int) -> list[int]:
    divisors = [1]
    for prime in set(factors := _primes(number)):
        powers = [prime**power for power in range(factors.count(prime) + 1)]
        divisors = [each * power for each in divisors for power in powers]
    return divisors


_WAYS: dict[str, Callable[[str], str | None]] = {
    "evaluation": _evaluation, "equations": _equations, "enumeration": _enumeration,
}  # fmt: skip
