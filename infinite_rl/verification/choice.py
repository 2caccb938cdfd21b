"""The choice of new tests among the inputs of a search: few, near, and with all of its kills."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Sized
from dataclasses import dataclass, field

from .forms import Check
from .inputs import CallInput

_DIVERSE = 12  # new tests that a row gets if there are as many inputs, whatever they kill
_STDIN_TESTS = 24  # at most: each is one run of every verdict


@dataclass(frozen=True)
class Candidates:
    """Inputs that may become tests, by number: each as a test, with its distance (see `distances`).

    `killers` has the mutants that an input kills, `kinds` the kind of an input that the task means.
    `length` is the usual one of an input of the row's tests, in characters.
    """

    length: int
    checks: list[Check] = field(default_factory=list)
    distances: list[int] = field(default_factory=list)
    killers: dict[int, set[int]] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)

    def add(self, checks: Sequence[tuple[Check, int]]) -> range:
        """Add tests with their distances; their numbers."""
        before = len(self.checks)
        self.checks.extend(check for check, _ in checks)
        self.distances.extend(distance for _, distance in checks)
        return range(before, len(self.checks))

    def kills(self, number: int) -> Collection[int]:
        """The mutants that an input kills."""
        return self.killers.get(number, ())

    def best(self, count: int) -> list[int]:
        """The inputs that kill most, the nearest first, in the order of their numbers."""
        order = range(len(self.checks))
        return sorted(sorted(order, key=lambda n: (-len(self.kills(n)), self._cost(n)))[:count])

    def chosen(
        self, pool: Sequence[int], survivors: set[int], killable: set[int], kills: int, most: int
    ) -> list[int]:
        """Choose up to `most` inputs of a pool: `kills` of them kill each killable mutant, if so
        many can. The first that kill survivors of the old tests come first, then the nearest.
        """
        need, pool = dict.fromkeys(killable, kills), list(pool)
        chosen: list[int] = []
        shapes: Counter[tuple[int, ...]] = Counter()  # of the chosen inputs: the rarer, the better

        def gain(number: int) -> tuple[float, ...]:
            needed = [mutant for mutant in self.kills(number) if need[mutant] > 0]
            first = sum(m in survivors and need[m] == kills for m in needed)
            worth = 2 * self.distances[number] - len(needed)
            return (-first, worth, shapes[_shape(self.checks[number])], *self._cost(number))

        while pool and len(chosen) < most:
            best = min(pool, key=gain)
            needed = [mutant for mutant in self.kills(best) if need[mutant] > 0]
            if not needed and (self.kinds or len(chosen) >= _DIVERSE):
                break
            chosen.append(best)
            pool.remove(best)
            shapes[_shape(self.checks[best])] += 1
            for mutant in needed:
                need[mutant] -= 1
        if self.checks and isinstance(self.checks[0].input, str):
            most = _STDIN_TESTS
        chosen += self._of_kinds(chosen, most - len(chosen))
        return sorted(chosen, key=self._cost)

    def _of_kinds(self, chosen: Sequence[int], count: int) -> Iterator[int]:
        """More inputs that the task means: each kind in turn, and of a kind a new value first."""
        turns, values = Counter[str](), {str(self.checks[n].value) for n in chosen}
        rest = {number: kind for number, kind in self.kinds.items() if number not in chosen}
        for _ in range(min(count, len(rest))):
            best = min(rest, key=lambda n: (turns[rest[n]], str(self.checks[n].value) in values, n))
            turns[rest.pop(best)] += 1
            values.add(str(self.checks[best].value))
            yield best

    def _cost(self, number: int) -> tuple[int, int, int]:
        """How much an input differs from those of the tests, in kind and in length."""
        length = len(str(self.checks[number].input))
        return self.distances[number], abs(length - self.length), number


def _shape(check: Check) -> tuple[int, ...]:
    """The lengths of an input's parts and of its value."""
    parts = check.input.args if isinstance(check.input, CallInput) else check.input.split("\n")
    sizes = (each if isinstance(each, Sized) else str(each) for each in (*parts, check.value))
    return tuple(map(len, sizes))
