"""Bounds on everything: what a text may hold, and how much work one comparison may do.

Nothing here interrupts running code. Each step is small because its operands were measured first,
and the loops between the steps count their work and look at a clock. So the bounds hold in any
thread.
"""

import time
from fractions import Fraction

MAX_CHARACTERS = 4_000  # of one extracted answer; the longest MATH answer has about 200
MAX_TOKENS = 1_500
MAX_DEPTH = 40  # nested groups; each costs the parser eight Python frames
MAX_DIGITS = 1_000  # of one numeral
MAX_MEMBERS = 200  # of one list, set or matrix
MAX_SERIES = 2_000  # operations of one sum, determinant or product of matrices, written out
MAX_SIGNS = 4  # plus-minus signs of one expression, each free
MAX_EXACT_BITS = 20_000  # of one exact numerator or denominator
MAX_EXPONENT = 5_000  # of ten in scientific notation
MAX_FACTORIAL = 2_080  # the largest whose value has no more bits
MAX_POWER_BITS = 48  # of an exponent times the logarithm of its base, in numeric evaluation
MAX_TERMS = 300  # of one expanded polynomial
MAX_EXPANSION = 100_000  # operations on small coefficients in the expansion of two expressions
MAX_POLYNOMIAL_DEGREE = 64  # of one power that is expanded
MAX_VARIABLES = 12
MAX_WORK = 200_000  # steps of one comparison, a step being some microseconds
CLOCK_INTERVAL = 64  # steps between two looks at the clock


def bits(value: int | Fraction) -> int:
    """The size of an exact number: that of its numerator or denominator, whichever is longer."""
    top, bottom = value.numerator.bit_length(), value.denominator.bit_length()
    return top if top > bottom else bottom


class Unparsed(Exception):
    """The text is not mathematics that this package reads; the message says why."""


class OverBudget(Exception):
    """The text asks for more work or size than is allowed; the message says of what."""


class Unavailable(OverBudget):
    """A requirement is missing: sympy, or a process. The answer is not at fault."""


class OutOfTime(Exception):
    """The deadline passed."""


class NotReady(OutOfTime):
    """The deadline passed while sympy was still being loaded, which happens once in a process."""


class Undefined(Exception):
    """The expression has no value here: a division by zero, a logarithm of zero."""


class Budget:
    """The steps and the time that one comparison may still use. Not shared between threads."""

    __slots__ = ("deadline", "_left", "_until_clock")

    def __init__(self, timeout: float, work: int = MAX_WORK) -> None:
        self.deadline = time.monotonic() + timeout
        self._left = work
        self._until_clock = 1

    def spend(self, steps: int = 1) -> None:
        """Use `steps` of the budget. Raises OverBudget or OutOfTime if it is exhausted."""
        self._left -= steps
        if self._left < 0:
            raise OverBudget("too much work")
        self._until_clock -= steps
        if self._until_clock <= 0:
            self._until_clock = CLOCK_INTERVAL
            if time.monotonic() >= self.deadline:
                raise OutOfTime("the deadline passed")
