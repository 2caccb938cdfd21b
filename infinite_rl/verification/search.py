"""The search for inputs, near those of a row's tests, that kill mutants of the row's program.

Inputs are proposed, the row's own program states their values, and each mutant runs on them.
Programs run in the sandbox alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..reward_functions.coding.language import in_language
from ..reward_functions.coding.reference import Calls, Cases
from ..sandbox.executor import RewardExecutor
from ..types import Sample
from .aids import Aids
from .choice import Candidates
from .distances import FAR, NEAR, OTHER, REACHES
from .forms import Check, Form, Input
from .inputs import CallInput
from .mutation import Mutant, some_mutants
from .proposals import Proposals
from .trials import Trials

_ROUND = 50  # inputs of one round of the search
_STDIN_ROUND = 8  # each is one run
_LEAST_ROUND = 8
_DRY_ROUNDS = 4  # without a new kill, after which the search ends
_ENOUGH = 120  # inputs of which the new tests are chosen
_UNUSUAL = 24  # inputs of a generator, each of which is taken as a kind of its own
_RANDOM = 12  # kinds of its further inputs
_MOST_VARIED = 240  # inputs by kind that run
_PARENTS = 200  # inputs that later ones are made of
_VALUE_CHARS = 60  # of a value, by which values are different


@dataclass(frozen=True)
class SearchLimits:
    """How much a search may try, and how far from the tests' own inputs it may go.

    `mutants` bounds the mutants of one change, `pairs` those of two, `inputs` the inputs that run,
    and `fuel` the instructions of these runs, after which no further round begins.
    Each mutant is killed by `kills` of the new tests, if so many inputs kill it. `reach` is
    "shown", "near" or "far" (see `distances`).
    """

    mutants: int = 150
    pairs: int = 30
    inputs: int = 600
    fuel: int = 2 * 10**10
    kills: int = 3
    max_tests: int = 120
    reach: str = "near"
    seed: str = ""


@dataclass(frozen=True)
class Search:
    """The search of one row, ready to run.

    `shown` are the program's values for the inputs of the row's tests, `accepted` the numbers of
    the mutants that these tests accept. `seconds` are other solutions that pass them, each with its
    runs. Inputs up to the distance `reach` are proposed, `size` in one round. `validator` is "" if
    there is none, or if it tells nothing apart.
    """

    limits: SearchLimits
    form: Form
    code: str
    trials: Trials
    shown: Sequence[Any]
    size: int
    mutants: Sequence[Mutant]
    accepted: Sequence[int]
    proposals: Proposals
    seconds: Sequence[tuple[str, Trials]]
    generator: str
    validator: str
    reach: int
    candidates: Candidates
    disagreements: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, sample: Sample, form: Form, code: str, limits: SearchLimits, aids: Aids
    ) -> Search | None:
        """Prepare the search of a row; None if its program has no plain values."""
        trials, seed = Trials(RewardExecutor(), form), limits.seed or sample.id
        shown = trials.calibrate(code)
        if not shown:
            return None
        mutants = _mutants(form.language, code, limits, seed)
        tests = in_language(form.reference, form.language)
        near = (form.seen, code, form.language, sample.prompt, seed)
        lengths = sorted(len(str(each)) for each in form.seen)
        is_used = _tells_apart(aids.validator, trials, Proposals(*near))
        return cls(
            limits, form, code, trials, shown,
            size=_round_size(trials),
            mutants=mutants,
            accepted=[n for n, each in enumerate(mutants) if trials.accepts(each.code, tests)],
            proposals=Proposals(*near),
            seconds=[(c, trials.of_others()) for c in aids.seconds if trials.accepts(c, tests)],
            generator=aids.generator,
            validator=aids.validator if is_used else "",
            # What a validator accepts is what the task means: no distance is needed.
            reach=FAR if is_used else REACHES[limits.reach],
            candidates=Candidates(lengths[len(lengths) // 2]),
        )  # fmt: skip

    def run(self) -> set[int]:
        """Search until several rounds kill nothing new; the mutants that are left."""
        self._generated()
        self._varied()
        alive = set(self.accepted)
        alive -= self._kills(alive, range(len(self.candidates.checks)))
        dry = tried = 0
        outputs: set[str] = set()
        while tried < self.limits.inputs and dry < _DRY_ROUNDS and (alive or tried < _ENOUGH):
            if self._is_spent():
                break
            proposed = list(self.proposals.next(self.size, self.reach))
            tried += self.size
            new = self._add(proposed)
            dead = self._kills(alive, new)
            for number in new:
                check = self.candidates.checks[number]
                value = str(check.value)[-_VALUE_CHARS:]
                if self.candidates.kills(number) or value not in outputs:
                    outputs.add(value)
                    self.proposals.parents.append(check.input)
            self.proposals.parents = self.proposals.parents[-_PARENTS:]
            dry = 0 if dead else dry + 1
            alive -= dead
        return alive

    def far(self, alive: set[int]) -> tuple[str, ...]:
        """The mutants that only inputs beyond the reach kill. None of these inputs is added."""
        if self.reach >= FAR or not alive:
            return ()
        points = [point for point, d in self.proposals.next(self.size, FAR) if d > self.reach]
        checks = [each for each in self.trials.stated(self.code, points) if each]
        codes = [self.mutants[n].code for n in sorted(alive)]
        return tuple(code for code in codes if not all(self.trials.outcomes(code, checks)))

    def chosen(self, alive: set[int]) -> list[int]:
        """The numbers of the inputs that become tests, once it has run."""
        killable, pool = set(range(len(self.mutants))) - alive, self.candidates.best(_ENOUGH)
        if not isinstance(self.form.reference, Cases):  # each of these would be one more run
            for mutant in sorted(killable):
                if not self._is_spent():
                    self._is_killed(mutant, pool)
        limits, survivors = self.limits, set(self.accepted) - alive
        return self.candidates.chosen(pool, survivors, killable, limits.kills, limits.max_tests)

    def shown_test(self, check: Check) -> str:
        """A test in a line: its text, or the input and the value."""
        if isinstance(check.input, str):
            return f"{check.input!r} prints {check.value!r}"
        if isinstance(self.form.reference, Calls):
            return f"{self.form.expression(check.input)} is {check.value!r}"
        return str(check.test)

    def _is_spent(self) -> bool:
        return self.trials.spent >= self.limits.fuel

    def _generated(self) -> None:
        """Add the inputs of the author's generator: what it gives counts as near.

        Those on which another solution agrees are kept: a person's mistake is no mutant.
        """
        if not self.generator:
            return
        points = self.trials.generated(self.generator, self.limits.inputs // 4)
        fresh = self.proposals.unseen(points)
        distances = [self.proposals.distance(point) for point in fresh]
        most = OTHER if self._has_vote() else FAR
        pairs = zip(fresh, distances, strict=True)
        new = self._add([(point, min(d, NEAR)) for point, d in pairs if d <= most])
        if self.seconds:  # each of the first ones is a kind of its own
            kinds = (n if n < _UNUSUAL else _UNUSUAL + n % _RANDOM for n in range(len(new)))
            self.candidates.kinds.update(zip(new, map(str, kinds), strict=True))

    def _varied(self) -> None:
        """Add inputs by kind, where a validator and another solution say whether they are meant."""
        if not self._has_vote():
            return
        kinds, turns = dict[str, str](), Counter[str]()
        ranked: list[tuple[int, Input]] = []
        for kind, point in self.proposals.varied():
            kinds.setdefault(str(point), kind)
            ranked.append((turns[kind], point))
            turns[kind] += 1
        ranked.sort(key=lambda each: each[0])  # the first of each kind, then the second
        points = self.proposals.unseen([point for _, point in ranked])[:_MOST_VARIED]
        for number in self._add([(point, FAR) for point in points]):
            self.candidates.kinds[number] = kinds[str(self.candidates.checks[number].input)]

    def _has_vote(self) -> bool:
        return bool(self.validator and self.seconds)

    def _add(self, proposed: Sequence[tuple[Input, int]]) -> range:
        """Keep the valid inputs: with a stable value, and no objection from the aids."""
        if self.validator:
            allowed = self.trials.valid(self.validator, [point for point, _ in proposed])
            proposed = [each for each, is_valid in zip(proposed, allowed, strict=True) if is_valid]
        stated = self.trials.stated(self.code, [point for point, _ in proposed])
        new = [
            (check, max(distance, self.proposals.value_distance(check.value, self.shown)))
            for check, (_, distance) in zip(stated, proposed, strict=True)
            if check
        ]
        new = [each for each in new if each[1] <= self.reach]
        return self.candidates.add(self._agreed(new) if self.seconds else new)

    def _agreed(self, new: list[tuple[Check, int]]) -> list[tuple[Check, int]]:
        """The tests that most of the other solutions pass; one that has no value has no vote."""
        votes, checks = [0] * len(new), [check for check, _ in new]
        for second, trials in self.seconds:
            agree = trials.passed(second, checks)
            others = [number for number, same in enumerate(agree) if not same]
            values = trials.values(second, [checks[number].input for number in others])
            differ = {number for number, value in zip(others, values, strict=True) if value}
            for number, same in enumerate(agree):
                votes[number] += same - (number in differ)
        tallied = list(zip(new, votes, strict=True))
        self.disagreements.extend(self.shown_test(each[0]) for each, vote in tallied if vote < 0)
        return [each for each, vote in tallied if vote > 0]

    def _kills(self, alive: set[int], new: range) -> set[int]:
        """Run mutants on new inputs, and note which input kills which."""
        return {mutant for mutant in sorted(alive) if self._is_killed(mutant, new)}

    def _is_killed(self, mutant: int, numbers: Sequence[int]) -> bool:
        """Run a mutant on inputs, and note which kill it."""
        checks, is_killed = [self.candidates.checks[number] for number in numbers], False
        outcomes = self.trials.outcomes(self.mutants[mutant].code, checks, until_killed=True)
        for number, passed in zip(numbers, outcomes, strict=False):
            if not passed:
                self.candidates.killers.setdefault(number, set()).add(mutant)
                is_killed = True
        return is_killed


def _mutants(language: str, code: str, limits: SearchLimits, seed: str) -> list[Mutant]:
    """Mutants of one change, and those of two."""
    first = list(some_mutants(language, code, limits.mutants, seed))
    chosen = {each.code: each for each in first}
    for number, each in enumerate(first[: limits.pairs]):
        for second in some_mutants(language, each.code, 1, f"{seed}/{number}"):
            change = f"{each.change}, {second.change}"
            chosen.setdefault(second.code, Mutant(change, second.code))
    return list(chosen.values())


def _round_size(trials: Trials) -> int:
    """How many inputs run in one go: fewer if those of the tests, just run, took long."""
    seen = trials.form.seen
    if isinstance(seen[0], str):
        return _STDIN_ROUND
    each = trials.spent // len(seen) or 1
    return max(_LEAST_ROUND, min(_ROUND, trials.fuel // each // 2))


def _tells_apart(validator: str, trials: Trials, proposals: Proposals) -> bool:
    """Whether a validator accepts the inputs of the tests, and refuses some that are far."""
    if not validator:
        return False
    strange = [point for point, d in proposals.next(_ROUND, OTHER) if d >= FAR]
    if isinstance(first := trials.form.seen[0], CallInput):  # None suits hardly any task
        strange.append(first._replace(args=(None,) * len(first.args)))
    accepts_shown = all(trials.valid(validator, trials.form.seen))
    return accepts_shown and not all(trials.valid(validator, strange))
