"""Tests that decide: add inputs to a coding row's tests until no killable mutant passes them.

A search proposes inputs near those of the tests, the row's own program states their values, and
each mutant of the program runs on them. A mutant that no input of a stated number kills is presumed
equivalent. Then a small set with the same kills is chosen, the nearest inputs first: an input far
from the tests might be one that the task never meant. Programs run in the sandbox alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field, replace

from ..reward_functions.coding.judge import Caches, Judge
from ..reward_functions.coding.language import Runnable, in_language
from ..reward_functions.coding.programs import Submission
from ..reward_functions.coding.reference import Calls, Cases
from ..reward_functions.coding.reward import CodingRewardFunction
from ..reward_functions.reward_function import BadReference
from ..sandbox.executor import RewardExecutor
from ..types import Sample
from .aids import Aids
from .distances import FAR, NEAR, OTHER, REACHES
from .forms import Check, Form, Input, form_of
from .inputs import CallInput
from .mutation import Mutant, some_mutants
from .proposals import Proposals
from .trials import Trials

_ROUND = 50  # inputs of one round of the search
_STDIN_ROUND = 8  # each is one run
_LEAST_ROUND = 8
_DRY_ROUNDS = 4  # without a new kill, after which the search ends
_DIVERSE = 12  # new tests that a row gets if there are as many inputs, whatever they kill
_LISTED = 5  # witnesses
_ENOUGH = 120  # inputs of which the new tests are chosen
_UNUSUAL = 24  # inputs of a generator, each of which is taken as a kind of its own
_RANDOM = 12  # kinds of its further inputs
_MOST_VARIED = 240  # inputs by kind that run
_STDIN_TESTS = 24  # at most: each is one run of every verdict
_PARENTS = 200  # inputs that later ones are made of
_VALUE_CHARS = 60  # of a value, by which values are different
_TIMEOUT_S = 10.0  # for a run whose fuel is the limit


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
class Witness:
    """A wrong program that the old tests accept, and the new test that rejects it."""

    change: str
    code: str
    test: str


@dataclass(frozen=True)
class Strengthened:
    """The row's answer with more tests, and what the search found.

    `why` says why a row is left alone, "" if it is not; then `answer` is the old one. Of `mutants`
    programs with something wrong, the old tests kill `killed_before`, and the old and new tests
    `killed`; `killable` are killed by any input of the search, the others presumed equivalent. The
    sources of those that only an input beyond the reach kills are `far`. `survivors` are wrong
    programs that the old tests accept, with a witness. `voters` other solutions pass the old tests;
    `disagreements` are inputs for which most of them have another value; `validated` says that a
    validator accepts them.
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
    search: SearchLimits | None = None,
    aids: Aids | None = None,
) -> Strengthened:
    """Add tests to a row, computed by the program in its response.

    A row is left alone if its program fails its own tests, if it has no tests that call a function
    with literals or give a standard input, or if the program has no stable values.

    Raises:
        RuntimeMissing, SandboxError: nothing can be run.
    """
    search, aids = search or SearchLimits(), aids or Aids()
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
    row = _Row(sample, reward, form, code, search, aids)
    return row.strengthened()


@dataclass
class _Row:
    """The search for one row."""

    sample: Sample
    reward: CodingRewardFunction
    form: Form
    code: str
    search: SearchLimits
    aids: Aids
    killers: dict[int, set[int]] = field(default_factory=dict)  # input -> mutants that it kills
    checks: list[Check] = field(default_factory=list)
    distances: list[int] = field(default_factory=list)
    kinds: dict[int, str] = field(default_factory=dict)  # of inputs that the task means
    disagreements: list[str] = field(default_factory=list)

    def strengthened(self) -> Strengthened:
        self.trials = Trials(RewardExecutor(), self.form)
        seed = self.search.seed or self.sample.id
        lengths = sorted(len(str(each)) for each in self.form.seen)
        self._length = lengths[len(lengths) // 2]
        self.shown = self.trials.calibrate(self.code)
        if not self.shown:
            return Strengthened(self.sample.answer, "its program has no plain values")
        self._size = self._round_size()
        self.mutants = self._mutants(seed)
        reference = in_language(self.form.reference, self.form.language)
        alive = {n for n, each in enumerate(self.mutants) if self._accepts(reference, each.code)}
        accepted = sorted(alive)
        self.proposals = self._proposals()
        seconds = [each for each in self.aids.seconds if self._accepts(reference, each)]
        self.seconds = [(each, self.trials.of_others()) for each in seconds]
        self._validator()
        self._generated()
        self._varied()
        alive = self._rounds(alive)
        far = self._far(alive)
        chosen = self._chosen(set(accepted) - alive, set(range(len(self.mutants))) - alive)
        if not chosen:
            return self._left("no new input near the tests' has a value")
        return self._result(accepted, alive, far, chosen)

    def _left(self, why: str) -> Strengthened:
        return Strengthened(
            self.sample.answer,
            why,
            mutants=len(self.mutants),
            voters=len(self.seconds),
            disagreements=tuple(self.disagreements),
            validated=bool(self.validator),
        )

    def _proposals(self) -> Proposals:
        form, seed = self.form, self.search.seed or self.sample.id
        return Proposals(form.seen, self.code, form.language, self.sample.prompt, seed)

    def _mutants(self, seed: str) -> list[Mutant]:
        language, search = self.form.language, self.search
        first = list(some_mutants(language, self.code, search.mutants, seed))
        chosen = {each.code: each for each in first}
        for number, each in enumerate(first[: search.pairs]):
            for second in some_mutants(language, each.code, 1, f"{seed}/{number}"):
                change = f"{each.change}, {second.change}"
                chosen.setdefault(second.code, Mutant(change, second.code))
        return list(chosen.values())

    def _accepts(self, reference: Runnable, code: str) -> bool:
        judge = Judge(RewardExecutor(fuel=self.trials.fuel), _TIMEOUT_S, Caches())
        submission = Submission(1.0, code)
        return judge.verdict(submission, reference, self.form.language, fast=True).passed

    def _round_size(self) -> int:
        """How many inputs run in one go: fewer if those of the tests take long."""
        if isinstance(self.form.seen[0], str):
            return _STDIN_ROUND
        each = self.trials.spent // len(self.form.seen) or 1
        return max(_LEAST_ROUND, min(_ROUND, self.trials.fuel // each // 2))

    def _is_spent(self) -> bool:
        return self.trials.spent >= self.search.fuel

    # --- the search --------------------------------------------------------------------------

    def _validator(self) -> None:
        """Set the reach: a validator that tells inputs apart knows what the task means, and no
        distance is needed. One that refuses the tests' own inputs, or nothing, is not asked.
        """
        self.reach, self.validator = REACHES[self.search.reach], ""
        if not (validator := self.aids.validator):
            return
        proposed = self._proposals().next(_ROUND, OTHER)
        strange = [point for point, distance in proposed if distance >= FAR]
        if isinstance(first := self.form.seen[0], CallInput):  # None suits hardly any task
            strange.append(first._replace(args=(None,) * len(first.args)))
        accepts_shown = all(self.trials.valid(validator, self.form.seen))
        if accepts_shown and not all(self.trials.valid(validator, strange)):
            self.reach, self.validator = FAR, validator

    def _generated(self) -> None:
        """Add the inputs of the author's generator: what it gives counts as near.

        Those on which another solution agrees are kept: a person's mistake is no mutant.
        """
        if not self.aids.generator:
            return
        points = self.trials.generated(self.aids.generator, self.search.inputs // 4)
        fresh = self.proposals.unseen(points)
        distances = [self.proposals.distance(point) for point in fresh]
        most = OTHER if self._has_vote() else FAR
        pairs = zip(fresh, distances, strict=True)
        new = self._add([(point, min(d, NEAR)) for point, d in pairs if d <= most])
        if self.seconds:  # each of the first ones is a kind of its own
            kinds = (n if n < _UNUSUAL else _UNUSUAL + n % _RANDOM for n in range(len(new)))
            self.kinds |= dict(zip(new, map(str, kinds), strict=True))

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
            self.kinds[number] = kinds[str(self.checks[number].input)]

    def _has_vote(self) -> bool:
        return bool(self.validator and self.seconds)

    def _rounds(self, alive: set[int]) -> set[int]:
        """Propose inputs until several rounds kill nothing new; the mutants that are left."""
        alive = alive - self._kills(alive, range(len(self.checks)))
        dry = tried = 0
        outputs: set[str] = set()
        while tried < self.search.inputs and dry < _DRY_ROUNDS and (alive or tried < _ENOUGH):
            if self._is_spent():
                break
            proposed = list(self.proposals.next(self._size, self.reach))
            tried += self._size
            new = self._add(proposed)
            dead = self._kills(alive, new)
            for number in new:
                value = str(self.checks[number].value)[-_VALUE_CHARS:]
                if self.killers.get(number) or value not in outputs:
                    outputs.add(value)
                    self.proposals.parents.append(self.checks[number].input)
            self.proposals.parents = self.proposals.parents[-_PARENTS:]
            dry = 0 if dead else dry + 1
            alive = alive - dead
        return alive

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
        if self.seconds:
            new = self._agreed(new)
        before = len(self.checks)
        self.checks += [check for check, _ in new]
        self.distances += [distance for _, distance in new]
        return range(before, len(self.checks))

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
        self.disagreements += [self._shown(each[0]) for each, vote in tallied if vote < 0]
        return [each for each, vote in tallied if vote > 0]

    def _kills(self, alive: set[int], new: range) -> set[int]:
        """Run mutants on new inputs, and note which input kills which."""
        return {mutant for mutant in sorted(alive) if self._is_killed(mutant, new)}

    def _is_killed(self, mutant: int, numbers: Sequence[int]) -> bool:
        """Run a mutant on inputs, and note which kill it."""
        checks, is_killed = [self.checks[number] for number in numbers], False
        outcomes = self.trials.outcomes(self.mutants[mutant].code, checks, until_killed=True)
        for number, passed in zip(numbers, outcomes, strict=False):
            if not passed:
                self.killers.setdefault(number, set()).add(mutant)
                is_killed = True
        return is_killed

    def _far(self, alive: set[int]) -> tuple[str, ...]:
        """The mutants that only inputs beyond the reach kill. None of these inputs is added."""
        if self.reach >= FAR or not alive:
            return ()
        points = [point for point, d in self.proposals.next(self._size, FAR) if d > self.reach]
        checks = [each for each in self.trials.stated(self.code, points) if each]
        codes = [self.mutants[n].code for n in sorted(alive)]
        return tuple(code for code in codes if not all(self.trials.outcomes(code, checks)))

    # --- the choice ------------------------------------------------------------------------------

    def _chosen(self, survivors: set[int], killable: set[int]) -> list[int]:
        """A small set of inputs: some kill each killable mutant, and the nearest come first."""
        order = sorted(
            range(len(self.checks)), key=lambda n: (-len(self._kills_of(n)), self._cost(n))
        )
        pool = sorted(order[:_ENOUGH])
        if not isinstance(self.form.reference, Cases):  # each of these would be one more run
            for mutant in sorted(killable):
                if not self._is_spent():
                    self._is_killed(mutant, pool)
        need = dict.fromkeys(killable, self.search.kills)
        chosen: list[int] = []
        shapes: Counter[tuple[int, ...]] = Counter()  # of the chosen inputs: the rarer, the better

        def gain(number: int) -> tuple[float, ...]:
            kills = [mutant for mutant in self._kills_of(number) if need[mutant] > 0]
            first = sum(m in survivors and need[m] == self.search.kills for m in kills)
            worth = 2 * self.distances[number] - len(kills)
            return (-first, worth, shapes[self._shape(number)], *self._cost(number))

        while pool and len(chosen) < self.search.max_tests:
            best = min(pool, key=gain)
            kills = [mutant for mutant in self._kills_of(best) if need[mutant] > 0]
            if not kills and (self.kinds or len(chosen) >= _DIVERSE):
                break
            chosen.append(best)
            pool.remove(best)
            shapes[self._shape(best)] += 1
            for mutant in kills:
                need[mutant] -= 1
        most = _STDIN_TESTS if isinstance(self.form.seen[0], str) else self.search.max_tests
        chosen += self._of_kinds(chosen, most - len(chosen))
        return sorted(chosen, key=self._cost)

    def _of_kinds(self, chosen: Sequence[int], count: int) -> list[int]:
        """More inputs that the task means: each kind in turn, and of a kind a new value first."""
        turns, values = Counter[str](), {str(self.checks[n].value) for n in chosen}
        rest = {number: kind for number, kind in self.kinds.items() if number not in chosen}
        more: list[int] = []
        while rest and len(more) < count:
            best = min(rest, key=lambda n: (turns[rest[n]], str(self.checks[n].value) in values, n))
            turns[rest.pop(best)] += 1
            values.add(str(self.checks[best].value))
            more.append(best)
        return more

    def _kills_of(self, number: int) -> set[int]:
        return self.killers.get(number, set())

    def _cost(self, number: int) -> tuple[int, int, int]:
        """How much an input differs from those of the tests, in kind and in length."""
        length = len(str(self.checks[number].input))
        return self.distances[number], abs(length - self._length), number

    def _shape(self, number: int) -> tuple[int, ...]:
        """The lengths of an input's parts and of its value."""
        check = self.checks[number]
        parts = check.input.args if isinstance(check.input, CallInput) else check.input.split("\n")
        sizes = (each if isinstance(each, Sized) else str(each) for each in (*parts, check.value))
        return tuple(map(len, sizes))

    def _result(
        self, accepted: Sequence[int], alive: set[int], far: tuple[str, ...], chosen: Sequence[int]
    ) -> Strengthened:
        """Judge the row with its new tests: its program must pass, and each kill is confirmed."""
        checks = [self.checks[n] for n in chosen]
        answer = self.form.extended(self.sample.answer, checks)
        stronger = replace(self.sample, answer=answer)
        total, before = len(self.mutants), len(self.mutants) - len(accepted)
        if not self.reward.score(stronger, self.sample.response).passed:
            return self._left("its program fails the new tests")
        reference, language = self.reward.reference(stronger)
        runnable, witnesses = in_language(reference, language), list[Witness]()
        for number in accepted:
            mutant = self.mutants[number]
            if number not in alive and not self._accepts(runnable, mutant.code):
                test = next((n for n in chosen if number in self._kills_of(n)), chosen[0])
                shown = self._shown(self.checks[test])
                witnesses.append(Witness(mutant.change, mutant.code, shown))
        return Strengthened(
            answer,
            added=len(checks),
            mutants=total,
            killed_before=before,
            killed=before + len(witnesses),
            killable=total - len(alive),
            inputs=len(self.checks),
            survivors=tuple(witnesses),
            equivalent=tuple(self.mutants[n].code for n in sorted(alive)),
            far=far,
            voters=len(self.seconds),
            disagreements=tuple(self.disagreements),
            validated=bool(self.validator),
        )

    def _shown(self, check: Check) -> str:
        """A test in a line: its text, or the input and the value."""
        if isinstance(check.input, str):
            return f"{check.input!r} prints {check.value!r}"
        if isinstance(self.form.reference, Calls):
            return f"{self.form.expression(check.input)} is {check.value!r}"
        return str(check.test)
