"""The closed form of an integral, a sum, a product, a limit or a derivative, by sympy.

This runs in a worker process, and there in a separate fork for each question: what hangs or
swells is killed alone, and the next question finds sympy loaded. sympy is given trees that are
built here by its constructors, never text. What it answers is checked against numerical values
before it is believed, and goes back as a tree of ours.
"""

import json
import math
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Plain = list[Any]  # [operation, content, [argument, ...]], as JSON has it

_MEMORY = 200 * 2**20  # bytes that one question may add to what the worker has
_CHECK_DIGITS = 12
_AGREEMENT = 1e-8
_LIMIT_STEP, _LIMIT_DIGITS, _LIMIT_AGREEMENT = "1e-30", 200, 1e-4
_SAMPLES = ("0.37", "0.71")  # of the parameters, where a result is checked


class NoClosedForm(Exception):
    """sympy finds no closed form, or none that can be written in our operations and checked."""


# --- in the worker -------------------------------------------------------------------------------


_X, _ONE = ["sym", "x", []], ["num", "1", []]
_FIRST_QUESTIONS: list[Plain] = [
    ["calculus", "int", [_X, _X, ["num", "0", []], _ONE]],
    ["calculus", "sum", [["div", None, [_ONE, ["mul", None, [_X, _X]]]], _X, _ONE,
     ["const", "inf", []]]],
]  # fmt: skip


def warm_up(_: None) -> str:
    """Load sympy and what its integrals build at first use; "" or why there is none."""
    try:
        import sympy
    except ImportError:
        return "sympy is not installed"
    x = sympy.Symbol("x", real=True)
    sympy.integrate(sympy.exp(-(x**2)) * sympy.cos(x), (x, 0, sympy.oo))
    sympy.limit(sympy.sin(x) / x, x, 0)
    for question in _FIRST_QUESTIONS:
        closed_form(question)  # its check builds tables, too, and each fork would build them anew
    return ""


def answer(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer the question in `job`: `{"tree": ...}` or `{"fault": "...", "timeout": bool}`."""
    timeout = float(job["timeout"])
    deadline = time.monotonic() + timeout
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _answer_and_exit(job["tree"], timeout, writer)
    os.close(writer)
    try:
        data = _read_until(reader, deadline)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if data is None:
        return {"fault": "the deadline passed", "timeout": True}
    if not data:
        return {"fault": "sympy died of it", "timeout": False}
    answer: Mapping[str, Any] = json.loads(data)
    return answer


def _answer_and_exit(tree: Plain, timeout: float, writer: int) -> None:
    try:
        _limit_process(timeout)
        answer: Mapping[str, Any] = {"tree": closed_form(tree)}
    except NoClosedForm as fault:
        answer = {"fault": str(fault), "timeout": False}
    except Exception as fault:  # whatever sympy raises: it has no closed form for us
        answer = {"fault": f"sympy gave up: {type(fault).__name__}", "timeout": False}
    try:
        left = memoryview(json.dumps(answer).encode("ascii"))
        while left:
            left = left[os.write(writer, left) :]
    finally:
        os._exit(0)


def _limit_process(timeout: float) -> None:
    import resource  # Unix only, as is fork

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # GMP says there that it dies for want of memory
    # If the worker itself is killed, no process is left to end this one.
    seconds = int(timeout) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return  # another system than Linux: the deadline bounds what can be filled
    most = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _read_until(reader: int, deadline: float) -> bytes | None:
    """Read until the other end closes; None if the deadline passes first."""
    pieces: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        piece = os.read(reader, 65536)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


# --- the question --------------------------------------------------------------------------------


def closed_form(tree: Plain) -> Plain:
    """The closed form of a tree whose root is `calculus`. Raises NoClosedForm."""
    return _plain(_Builder().build(tree))


class _Builder:
    """Our trees to sympy's, by its constructors."""

    def __init__(self) -> None:
        import sympy

        self.sympy = sympy
        self.whole: set[str] = set()  # names that stand for whole numbers

    def build(self, tree: Plain) -> Any:
        self._find_whole_names(tree)
        return self.node(tree)

    def _find_whole_names(self, tree: Plain) -> None:
        operation, content, args = tree
        if operation == "calculus" and content in ("sum", "prod"):
            self.whole |= _names(args[1]) | _names(args[2]) | _names(args[3])
        if operation in ("fact", "binom"):
            self.whole |= _names(tree)
        for arg in args:
            self._find_whole_names(arg)

    def node(self, tree: Plain) -> Any:
        operation, content, args = tree
        sympy = self.sympy
        if operation == "num":
            top, _, bottom = content.partition("/")
            return sympy.Rational(int(top), int(bottom or 1))
        if operation == "sym":
            if content in self.whole:
                return sympy.Symbol(content, integer=True, positive=True)
            return sympy.Symbol(content, real=True)
        if operation == "const":
            return _constants()[content]
        values = [self.node(arg) for arg in args]
        if operation == "calculus":
            return self.calculus(content, values)
        if operation == "fn":
            return self.function(content, values)
        make: dict[str, Callable[..., Any]] = {
            **{ours: getattr(sympy, theirs) for ours, theirs in _OPERATIONS.items()},
            **{"neg": lambda a: -a, "div": lambda a, b: a / b},
            "deg": lambda a: a * sympy.pi / 180,
        }
        if operation not in make:
            raise NoClosedForm(f"a {operation} inside of it")
        return make[operation](*values)

    def function(self, name: str, values: list[Any]) -> Any:
        sympy = self.sympy
        if name in ("log", "ln", "lg"):
            base = sympy.Integer(10) if name == "lg" else (values[1:] or [sympy.E])[0]
            return sympy.log(values[0], base)
        if name == "root":
            return sympy.root(values[0], values[1])
        kind = _NAMES.get(name) or (name if name in ("exp", "sqrt", "cbrt") else "")
        if not kind:
            raise NoClosedForm(f"the function {name} inside of it")
        return getattr(sympy, kind)(*values)

    def calculus(self, kind: str, values: list[Any]) -> Any:
        question = self.question(kind, values)
        result = _chosen(question.doit())
        _check(kind, question, result)
        return result

    def question(self, kind: str, values: list[Any]) -> Any:
        sympy = self.sympy
        body, name, *ends = values
        if kind == "int":
            return sympy.Integral(body, (name, *ends) if ends else name)
        if kind == "sum":
            return sympy.Sum(body, (name, *ends))
        if kind == "prod":
            return sympy.Product(body, (name, *ends))
        if kind == "diff":
            return sympy.Derivative(body, name)
        side = {"lim": "+-", "lim+": "+", "lim-": "-"}[kind]
        if ends[0] in (sympy.oo, -sympy.oo):
            side = "-" if ends[0] == sympy.oo else "+"
        return sympy.Limit(body, name, ends[0], side)


# Ours, and what sympy calls it.
_OPERATIONS = {"add": "Add", "mul": "Mul", "pow": "Pow", "fact": "factorial", "binom": "binomial"}
_NAMES = {name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "floor")}
_NAMES |= {"sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "ln": "log", "abs": "Abs"}
_NAMES |= {"ceil": "ceiling", "arcsin": "asin", "arccos": "acos", "arctan": "atan"}


def _constants() -> dict[str, Any]:
    import sympy

    return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}


def _names(tree: Plain) -> set[str]:
    operation, content, args = tree
    names = {content} if operation == "sym" else set()
    return names.union(*map(_names, args))


# --- the answer ----------------------------------------------------------------------------------


def _chosen(result: Any) -> Any:
    """The result; of one with conditions on its parameters the first case, the general one."""
    import sympy

    for piece in result.atoms(sympy.Piecewise):
        result = result.subs(piece, piece.args[0][0])
    if result.has(sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit, sympy.Derivative):
        raise NoClosedForm("no closed form is found")
    if result.has(sympy.nan, sympy.zoo) or isinstance(result, sympy.AccumBounds):
        raise NoClosedForm("it has no value")
    return result


def _plain(result: Any) -> Plain:
    """A sympy expression as a tree of ours."""
    import sympy

    if result.is_Rational:
        return ["num", f"{result.p}/{result.q}", []]
    if result.is_Symbol:
        return ["sym", result.name, []]
    for name, value in _constants().items():
        if result == value:
            return ["const", name, []]
    if result == -sympy.oo:
        return ["neg", None, [["const", "inf", []]]]
    args = [_plain(arg) for arg in result.args]
    if isinstance(result, sympy.exp):
        return ["pow", None, [["const", "e", []], *args]]
    kind = type(result).__name__
    for ours, theirs in _OPERATIONS.items():
        if theirs == kind:
            return [ours, None, args]
    for ours, theirs in _NAMES.items():
        if theirs == kind and len(args) == 1:
            return ["fn", ours, args]
    raise NoClosedForm(f"its closed form has {type(result).__name__} in it")


# --- the check -----------------------------------------------------------------------------------


def _check(kind: str, question: Any, result: Any) -> None:
    """Compare a result with numeric values of the question at sample parameters.

    sympy is sometimes wrong, mostly in integrals. A result that cannot be confirmed is rejected. A
    derivative needs no check.
    """
    if kind == "diff":
        return
    import sympy

    if not kind.startswith("lim") and result.has(sympy.oo):
        raise NoClosedForm("it does not converge")  # quadrature would try until the deadline
    for sample in _SAMPLES:
        names = question.free_symbols | result.free_symbols
        values = {
            name: sympy.Integer(6) if name.is_integer else sympy.Rational(sample) for name in names
        }
        claimed = result.subs(values)
        if kind.startswith("lim"):
            wanted = _near(question, values)
        elif kind == "prod":
            wanted = question.subs(values).doit()
        elif kind == "int" and len(question.limits[0]) == 1:
            wanted = question.function.subs(values)
            claimed = result.diff(question.limits[0][0]).subs(values)
        elif kind == "int" and (slopes := _slopes(question)):
            wanted = _integrate_oscillating(question, slopes)
        else:
            wanted = question.subs(values)
        agreement = _LIMIT_AGREEMENT if kind.startswith("lim") else _AGREEMENT
        if not _alike(wanted, claimed, agreement):
            raise NoClosedForm("its value could not be confirmed")
        if not names:
            return


def _slopes(question: Any) -> list[Any]:
    """Of an integral up to infinity the rational a in `sin(a x + b)`; none for other integrals.

    Nor for one with parameters: its value often depends on their signs.
    """
    import sympy

    name, _, high = question.limits[0]
    waves = question.function.atoms(sympy.sin, sympy.cos)
    slopes = [wave.args[0].diff(name) for wave in waves if wave.has(name)]
    if question.free_symbols or high != sympy.oo or question.function.has(sympy.exp):
        return []
    return slopes if all(slope.is_Rational for slope in slopes) else []


def _integrate_oscillating(question: Any, slopes: list[Any]) -> Any:
    """The integral summed wave by wave and extrapolated, as plain quadrature does not converge.

    That gives a value to a divergent integral too, so its waves must die away.
    """
    import mpmath
    import sympy

    name, low, _ = question.limits[0]
    wave = math.gcd(*[int(a.p) for a in slopes]) / mpmath.mpf(math.lcm(*[int(a.q) for a in slopes]))
    body = question.function
    if low == -sympy.oo:  # of an odd function the two halves would cancel, finite or not
        if body.subs(name, -name) != body:
            raise NoClosedForm("its halves are not alike")
        body, low = 2 * body, sympy.Integer(0)
    value = _compiled(body, name)
    with mpmath.workdps(20):
        early, late = (
            max(abs(value(start + share / mpmath.mpf(7))) for share in range(50))
            for start in (10**3, 10**7)
        )
        if late > early / 10:
            raise NoClosedForm("its waves do not die away")
        start = mpmath.mpmathify(low.evalf(25))
        return sympy.Float(mpmath.quadosc(value, [start, mpmath.inf], omega=wave))


def _compiled(node: Any, name: Any) -> Callable[[Any], Any]:
    """A function of one variable for mpmath, made of closures: no text is run."""
    import mpmath

    if node == name:
        return lambda at: at
    if not node.has(name):
        value = mpmath.mpmathify(node.evalf(25))
        return lambda _: value
    parts = [_compiled(arg, name) for arg in node.args]
    if node.is_Add:
        return lambda at: mpmath.fsum(part(at) for part in parts)
    if node.is_Mul:
        return lambda at: mpmath.fprod(part(at) for part in parts)
    if node.is_Pow:
        return lambda at: parts[0](at) ** parts[1](at)
    constants = {"sin": mpmath.sin, "cos": mpmath.cos, "log": mpmath.log, "Abs": abs}
    function = constants.get(node.func.__name__)
    if function is None:
        raise NoClosedForm("a function inside of it that is not checked")
    return lambda at: function(parts[0](at))


def _near(question: Any, values: Mapping[Any, Any]) -> Any:
    """The expression under a limit, near the point where it is taken."""
    import sympy

    body, name, point, side = question.args
    step = sympy.Float(_LIMIT_STEP, _LIMIT_DIGITS)  # an exact number might never end
    if point in (sympy.oo, -sympy.oo):
        nearby = (1 if point == sympy.oo else -1) / step
    else:
        nearby = point + (-step if str(side) == "-" else step)
    return body.subs({**values, name: nearby})


def _alike(first: Any, second: Any, agreement: float) -> bool:
    import sympy

    if second in (sympy.oo, -sympy.oo):
        value = sympy.N(first, _CHECK_DIGITS, maxn=400)
        return bool(value == second or (abs(value) > 10**6 and (value > 0) == (second > 0)))
    numbers = [complex(sympy.N(side, _CHECK_DIGITS, maxn=400)) for side in (first, second)]
    scale = max(map(abs, numbers))
    return abs(numbers[0] - numbers[1]) <= agreement * max(scale, 1e-20)
