"""Integers of 64 bits, as natively: numpy's own default has 32 here, where an address has 32.

The code of programs and tests is changed before it is compiled, and nothing in the libraries:

- `w(call)`, `w(a * b)`: an array or a number of numpy's default type, which crosses into this code,
  becomes one of 64 bits at once. Arrays are made of numbers that fit, so nothing is lost by then.
- `u(np.power, 2, 40)`: lists and numbers have 64 bits before numpy computes with them.
- `dtype=int` means 64 bits, and `np.int32` a type of 32 bits that is not numpy's default.

Where a number of 32 bits may have been computed within a library, the host is told.
"""
# ruff: noqa: ANN401 - values of any type pass

import ast
import builtins
import functools
import gc
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

_doubts: list[Callable[[], None]] = []  # whom to tell the first time
_WIDE = {"l": np.int64, "L": np.uint64}
_SMALL = re.compile(r"int32|int16|intc|\b[<>=]?[iu][24]\b")
# Calls whose result of 32 bits is right: counts, and positions in arrays.
_EXACT_WORDS = (
    "argmax argmin argpartition argsort argwhere arange array asarray asanyarray bincount "
    "binomial ceil choice clip concatenate copy count count_nonzero cumsum diag digitize "
    "factorize fill_diagonal flatnonzero flatten flip floor full full_like get_indexer "
    "get_loc histogram hstack indices integers item len lexsort max maximum mgrid min minimum "
    "nonzero ogrid ones_like permutation poisson randint ravel ravel_multi_index repeat "
    "reshape round searchsorted shuffle sign sort split squeeze stack sum tile tolist tri "
    "trunc unique unravel_index vstack where zeros_like ascontiguousarray atleast_1d "
    "atleast_2d array_split broadcast_to column_stack delete diff dstack eye fromiter "
    "fromfunction identity insert append abs absolute negative linspace loadtxt genfromtxt "
    "meshgrid pad roll rot90 take transpose triu tril geometric multinomial hypergeometric "
    "negative_binomial random_integers nunique nanmax nanmin nansum ptp median argrelextrema "
    "ndenumerate amax amin isin select piecewise rint fix to_numpy sample astype compress "
    "extract setdiff1d union1d intersect1d setxor1d unwrap fromstring frombuffer bool int "
    "float divmod next getattr pop get heappop popleft choose predict fit_predict "
    "fit_transform transform inverse_transform confusion_matrix rankdata floor_divide mod "
    "remainder fmod gcd logical_and bitwise_and bitwise_or bitwise_xor invert"
)
_EXACT = frozenset(_EXACT_WORDS.split())
# Calls that compute with lists and numbers that they are given.
_COMPUTING_WORDS = (
    "accumulate add convolve correlate cross cumprod cumsum cumulative_prod cumulative_sum diff "
    "dot ediff1d einsum inner kron lcm left_shift matmul matrix_power multi_dot multiply "
    "nancumprod nancumsum nanprod nansum outer polyadd polymul polysub polyval power prod "
    "reduce square subtract sum tensordot trace trapezoid vander vdot"
)
_COMPUTING = frozenset(_COMPUTING_WORDS.split())
_MAKING_WORDS = (
    "arange array asarray astype can_cast cumprod cumsum dtype empty empty_like eye "
    "frombuffer fromfunction fromiter fromstring full full_like identity iinfo indices "
    "issubdtype linspace loadtxt ones ones_like prod promote_types result_type sum tri view "
    "zeros zeros_like"
)
_MAKING = frozenset(_MAKING_WORDS.split())
_INT_NAMES = {"int": "@int64", "int_": "@int64", "intp": "@int64", "uint": "@uint64"}
_INT_TEXTS = {"int": "int64", "intp": "int64", "uint": "uint64", "l": "int64", "L": "uint64"}
_INT_TEXTS |= {"int32": "intc", "i4": "intc", "<i4": "intc", "uint32": "uintc", "u4": "uintc"}
_NUMPY_NAMES = {**_INT_NAMES, "int32": "@int32", "uint32": "@uint32", "long": "@int64"}
_ndarray, _int32, _uint32 = np.ndarray, np.int32, np.uint32


def _doubt() -> None:
    while _doubts:
        _doubts.pop()()


def _array(value: Any, is_exact: bool) -> Any:
    kind = _WIDE.get(value.dtype.char)
    if kind is None:
        return value
    if not is_exact:
        _doubt()
    return value.astype(kind)


def _number(value: Any, is_exact: bool) -> Any:
    if not is_exact:
        _doubt()
    return (np.int64 if type(value) is _int32 else np.uint64)(value)


def _tuple(value: Any, is_exact: bool) -> Any:
    if not any(type(each) in _HANDLERS for each in value):
        return value
    return tuple([widened(each, is_exact) for each in value])


_HANDLERS: dict[type, Callable[[Any, bool], Any]] = {
    _ndarray: _array, _int32: _number, _uint32: _number, tuple: _tuple,
}  # fmt: skip
_handler = _HANDLERS.get


def widened(value: Any, is_exact: bool) -> Any:
    handler = _handler(type(value))
    return value if handler is None else handler(value, is_exact)


def x(value: Any) -> Any:
    """Return the result of a call that is right, with 64 bits."""
    handler = _handler(type(value))
    return value if handler is None else handler(value, True)


def w(value: Any) -> Any:
    """Return the result of a call with 64 bits; doubt it if it had 32."""
    handler = _handler(type(value))
    return value if handler is None else handler(value, False)


def s(value: Any) -> Any:
    """Return a sum or the like with 64 bits, also in a series."""
    if type(value) is pd.Series and value.dtype in (_int32, _uint32):
        kind = _WIDE.get(value.dtype.char)
        return value if kind is None else value.astype(kind)
    return x(value)


def d(value: Any) -> Any:
    """Return what depends on how many bytes an address has."""
    _doubt()
    return value


def _first(value: Any) -> Any:
    while type(value) in (list, tuple) and value:
        value = value[0]
    return value


def _listed(value: Any) -> Any:
    """Return a list of numbers as an array of 64 bits; anything else as it is."""
    if type(value) not in (list, tuple, range) or type(_first(value)) not in (int, bool, range):
        return value
    try:
        made = np.array(value)
    except (ValueError, OverflowError):
        return value
    return x(made) if made.dtype != object else value


def u(function: Any, *args: Any, **named: Any) -> Any:
    """Call a function of numpy, or another of the same name."""
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        most = len(args) if function.__name__ == "outer" else 1
        wide = [_listed(each) if at < most else each for at, each in enumerate(args)]
        return function(*wide, **named)
    owner = getattr(function, "__module__", None) or ""
    is_ufunc = isinstance(function, np.ufunc)
    if not (is_ufunc or owner.startswith("numpy")) or isinstance(function, types.MethodType):
        owner = getattr(function, "__self__", None)
        if isinstance(owner, _ndarray) and owner.dtype.char in "bBhHiI?" and not args:
            named.setdefault("dtype", np.uint64 if owner.dtype.char in "BHI" else np.int64)
            try:
                return function(**named)
            except TypeError:
                del named["dtype"]
        return function(*args, **named)
    if is_ufunc:
        wide = [_listed(each) for each in args]
        if (
            wide
            and all(type(each) in (int, bool) for each in wide)
            and any(type(each) is int for each in wide)
        ):
            wide = [np.int64(e) if type(e) is int and -(2**63) <= e < 2**63 else e for e in wide]
    elif function.__name__ == "einsum":
        wide = [_listed(each) for each in args]
    elif function.__name__ == "multi_dot":
        wide = [[_listed(each) for each in args[0]], *args[1:]]
    else:
        two = function.__name__ in _PAIRS
        wide = [_listed(each) if at < (2 if two else 1) else each for at, each in enumerate(args)]
        name = function.__name__
        if name in _SUMS and "dtype" not in named and len(wide) < 3 and wide:
            kind = getattr(wide[0], "dtype", None)
            char = kind.char if type(wide[0]) is _ndarray and kind is not None else ""
            if char and char in "bBhHiI?":
                named["dtype"] = np.uint64 if char in "BHI" else np.int64
    return function(*wide, **named)


_PAIRS_WORDS = (
    "convolve correlate cross dot inner kron outer polyadd polymul polysub polyval tensordot vdot"
)
_PAIRS = frozenset(_PAIRS_WORDS.split())
_SUMS_WORDS = "sum prod cumsum cumprod trace"
_SUMS = frozenset(_SUMS_WORDS.split())


# --- code --------------------------------------------------------------------------------------


class _Widening(ast.NodeTransformer):
    """Puts the functions above around expressions."""

    def __init__(self, has_small: bool) -> None:
        self._has_small = has_small
        self._numpy = {"np", "numpy"}

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else ""
        is_attribute = bool(name)
        name = name or (function.id if isinstance(function, ast.Name) else "")
        if name in _SPECIAL:
            return self.generic_visit(node)
        if is_attribute:
            if name in _MAKING:
                node.args = [self._kind(each) for each in node.args]
            for word in node.keywords:
                if word.arg in ("dtype", "dtypes"):
                    word.value = self._kind(word.value)
        self.generic_visit(node)
        if name in ("getsizeof", "memory_usage") or (name == "info" and not node.args):
            return _around("@d", node)
        if is_attribute and name in _COMPUTING:
            node = ast.copy_location(
                ast.Call(_name("@u"), [node.func, *node.args], node.keywords), node
            )
            return _around("@s" if not self._has_small or name == "sum" else "@w", node)
        is_exact = name in _EXACT and not (self._has_small and name in _COMPUTING)
        return _around("@x" if is_exact else "@w", node)

    def _kind(self, node: ast.expr) -> ast.expr:
        """Return the expression of a dtype, with integers of 64 bits."""
        if isinstance(node, ast.Name) and node.id == "int":
            return ast.copy_location(_name("@int64"), node)
        if isinstance(node, ast.Constant) and type(node.value) is str:
            return ast.copy_location(ast.Constant(_INT_TEXTS.get(node.value, node.value)), node)
        if isinstance(node, ast.Dict):
            node.values = [self._kind(each) for each in node.values]
        elif isinstance(node, ast.List | ast.Tuple):
            node.elts = [self._kind(each) for each in node.elts]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        is_made = isinstance(node.value, ast.Attribute) and node.value.attr in _GRIDS
        return _around("@x", node) if is_made else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        operands = [node.left, *node.comparators]
        if any(isinstance(each, ast.Attribute) and each.attr == "dtype" for each in operands):
            node.left, *node.comparators = map(self._kind, operands)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return node
        is_exact = not self._has_small and not isinstance(node.op, ast.LShift | ast.Pow)
        return _around("@x" if is_exact else "@w", node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id in self._numpy and node.attr in _NUMPY_NAMES:
            return ast.copy_location(_name(_NUMPY_NAMES[node.attr]), node)
        return node

    def visit_Import(self, node: ast.Import) -> Any:
        self._numpy |= {each.asname or "numpy" for each in node.names if each.name == "numpy"}
        return node


_GRIDS_WORDS = "c_ mgrid ogrid r_"
_GRIDS = frozenset(_GRIDS_WORDS.split())
_SPECIAL_WORDS = "super locals globals vars dir print isinstance"
_SPECIAL = frozenset(_SPECIAL_WORDS.split())


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _around(name: str, node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(_name(name), [node], []), node)


def compiled(source: Any, filename: str, mode: str, **options: Any) -> Any:
    """As `compile`, with integers of 64 bits."""
    is_text = isinstance(source, str)
    tree = ast.parse(source, filename, mode) if is_text else source
    try:
        text = source if is_text else ast.unparse(tree)
        tree = ast.fix_missing_locations(_Widening(bool(_SMALL.search(text))).visit(tree))
        return compile(tree, filename, mode, **options)
    except RecursionError:
        return compile(source, filename, mode, **options)


# --- the libraries -----------------------------------------------------------------------------


def _members(kind: type) -> dict[str, Any]:
    """Return the dictionary of a class that is written in C, which refuses to be changed."""
    return next(each for each in gc.get_referents(vars(kind)) if type(each) is dict)


def _retried(function: Any) -> Any:
    """Return a method that takes positions of 64 bits, where C wants those of this machine."""

    def method(self: Any, *args: Any, **named: Any) -> Any:
        try:
            return function(self, *args, **named)
        except TypeError as error:
            if "according to the rule 'safe'" not in str(error):
                raise
        narrow = [_narrow(each) for each in args]
        return function(self, *narrow, **{name: _narrow(each) for name, each in named.items()})

    return functools.wraps(function)(method)


def _narrow(value: Any) -> Any:
    if isinstance(value, _ndarray) and value.dtype.kind in "iu":
        return value.astype(np.intp)
    return value


def _drawn(function: Any) -> Any:
    """Return `randint`, which draws 64 bits a number natively unless told otherwise."""

    def randint(self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        if dtype is not int:
            return function(self, low, high, size, dtype)
        drawn = function(self, low, high, size, np.int64)
        return int(drawn) if size is None and np.ndim(drawn) == 0 else drawn

    return functools.wraps(function)(randint)


def install(doubt: Callable[[], None]) -> None:
    """Put all of this in place. `doubt` is called once, at the first doubtful integer."""
    _doubts.append(doubt)
    places = {"@w": w, "@x": x, "@s": s, "@u": u, "@d": d, "@int64": np.int64, "@uint64": np.uint64}
    vars(builtins).update(places, **{"@int32": np.intc, "@uint32": np.uintc})
    array, ufunc, state = map(_members, (np.ndarray, np.ufunc, np.random.RandomState))
    for name in ("choose", "put", "repeat", "take"):
        array[name] = _retried(array[name])
    ufunc["reduceat"] = _retried(ufunc["reduceat"])
    state["randint"] = _drawn(state["randint"])
    sys._clear_internal_caches()
    np.random.randint = types.MethodType(np.random.RandomState.randint, np.random.mtrand._rand)
    implied = np._core.arrayprint._typelessdata  # whose arrays are shown without their type
    implied[:] = [np.int64, *(each for each in implied if each is not np.int_)]
    sys.maxsize = 2**63 - 1
