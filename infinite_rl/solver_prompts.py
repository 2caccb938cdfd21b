"""What the solver of a row is asked, without its answer, and how many solutions there may be."""

from typing import NamedTuple

from .layout import ANSWER_TAG
from .types import Sample

MAX_SOLUTIONS = 4  # of a row that a model wrote
INITIAL_SOLUTIONS = 2  # requested together; each further one only if these do not decide
MEAN_SOLUTIONS = 2.5  # of a row, if 80 % of the solver's solutions are right

_SYSTEM = """Solve the task. Reason first, step by step. Then give the final content once, in
<{tag}> tags closed by </{tag}>{form}"""
_CODE = """: one fenced ```{language} block that defines exactly what the task names,
with the standard library only. Write no tests, and read no input unless the task asks for it."""
_VALUE = ": the value alone, exact, with no words around it."
_FORMS = {  # of other types
    "logic": ", in the form that the task asks for.",
    "sql": ": one fenced ```sql block with one query in SQLite's dialect.",
}


class Request(NamedTuple):
    """The prompts of one call."""

    system: str
    prompt: str


def solver_request(sample: Sample) -> Request:
    """Return what a solver sees: the row's prompt and the form of an answer, nothing else."""
    return Request(default_system_prompt(sample), sample.prompt)


def solver_system_prompt(language: str = "") -> str:
    """Return the system prompt of a solver of programs in `language`, or of values if it is ""."""
    form = _CODE.format(language=language) if language else _VALUE
    return _SYSTEM.format(tag=ANSWER_TAG, form=form)


def default_system_prompt(sample: Sample) -> str:
    """Return the system prompt that states the form of a row's answer.

    It is "" for instructions: their prompts state the form themselves.
    """
    if sample.type == "instruction":
        return ""
    if sample.type in _FORMS:
        return _SYSTEM.format(tag=ANSWER_TAG, form=_FORMS[sample.type])
    return solver_system_prompt(sample.language)


def is_value(sample: Sample) -> bool:
    """Whether the answer is a value, not a program, a query or a text in a requested form."""
    return not sample.language and sample.type not in ("instruction", "sql")
