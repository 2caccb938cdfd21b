"""What crosses between the interpreters of numpy and pandas: by value, with dtype and shape.

Arrays, series and frames are replicas, as lists are: both sides have one, and a message carries the
content of those that changed. An object of a class that derives from one of these counts as what it
holds. Scalars, dtypes, indexes and points in time cross by value. All else of the libraries is a
stand-in.
"""
# ruff: noqa: ANN401 - values of any type cross

import base64
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from peer import Peer, _Replica
from values import NAMED, RAW, Refused, is_standard

_MODULES = ("numpy", "pandas", "scipy", "sklearn", "matplotlib", "seaborn", "statsmodels")
_LARGEST = 40_000_000  # bytes of one array: a message has at most 60 million characters
_FIXED = "biufcmMSU"  # kinds of dtypes whose items are bytes of one size
_KEEPS_ITEMS = (type(pd.NaT), type(pd.NA), pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval)
Forms = Callable[[Any], Any]


def _dtype_text(dtype: Any) -> str | None:
    """Return a dtype as text; None if its items are objects, or structured."""
    return dtype.str if type(dtype).__module__ == "numpy.dtypes" and dtype.kind in _FIXED else None


def _dtype(text: str) -> Any:
    if type(text) is not str or text.lstrip("<>|=")[:1] not in _FIXED:
        raise Refused("a dtype")
    return np.dtype(text)


# --- arrays ------------------------------------------------------------------------------------


def _array_parts(value: Any, encode: Forms) -> list[Any]:
    if value.nbytes > _LARGEST:
        raise OverflowError("the values are too large to cross")
    text = _dtype_text(value.dtype)
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    if text is not None:
        data = base64.b64encode(value.tobytes(order)).decode()
        return [text, [*value.shape], order, data]
    if value.dtype != object:
        raise Refused(f"an array of {value.dtype}")
    return ["O", [*value.shape], order, [encode(each) for each in value.ravel().tolist()]]


def _array(parts: list[Any], decode: Forms) -> Any:
    text, shape, order, data = parts
    if text == "O":
        flat = np.empty(len(data), dtype=object)
        for at, form in enumerate(data):
            flat[at] = decode(form)
        return flat.reshape(shape)
    flat = np.frombuffer(bytearray(base64.b64decode(data)), _dtype(text))
    return flat.reshape(shape, order="F" if order == "F" else "C")


# --- columns, indexes, frames ------------------------------------------------------------------


def _column_parts(value: Any, encode: Forms) -> list[Any]:
    """Return the parts of a column's array: of numpy, of categories, or of pandas' own dtypes."""
    if isinstance(value, np.ndarray):
        return ["a", *_array_parts(value, encode)]
    numbers = getattr(value, "_ndarray", None)
    if type(value) is pd.arrays.NumpyExtensionArray:
        return ["a", *_array_parts(value.to_numpy(), encode)]
    if isinstance(value, pd.Categorical):
        codes = _array_parts(np.asarray(value.codes), encode)
        return ["c", codes, _index_parts(value.categories, encode), bool(value.ordered)]
    if value.dtype.kind in "mM" and type(value.dtype).__name__ != "DatetimeTZDtype":
        return ["a", *_array_parts(numbers, encode)]
    return ["e", str(value.dtype), [encode(each) for each in value.tolist()]]


def _column(parts: list[Any], decode: Forms) -> Any:
    kind, *rest = parts
    if kind == "a":
        return _array(rest, decode)
    if kind == "c":
        codes, categories, is_ordered = rest
        kinds = pd.CategoricalDtype(_index(categories, decode), bool(is_ordered))
        return pd.Categorical.from_codes(_array(codes, decode), dtype=kinds)
    name, forms = rest
    items = [decode(form) for form in forms]
    if not all(type(each) in RAW or isinstance(each, _KEEPS_ITEMS) for each in items):
        raise Refused("the items of a column")
    return pd.array(items, dtype=str(name))


def _index_parts(value: Any, encode: Forms) -> list[Any]:
    kind = type(value)
    if kind is pd.RangeIndex:
        return ["r", value.start, value.stop, value.step, encode(value.name)]
    if kind is pd.MultiIndex:
        levels = [_index_parts(each, encode) for each in value.levels]
        codes = [_array_parts(np.asarray(each), encode) for each in value.codes]
        return ["m", levels, codes, [encode(each) for each in value.names]]
    frequency = getattr(value, "freqstr", None) if kind in _WITH_FREQUENCY else None
    return ["i", _column_parts(value.array, encode), encode(value.name), frequency]


_WITH_FREQUENCY = pd.DatetimeIndex, pd.TimedeltaIndex


def _index(parts: list[Any], decode: Forms) -> Any:
    kind, *rest = parts
    if kind == "r":
        return pd.RangeIndex(*rest[:3], name=decode(rest[3]))
    if kind == "m":
        levels, codes, names = rest
        return pd.MultiIndex(
            levels=[_index(each, decode) for each in levels],
            codes=[_array(each, decode) for each in codes],
            names=[decode(each) for each in names],
        )
    column, name, frequency = rest
    values = _column(column, decode)
    made = pd.Index(values, dtype=values.dtype, name=decode(name))
    if frequency is not None and isinstance(made, _WITH_FREQUENCY):
        made.freq = str(frequency)
    return made


def _series_parts(value: Any, encode: Forms) -> list[Any]:
    index = _index_parts(value.index, encode)
    return [_column_parts(value.array, encode), index, encode(value.name)]


def _series(parts: list[Any], decode: Forms) -> Any:
    column, index, name = parts
    values = _column(column, decode)
    return pd.Series(values, _index(index, decode), dtype=values.dtype, name=decode(name))


def _frame_parts(value: Any, encode: Forms) -> list[Any]:
    columns = [_column_parts(value.iloc[:, at].array, encode) for at in range(value.shape[1])]
    return [columns, _index_parts(value.columns, encode), _index_parts(value.index, encode)]


def _frame(parts: list[Any], decode: Forms) -> Any:
    columns, names, index = parts
    rows = _index(index, decode)
    series = []
    for each in columns:
        values = _column(each, decode)
        series.append(pd.Series(values, rows, dtype=values.dtype))
    made = pd.DataFrame(dict(enumerate(series)), index=rows)
    made.columns = _index(names, decode)
    return made


def _set_array(value: Any, new: Any) -> None:
    if value.dtype != new.dtype or value.shape != new.shape:
        raise Refused("an array of another shape")
    value[...] = new


def _set_frame(value: Any, new: Any) -> None:
    value._update_inplace(new)
    if isinstance(value, pd.Series):
        value.name = new.name


# By tag: the class, its parts, what is made of them, and how another content is put in its place.
_KINDS: dict[str, tuple[type, Any, Any, Any]] = {
    "nA": (np.ndarray, _array_parts, _array, _set_array),
    "nS": (pd.Series, _series_parts, _series, _set_frame),
    "nF": (pd.DataFrame, _frame_parts, _frame, _set_frame),
}
_TAGS_OF = {kind: tag for tag, (kind, *_functions) in _KINDS.items()}


class _Array(_Replica):
    """An array, a series or a frame that both sides have."""

    def __init__(self, value: Any, tag: str) -> None:
        self.value, self.tag = value, tag
        self.base = _KINDS[tag][0]
        self.content = self.items()

    def items(self) -> list[Any]:
        """Return what tells whether it is changed."""
        if self.value is None:
            return []
        seen: list[Any] = []

        def note(each: Any) -> Any:
            seen.append(each)
            return each if type(each) in RAW else id(each)

        return [_KINDS[self.tag][1](self.value, note), seen]

    def is_changed(self) -> bool:
        items = self.items()
        if items[:1] == self.content[:1]:
            return False
        self.content = items
        return True


# --- scalars -----------------------------------------------------------------------------------


def _scalar_parts(value: Any) -> list[Any] | None:
    text = _dtype_text(value.dtype)
    return None if text is None else [text, np.asarray(value).tobytes().hex()]


def _scalar(text: str, data: str) -> Any:
    return np.frombuffer(bytes.fromhex(data), _dtype(text))[0]


def _timestamp_parts(value: Any) -> list[Any]:
    zone = None if value.tz is None else str(value.tz)
    naive = value if value.tz is None else value.tz_convert("UTC").tz_localize(None)
    return [int(naive.asm8.view("i8")), value.unit, zone]


def _timestamp(number: int, unit: str, zone: str | None) -> Any:
    made = pd.Timestamp(np.datetime64(number, unit)).as_unit(unit)
    return made if zone is None else made.tz_localize("UTC").tz_convert(zone)


def _timedelta_parts(value: Any) -> list[Any]:
    return [int(value.asm8.view("i8")), value.unit]


# By type: the tag and the parts of a value that crosses whole.
_SCALARS: dict[type, tuple[str, Callable[[Any], list[Any] | None]]] = {
    pd.Timestamp: ("nt", _timestamp_parts),
    pd.Timedelta: ("nd", _timedelta_parts),
    pd.Period: ("np", lambda v: [v.ordinal, v.freqstr]),
    type(pd.NaT): ("nN", lambda _v: [0]),
    type(pd.NA): ("nN", lambda _v: [1]),
}
_SCALARS |= {
    kind: ("ns", _scalar_parts)
    for kind in {np.dtype(code).type for code in "?bhilqBHILQefdgFDGSUmM"}
}
_FUNCTIONS = frozenset((np.ufunc, type(np.mean)))
_INDEXES = frozenset(
    (pd.Index, pd.RangeIndex, pd.MultiIndex, pd.DatetimeIndex, pd.TimedeltaIndex)
    + (pd.CategoricalIndex, pd.PeriodIndex, pd.IntervalIndex)
)
_MAKERS: dict[str, Callable[..., Any]] = {
    "ns": _scalar,
    "nt": _timestamp,
    "nd": lambda number, unit: pd.Timedelta(np.timedelta64(number, unit)).as_unit(unit),
    "np": lambda ordinal, name: pd.Period(ordinal=ordinal, freq=name),
    "nN": lambda which: (pd.NaT, pd.NA)[which],
    "ny": _dtype,
    "nz": lambda name: pd.api.types.pandas_dtype(str(name)),
}


# --- in a peer ---------------------------------------------------------------------------------

_encode, _decode, _content, _fill = Peer.encode, Peer.decode, Peer._content, Peer._fill


def encode(self: Any, value: Any) -> Any:
    """As `Peer.encode`."""
    kind = type(value)
    if kind is types.ModuleType and _is_module(value.__name__):
        return ["nm", value.__name__]
    if kind in RAW or kind.__module__ == "builtins":
        return _encode(self, value)
    if kind in _SCALARS:
        tag, parts_of = _SCALARS[kind]
        parts = parts_of(value)
        if parts is not None:
            return [tag, *parts]
    elif kind in _TAGS_OF:
        return _encode_array(self, value, _TAGS_OF[kind])
    elif kind in _INDEXES:
        return ["nI", *_index_parts(value, self.encode)]
    elif kind is pd.Interval:
        return ["nv", self.encode(value.left), self.encode(value.right), value.closed]
    elif isinstance(value, np.dtype) and _dtype_text(value) is not None:
        return ["ny", value.str]
    elif isinstance(value, pd.CategoricalDtype) and value.categories is not None:
        return ["nk", _index_parts(value.categories, self.encode), bool(value.ordered)]
    elif isinstance(value, pd.api.extensions.ExtensionDtype):
        return ["nz", str(value)]
    elif isinstance(value, tuple(_TAGS_OF)) and self.their_handle(value) is None:
        for base, tag in _TAGS_OF.items():
            if isinstance(value, base):
                return _encode_array(self, _plain(value, base), tag)
    elif self.is_judge and kind in _FUNCTIONS and is_standard(value):
        return ["std", value.__module__, value.__qualname__]
    return _encode(self, value)


def _plain(value: Any, base: type) -> Any:
    if base is np.ndarray:
        if isinstance(value, np.ma.MaskedArray):
            raise Refused("a masked array")
        return np.ndarray.view(value, np.ndarray).copy()
    return base(value)


def _is_module(name: Any) -> bool:
    home = type(name) is str and name.partition(".")[0] in _MODULES
    return bool(home) and isinstance(sys.modules.get(name), types.ModuleType)


def _encode_array(self: Any, value: Any, tag: str) -> Any:
    name = self._replica_names.get(id(value))
    if name is not None:
        self._mentioned.add(name)
        return ["m", name]
    self._replica_count += 1
    name = f"{self._side}{self._replica_count}"
    self._mentioned.add(name)
    replica = self._replicas[name] = _Array(value, tag)
    self._replica_names[id(value)] = name
    return ["M", name, tag, self._content(replica)]


def content(self: Any, replica: Any, is_deferred: bool = False) -> Any:
    """As `Peer._content`."""
    if isinstance(replica, _Array):
        return _KINDS[replica.tag][1](replica.value, self.encode)
    return _content(self, replica, is_deferred)


def fill(self: Any, name: str, parts: Any) -> None:
    """As `Peer._fill`."""
    replica = self._replicas[name]
    if not isinstance(replica, _Array):
        _fill(self, name, parts)
        return
    _kind, _parts, make, put = _KINDS[replica.tag]
    made = make(parts, self.decode)
    if replica.value is None:
        replica.value = made
        self._replica_names[id(made)] = name
    else:
        put(replica.value, made)
    replica.content = replica.items()


def decode(self: Any, form: Any) -> Any:
    """As `Peer.decode`."""
    tag = form[0] if isinstance(form, list) else ""
    if tag in _MAKERS:
        return _MAKERS[tag](*form[1:])
    if tag == "nI":
        return _index(form[1:], self.decode)
    if tag == "nv":
        return pd.Interval(self.decode(form[1]), self.decode(form[2]), str(form[3]))
    if tag == "nk":
        return pd.CategoricalDtype(_index(form[1], self.decode), bool(form[2]))
    if tag == "nm":
        if not _is_module(form[1]):
            raise Refused("a module")
        return sys.modules[form[1]]
    if tag == "M" and form[2] in _KINDS:
        _tag, name, kind, parts = form
        if self.is_judge and name in self._replicas:
            raise Refused("a container that is known")
        self._replicas[name] = _Array(None, kind)
        self._fill(name, parts)
        return self._replicas[name].value
    return _decode(self, form)


def install() -> None:
    """Let the values of numpy and pandas cross."""
    for name, function in (("encode", encode), ("decode", decode)):
        setattr(Peer, name, function)
    Peer._content, Peer._fill = content, fill  # type: ignore[method-assign]
    for kind in _named_classes():
        NAMED[kind.__module__, kind.__qualname__] = kind


def _named_classes() -> list[type]:
    """Return what a message may name: scalars, the containers, and all errors of the libraries."""
    found = [*_SCALARS, *_TAGS_OF, *_INDEXES, pd.Interval, np.dtype, pd.Categorical]
    waiting: list[type] = [Exception]
    while waiting:
        each = waiting.pop()
        waiting += type.__subclasses__(each)
        if each.__module__.partition(".")[0] in _MODULES and not issubclass(each, Warning):
            found.append(each)
    return found
