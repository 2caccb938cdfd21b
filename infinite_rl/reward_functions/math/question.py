"""What a question asks of the form of its answer, if the gold does not show it."""

import re

from ...parsing.word_tables import WordTables
from . import units
from .bounds import Budget
from .equivalence import difference
from .exact import factors
from .tree import Node

_TABLES = WordTables(__file__)
_ORDER, _UNIT, _FACTOR = map(_TABLES.pattern, ("order", "unit", "factor"))
_YES_OR_NO = _TABLES.pattern("yes or no")


def yes_or_no(question: str, predicate: str) -> str:
    """What a predicate answers: "no" if "not prime" is said and "Is 91 prime?" asked; else "".

    All its words must be asked for, and a negation in the question leaves it open.
    """
    asking = _YES_OR_NO.search(question)
    asked_for = set(re.findall("[a-z]+", asking[0].casefold())) if asking else set()
    words = re.findall("[a-z]+", predicate)
    denied = words[:1] == ["not"]
    stated = set(words[denied:])
    if not stated or not stated <= asked_for or "not" in asked_for:
        return ""
    return "no" if denied else "yes"


def unasked(question: str, prediction: Node, gold: Node, budget: Budget) -> str:
    """Why an answer that equals the gold is not in the form that is asked for; "" if it is.

    A list must have its order, a number its unit if the gold has none, and a product its factors.
    """
    if prediction.op == gold.op == "list" and _ORDER.search(question):
        pairs = zip(prediction.args, gold.args, strict=False)
        return "another order" if any(difference(*pair, budget) for pair in pairs) else ""
    if prediction.unit is not None and gold.unit is None:
        words = [next(filter(None, match.groups())) for match in _UNIT.finditer(question)]
        measures = [units.unit(word) for word in words if units.is_unit(word)]
        wanted = measures[-1] if measures else None
        if wanted is not None and wanted.dimension == prediction.unit.dimension:
            return "" if wanted.factor == prediction.unit.factor else f"not in {wanted.name}"
    if len(factors(gold, budget)) > 1 and _FACTOR.search(question):
        return "" if len(factors(prediction, budget)) > 1 else "it is not factored"
    return ""
