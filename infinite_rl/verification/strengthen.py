"""Tests that decide: add inputs to a coding row's tests until no killable mutant passes them.

A search proposes inputs near those of the tests, the row's own program states their values, and
each mutant of the program runs on them. A mutant that no input of a stated number kills is presumed
equivalent. Then a small set with the same kills is chosen, the nearest inputs first: an input far
from the tests might be one that the task never meant. Programs run in the sandbox alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..reward_functions.coding.language import Runnable, in_language
from ..reward_functions.coding.reward import CodingRewardFunction
from ..reward_functions.reward_function import BadReference
from ..types import Sample
from .aids import Aids
from .forms import form_of
from .search import Search, SearchLimits


@dataclass(frozen=True)
class Witness:
    """A wrong program that the old tests accept, and the new test that rejects it."""

    change: str
    code: str
    test: str


@dataclass(frozen=True)
class Strengthened:
    """The row's answer with more tests, and what the search found.

    `why` says why a row is unchanged (`answer` is then the old one), "" if it is stronger. Of
    `mutants` programs with something wrong, the old tests kill `killed_before`, and the old and new
    tests `killed`; `killable` are killed by any input of the search, the others presumed
    equivalent. The sources of those that only an input beyond the reach kills are `far`.
    `survivors` are wrong programs that the old tests accept, with a witness. `voters` other
    solutions pass the old tests; `disagreements` are inputs for which most of them have another
    value; `validated` says that a validator accepts them.
    """

    answer: str
    why: str = ""
    added: int = 0
    mutants: int = 0
    killed_before: int = 0
    killed: int = 0
    killable: int = 0
    inputs: int = 0
    survivors: tuple[Witness, ...] = ()
    equivalent: tuple[str, ...] = ()
    far: tuple[str, ...] = ()
    voters: int = 0
    disagreements: tuple[str, ...] = ()
    validated: bool = False
    gold_fails: bool = False

    @property
    def recall(self) -> float | None:
        """The share of the killable mutants that the tests kill; None without any."""
        return self.killed / self.killable if self.killable else None


def strengthen(
    sample: Sample,
    reward: CodingRewardFunction,
    limits: SearchLimits | None = None,
    aids: Aids | None = None,
) -> Strengthened:
    """Add tests to a row, computed by the program in its response.

    A row is left alone if its program fails its own tests, if it has no tests that call a function
    with literals or give a standard input, or if the program has no stable values.

    Raises:
        RuntimeMissing, SandboxError: nothing can be run.
    """
    try:
        reference, language = reward.reference(sample)
    except BadReference as fault:
        return Strengthened(sample.answer, f"its answer cannot be read: {fault}")
    if language not in ("python", "javascript"):
        return Strengthened(sample.answer, f"programs in {language or 'no language'}")
    code = reward.program(sample)
    score = reward.score(sample, sample.response)
    if not score.passed:
        why = f"its own program fails its tests: {score.error_msg}"
        is_wrong = score.status == "failed" and "limit" not in score.details  # else it is slow
        return Strengthened(sample.answer, why, gold_fails=is_wrong)
    form = form_of(reference, code, language, sample.prompt)
    if form is None:
        return Strengthened(sample.answer, "no test compares a call of literals with a value")
    search = Search.of(sample, form, code, limits or SearchLimits(), aids or Aids())
    if search is None:
        return Strengthened(sample.answer, "its program has no plain values")
    alive = search.run()
    far = search.far(alive)
    chosen = search.chosen(alive)
    unchanged = Strengthened(
        sample.answer,
        "no new input near the tests' has a value",
        mutants=len(search.mutants),
        voters=len(search.seconds),
        disagreements=tuple(search.disagreements),
        validated=bool(search.validator),
    )
    if not chosen:
        return unchanged
    stronger = replace(
        sample, answer=form.extended(sample.answer, [search.candidates.checks[n] for n in chosen])
    )
    if not reward.score(stronger, sample.response).passed:
        return replace(unchanged, why="its program fails the new tests")
    before = len(search.mutants) - len(search.accepted)
    survivors = _survivors(search, alive, chosen, in_language(*reward.reference(stronger)))
    return replace(
        unchanged,
        answer=stronger.answer,
        why="",
        added=len(chosen),
        killed_before=before,
        killed=before + len(survivors),
        killable=len(search.mutants) - len(alive),
        inputs=len(search.candidates.checks),
        survivors=survivors,
        equivalent=tuple(search.mutants[n].code for n in sorted(alive)),
        far=far,
    )


def _survivors(
    search: Search, alive: set[int], chosen: Sequence[int], tests: Runnable
) -> tuple[Witness, ...]:
    """The mutants that the old tests accept and the chosen ones kill: each kill is confirmed."""
    candidates, witnesses = search.candidates, []
    for number in search.accepted:
        mutant = search.mutants[number]
        if number not in alive and not search.trials.accepts(mutant.code, tests):
            test = next((n for n in chosen if number in candidates.kills(n)), chosen[0])
            shown = search.shown_test(candidates.checks[test])
            witnesses.append(Witness(mutant.change, mutant.code, shown))
    return tuple(witnesses)
