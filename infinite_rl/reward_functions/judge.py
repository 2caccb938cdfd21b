"""A model that is asked whether two answers agree, after the rules of a reward have said no.

A model can be talked into a yes: a colon, "Solution" or "Let's solve this problem step by step." in
the place of an answer pass many judges (Zhao et al., "One Token to Fool LLM-as-a-Judge",
arXiv 2507.08794). So a model is asked such canaries first, and one that accepts any is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ..errors import InfiniteRLError, NoCompletion, UsageError, reason_of
from ..parsing.word_tables import WordTables

if TYPE_CHECKING:
    from ..providers.base import Provider

# A provider, or a function from a prompt to the model's reply.
JudgeModel: TypeAlias = "Provider | Callable[[str], str]"

_TABLES = WordTables(__file__)
_INSTRUCTION = "\n".join(_TABLES.rows("instruction"))
_CANARIES = _TABLES.rows("canaries")
_QUESTION, _REFERENCE, _RIGHT = _TABLES.rows("known case")
_VERDICTS = {"VERDICT: SAME": True, "VERDICT: DIFFERENT": False}
_LONGEST = 1_000  # characters of an answer that is judged: in a longer one there is room to argue
_KEPT = 10_000  # replies


class JudgeFailed(InfiniteRLError):
    """The judge gave no verdict: neither the answer nor the reference is at fault."""


class Judge:
    """Asks a model, which first has to pass the canaries. Safe to call from many threads at once.

    Equal questions are asked once. Two threads may both ask the first one, and the canaries: that
    costs calls and changes no verdict.
    """

    def __init__(self, model: JudgeModel) -> None:
        self._model = model
        self.name = str(getattr(model, "model", "") or getattr(model, "__name__", "a model"))
        self._replies: dict[tuple[str, str, str], bool] = {}
        self._checked = False

    def check(self) -> None:
        """Ask the canaries, once.

        Raises:
            UsageError: the model accepts one of them, or refuses a right answer.
            JudgeFailed: it could not be asked.
        """
        if self._checked:
            return
        for canary in _CANARIES:
            if self._ask(_QUESTION, _REFERENCE, canary):
                raise UsageError(
                    f"{self.name} cannot be a judge: it accepts {canary!r} as the answer to"
                    f" {_QUESTION!r}; use another model"
                )
        if not self._ask(_QUESTION, _REFERENCE, _RIGHT):
            raise UsageError(
                f"{self.name} cannot be a judge: it refuses {_RIGHT!r} beside {_REFERENCE!r}"
            )
        self._checked = True

    def accepts(self, question: str, reference: str, answer: str) -> bool:
        """Whether the model finds the answer to a question the same as the reference.

        An answer without a letter or digit, or of more than 1,000 characters, is none, and the
        model is not asked. Raises JudgeFailed, and UsageError as `check`.
        """
        if len(answer) > _LONGEST or not any(map(str.isalnum, answer)):
            return False
        self.check()
        return self._ask(question, reference, answer)

    def _ask(self, question: str, reference: str, answer: str) -> bool:
        key = question, reference, answer
        if key not in self._replies:
            names = "question", "reference answer", "student's answer"
            case = json.dumps(dict(zip(names, key, strict=True)), ensure_ascii=False)
            verdict = _verdict(self._reply(case))
            if len(self._replies) >= _KEPT:
                self._replies.clear()
            self._replies[key] = verdict
        return self._replies[key]

    def _reply(self, case: str) -> str:
        """The model's whole reply, "" if it is cut off or withheld."""
        try:
            if callable(self._model):
                return str(self._model(f"{_INSTRUCTION}\n\n{case}"))
            completion = self._model.complete(_INSTRUCTION, case, 0)
        except NoCompletion:
            return ""
        except Exception as fault:  # a caller's function may raise anything
            raise JudgeFailed(f"the judge could not be asked: {reason_of(fault)}") from fault
        return completion.text if completion.finish_reason == "stop" else ""


def _verdict(reply: str) -> bool:
    """What the last line of a reply says. Raises JudgeFailed for one that is no verdict."""
    last = reply.strip().rpartition("\n")[2].strip(" *`.")
    if last not in _VERDICTS:
        raise JudgeFailed(f"the judge gave no verdict but {last[:40]!r}")
    return _VERDICTS[last]
