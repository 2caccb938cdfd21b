"""Stand-ins: what one interpreter has for the functions, classes and objects of the other.

A class of the program is a class of the tests' interpreter, too: a `Mirror`, which derives from the
mirrors of its bases and has its methods, properties and other members. Its objects are empty: each
asks for what it is asked for. If the tests derive a class from a mirror, the program's interpreter
makes a class with the same members, its twin; an object of the class is an object of the twin.
"""
# ruff: noqa: ANN401 - values of any type cross

import abc
import builtins
import dataclasses
import inspect
import keyword
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from values import BUILTIN_TYPES, DATA, EXCEPTIONS, NAMED, WRAPPERS, Refused, is_standard

# Programs may change the public builtins; the functions below keep these.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

PROGRAM = "program"  # the name of the program's module
COMPARISONS = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"))
_OPERATORS = "add sub mul truediv floordiv mod pow divmod matmul and or xor lshift rshift"
_PROTOCOL_WORDS = (
    "len iter next getitem setitem delitem contains reversed call enter exit bool "
    "hash str repr format int float complex index round trunc floor ceil abs neg pos invert "
    "missing await aiter anext aenter aexit bytes fspath length_hint"
)
ARITHMETIC = frozenset(
    f"__{prefix}{word}__" for prefix in ("", "r", "i") for word in _OPERATORS.split()
)
_PROTOCOL = frozenset(f"__{word}__" for word in _PROTOCOL_WORDS.split())
DESCRIPTOR = frozenset(("__get__", "__set__", "__delete__", "__set_name__"))
CLAIMS = COMPARISONS | ARITHMETIC | {"__contains__"}  # by these an object may seem to be another
# Special methods that a stand-in has.
FORWARDED = COMPARISONS | ARITHMETIC | _PROTOCOL | DESCRIPTOR
# Other names with two underscores that the owner of an object is asked for.
_ASKED_WORDS = (
    "__wrapped__ __members__ __args__ __origin__ __name__ __defaults__ __kwdefaults__ __closure__ "
    "__match_args__ __slots__ __dataclass_params__"
)
_ASKED = frozenset(_ASKED_WORDS.split())
# Those that an object of a data type answers itself, from the content that has crossed.
BY_CONTENT = (COMPARISONS | ARITHMETIC | _PROTOCOL) - {"__call__", "__enter__", "__exit__"}
# Functions of a class that its twin does without.
_OWN_WORDS = "new getattribute getattr setattr delattr class_getitem init_subclass del"
_OWN = frozenset(f"__{word}__" for word in _OWN_WORDS.split()) | {"__annotate_func__"}
_FUNCTION_MEMBERS = types.FunctionType, property, staticmethod, classmethod
_RUNNERS = "unittest", "doctest", "bdb"  # modules of classes that no twin derives from
# The modules of which a class of the program may derive from the public classes, for `isinstance`.
# The library does not run what objects of theirs hold, as it does with types in texts.
_JOINED_WORDS = (
    "abc argparse ast asyncio cmd collections concurrent contextlib csv enum html io json logging "
    "numbers queue random string threading"
)
_JOINED = {*_JOINED_WORDS.split(), "_collections_abc", "_io", "_random"}
_GENERIC = {("typing", "Generic"), ("typing", "Protocol")}


class Mirror(abc.ABCMeta):
    """A class of the other side, which `_handle` names, or one that derives from such a class."""

    _handle: int
    peer: Any

    def __new__(
        meta, name: str, bases: tuple[type, ...], names: dict[str, Any], **_words: Any
    ) -> Any:
        return super().__new__(meta, name, bases, names)

    def __init__(
        cls, name: str, bases: tuple[type, ...], names: dict[str, Any], **words: Any
    ) -> None:
        super().__init__(name, bases, names)
        if not is_mirror(cls) and Mirror.peer.is_judge:
            _make_twin(cls, words)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        made = Mirror.peer.ask("call", cls, args, *pairs(named))
        Mirror.peer.note_made(cls, made)
        return made

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name not in _ASKED:
            raise AttributeError(name)
        return Mirror.peer.ask("get", _known(cls), name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith(("_abc_", "__abstract")) or not Mirror.peer.is_known(cls):
            type.__setattr__(cls, name, value)
        elif not is_mirror(cls):
            if name.startswith("__") or isinstance(value, _FUNCTION_MEMBERS):
                type.__setattr__(cls, name, value)
            if isinstance(value, types.FunctionType) or not name.startswith("__"):
                Mirror.peer.ask("set", cls, name, value)
        elif not Mirror.peer.is_judge:
            Mirror.peer.ask("set", cls, name, value)
        elif name in vars(cls) and vars(cls)[name] is value:  # `mock.patch` puts it back
            Mirror.peer.ask("restore", cls, name)
        else:
            Mirror.peer.ask("replace", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        if name in vars(cls):
            type.__delattr__(cls, name)
        else:
            Mirror.peer.ask("delete", cls, name)

    def __instancecheck__(cls, value: Any) -> bool:
        if super().__instancecheck__(value):
            return True
        is_asked = vars(cls).get("_is_open") and not _is_own(type(value))
        return bool(is_asked) and Mirror.peer.ask("isinstance", cls, value) is True

    def __subclasscheck__(cls, other: type) -> bool:
        if super().__subclasscheck__(other):
            return True
        is_asked = vars(cls).get("_is_open") and not _is_own(other)
        return bool(is_asked) and Mirror.peer.ask("issubclass", cls, other) is True

    @property
    def __signature__(cls) -> inspect.Signature:
        return signature(Mirror.peer.ask("signature", cls))

    def __iter__(cls) -> Any:
        return iter(Mirror.peer.ask("iter", cls))

    def __len__(cls) -> Any:
        return Mirror.peer.ask("operate", cls, "__len__", ())

    def __getitem__(cls, key: Any) -> Any:
        return Mirror.peer.ask("item", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return any(item is each for each in cls)

    def __dir__(cls) -> list[str]:
        return [*{*super().__dir__(), *Mirror.peer.ask("dir", _known(cls))}]


def is_mirror(cls: Any) -> bool:
    """Whether this is a class of the other side, and none that derives from one."""
    return isinstance(cls, Mirror) and "_handle" in vars(cls)


def _is_own(cls: type) -> bool:
    """Whether no class of the other side decides what objects of this class are."""
    is_failure = issubclass(cls, Mirror.peer.failures) and not isinstance(cls, Mirror)
    return cls in BUILTIN_TYPES or is_failure


def _known(cls: type) -> type:
    """Return the first class that the other side knows, of a class and its bases."""
    return next(each for each in cls.__mro__ if Mirror.peer.is_known(each))


def handle_of(value: Any) -> int | None:
    """Return the handle of a stand-in, None for any other value."""
    return Mirror.peer.their_handle(value)  # type: ignore[no-any-return]


def pairs(named: dict[str, Any]) -> list[Any]:
    """Return the arguments by name as one more argument, if there are any."""
    return [tuple(named.items())] if named else []


# --- functions ---------------------------------------------------------------------------------


class Function:
    """A function of the other side, which may have attributes."""

    def __init__(self, name: str, doc: str | None) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__, self.__module__ = doc, PROGRAM

    @property  # type: ignore[misc] # so that `isinstance` takes it for a function
    def __class__(self) -> Any:
        return types.FunctionType

    @property
    def __code__(self) -> Any:
        try:
            return Mirror.peer.ask("get", self, "__code__")
        except AttributeError:  # it is written in C; `inspect` looks for flags
            return pairs.__code__

    @property
    def __annotations__(self) -> Any:  # type: ignore[override] # asked for only when it is read
        return annotations(self)

    @property
    def __signature__(self) -> inspect.Signature:
        return signature(Mirror.peer.ask("signature", self))

    def __call__(self, *args: Any, **named: Any) -> Any:
        return Mirror.peer.ask("call", self, args, *pairs(named))

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name: str) -> Any:
        return _get_attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            object.__setattr__(self, name, value)
        else:
            Mirror.peer.ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        _delete_attribute(self, name)

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


class Method(Function):
    """A method of a class of the other side: its class is asked what it is."""

    def __init__(self, name: str, doc: str | None, data: type | None) -> None:
        super().__init__(name, doc)
        vars(self).update(_data=data)

    @property
    def _function(self) -> Any:
        return Mirror.peer.ask("get", vars(self)["_owner"], self.__name__)

    @property
    def __code__(self) -> Any:
        return self._function.__code__

    @property
    def __annotations__(self) -> Any:  # type: ignore[override] # asked for only when it is read
        return self._function.__annotations__

    @property
    def __signature__(self) -> inspect.Signature:
        return self._function.__signature__  # type: ignore[no-any-return]

    def __call__(self, owner: Any, /, *args: Any, **named: Any) -> Any:
        name, data = self.__name__, vars(self)["_data"]
        if data in DATA and not Mirror.peer.may_answer(owner, name, args):
            return getattr(data, name)(owner, *args, **named)
        if is_hidden(owner, name, self):
            return self.__get_of__(owner)(*args, **named)
        return Mirror.peer.ask("method", owner, name, args, *pairs(named))

    def __get_of__(self, owner: Any) -> Any:
        return Mirror.peer.ask("member", vars(self)["_owner"], self.__name__, owner, type(owner))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _ASKED:
            raise AttributeError(name)
        return getattr(self._function, name)


def is_hidden(owner: Any, name: str, member: Any) -> bool:
    """Whether an object of the other side is no longer asked for a member by its name.

    So it is with the member that an attribute or a derived class of this side has replaced: it is
    reached by `super()`, or was looked up before.
    """
    if (id(owner), name) in Mirror.peer.replaced or handle_of(owner) is None:
        return True
    return next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None) is not member


def annotations_of(value: Any) -> dict[str, Any]:
    """Return the annotations of a function or a class; of texts, what they mean."""
    found = dict(value.__annotations__)
    if not Mirror.peer.is_judge and any(isinstance(each, str) for each in found.values()):
        found |= {
            name: each for name, each in typing.get_type_hints(value).items() if name in found
        }
    return found


def annotations(value: Any) -> dict[str, Any]:
    """Ask for annotations. The library runs those that are texts: they do not cross."""
    found = Mirror.peer.ask("annotations", value)
    return {name: each for name, each in found.items() if not isinstance(each, str)}


def signature_of(function: Any) -> list[Any]:
    """Return the parameters of a function, and what it returns.

    Of each parameter: the name, the kind, the default and the annotation, if there are any.
    """
    try:
        found = inspect.signature(function, eval_str=not Mirror.peer.is_judge)
    except Exception:  # of an annotation's text
        found = inspect.signature(function)
    empty = inspect.Signature.empty
    parameters = [
        (each.name, int(each.kind), *([] if part is empty else [part] for part in parts))
        for each in found.parameters.values()
        for parts in [(each.default, each.annotation)]
    ]
    returned = found.return_annotation
    return [parameters, [] if returned is empty else [returned]]


def signature(parts: Any) -> inspect.Signature:
    parameters, returned = parts
    made = []
    for name, kind, default, annotation in parameters:
        made.append(inspect.Parameter(str(name), inspect._ParameterKind(kind)))
        if default:
            made[-1] = made[-1].replace(default=default[0])
        if annotation and not isinstance(annotation[0], str):
            made[-1] = made[-1].replace(annotation=annotation[0])
    result = inspect.Signature(made)
    if returned and not isinstance(returned[0], str):
        result = result.replace(return_annotation=returned[0])
    return result


# --- what a stand-in does ----------------------------------------------------------------------


def _get_attribute(self: Any, name: str) -> Any:
    is_own = name.startswith("__") and name not in _PROTOCOL and name not in _ASKED
    if handle_of(self) is None or is_own:
        raise AttributeError(name)
    return Mirror.peer.ask("get", self, name)


def _set_attribute(self: Any, name: str, value: Any) -> None:
    is_error_detail = isinstance(self, BaseException) and name.startswith("__")
    if handle_of(self) is None or is_error_detail:
        object.__setattr__(self, name, value)
        return
    Mirror.peer.ask("set", self, name, value)
    member = next((vars(c)[name] for c in type(self).__mro__ if name in vars(c)), None)
    if isinstance(member, Method | types.FunctionType):  # which the attribute hides
        Mirror.peer.replaced.add((id(self), name))
        object.__setattr__(self, name, value)


def _delete_attribute(self: Any, name: str) -> None:
    Mirror.peer.ask("delete", self, name)
    if (id(self), name) in Mirror.peer.replaced:
        Mirror.peer.replaced.discard((id(self), name))
        object.__delattr__(self, name)


def _error_text(self: Any) -> str:
    return self.__dict__.get("_text") or BaseException.__str__(self)


def _forwarding(name: str, data: type | None) -> Any:
    """Return the special method that asks the other side.

    An object that holds data, of the type `data` or one that derives from it, answers from its
    content where the other side may not.
    """

    def method(self: Any, *args: Any, **named: Any) -> Any:
        peer = Mirror.peer
        if not peer.may_answer(self, name, args):
            if data is not None:
                return getattr(data, name)(self, *args, **named)
            if name == "__contains__":
                return any(args[0] is item or args[0] == item for item in self)
            return NotImplemented
        if is_hidden(self, name, chosen):
            owner = next(c for c in type(self).__mro__ if vars(c).get(name) is chosen)
            return peer.ask("member", owner, name, self, type(self))(*args, **named)
        return peer.checked(self, name, peer.ask("operate", self, name, args, *pairs(named)))

    def leave(self: Any, *args: Any, **named: Any) -> Any:
        mark = len(Mirror.peer.lost)
        error = Mirror.peer.hand_over(args[1] if len(args) > 1 else None)
        answer = method(self, *args, **named)
        return answer if error is None else _left(error, answer, mark)

    def iterate(self: Any) -> Any:
        iterator = Mirror.peer.ask("iter", self)
        return self if iterator is self else iter(iterator)

    def step(self: Any) -> Any:
        is_done, value = Mirror.peer.ask("step", self, "__next__", None)
        if is_done:
            raise StopIteration(value)
        return value

    def wait(self: Any) -> Any:
        return Mirror.peer.wait_for(self).__await__()

    chosen = leave if name in ("__exit__", "__aexit__") else method
    if data is None and chosen is method:
        chosen = {"__iter__": iterate, "__next__": step, "__await__": wait}.get(name, method)
    chosen.__name__ = name
    return chosen


def _left(error: BaseException, answer: Any, mark: int) -> Any:
    """Return what the other side's `__exit__` says; if it is false, the error comes back."""
    if inspect.isawaitable(answer):

        async def wait() -> Any:
            return _left(error, await answer, mark)

        return wait()
    if not answer:
        Mirror.peer.take_back(error, mark)
        return False
    return True


def _starting() -> Any:
    """Return what `super().__init__` is for a class of this side."""

    def start(self: Any, *args: Any, **named: Any) -> None:
        owner = next(c for c in type(self).__mro__ if vars(c).get("__init__") is start)
        Mirror.peer.ask("member", owner, "__init__", self, type(self))(*args, **named)

    return start


def _property(name: str, doc: str | None) -> property:
    """Return a property that asks the other side."""

    def get(self: Any) -> Any:
        if not is_hidden(self, name, made):
            return Mirror.peer.ask("get", self, name)
        owner = next(each for each in type(self).__mro__ if vars(each).get(name) is made)
        return Mirror.peer.ask("member", owner, name, self, type(self))

    made = property(get, doc=doc)
    return made


class _ClassMember:
    """A class method or static method of the other side."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type) -> Any:
        mro = kind.__mro__
        holder = next(each for each in mro if vars(each).get(self._name) is self)
        if any(self._name in vars(each) for each in mro[: mro.index(holder)]):  # by `super()`
            return Mirror.peer.ask("member", holder, self._name, owner, kind)
        return Mirror.peer.ask("get", _known(kind) if owner is None else owner, self._name)


def member(owner: type, name: str, value: Any, cls: type) -> Any:
    """Return what `super()` gives: a member of a class or its bases, bound to an object."""
    found = next(vars(each)[name] for each in owner.__mro__ if name in vars(each))
    return found.__get__(value, cls) if hasattr(found, "__get__") else found


# --- classes -----------------------------------------------------------------------------------


def describe(cls: type) -> dict[str, Any]:
    """Return what the other side must know of a class, for `make_class`; values are not encoded."""
    own = [each for each in cls.__mro__ if each is not object and each not in DATA]
    special = {name for each in own for name in vars(each) if name in FORWARDED}
    if issubclass(cls, BaseException):
        special -= {"__str__", "__repr__"}
    members = [each for each in vars(cls).items() if not each[0].startswith("__")]
    library = [
        (each.__module__, each.__qualname__)
        for each in own
        if each not in EXCEPTIONS and each.__module__ != "builtins" and is_standard(each)
    ]
    abstract = vars(cls).get("__abstractmethods__") if isinstance(cls, abc.ABCMeta) else None
    fields = vars(cls).get("__dataclass_fields__")
    described = {
        "special": sorted(special),
        "unhashable": cls.__hash__ is None,
        "methods": [
            (name, _text(value)) for name, value in members if type(value) is types.FunctionType
        ],
        "properties": [(name, _text(value)) for name, value in members if type(value) is property],
        "members": [n for n, value in members if type(value) in (staticmethod, classmethod)],
        "abstract": [*abstract] if abstract else None,
        "library": library,
        "fields": None if fields is None else [*map(_described_field, fields.values())],
        "is_open": isinstance(cls, abc.ABCMeta),
        "annotated": not vars(cls).keys().isdisjoint(("__annotations__", "__annotate_func__")),
        "doc": _text(cls),
    }
    return {name: value for name, value in described.items() if value}


def _text(value: Any) -> str | None:
    doc = value.__doc__
    return doc if type(doc) is str else None


def _described_field(field: Any) -> Any:
    missing = dataclasses.MISSING
    defaults = [
        () if each is missing else (each,) for each in (field.default, field.default_factory)
    ]
    return field.name, field.type, field.init is True, field.kw_only is True, *defaults


def field(name: str, kind: Any, init: bool, kw_only: bool, default: Any, factory: Any) -> Any:
    if not name.isidentifier() or keyword.iskeyword(name):  # dataclasses make code of it
        raise Refused("the name of a field")
    options = {"default": default, "default_factory": factory}
    chosen = {key: value[0] for key, value in options.items() if value}
    made = dataclasses.field(init=bool(init), kw_only=bool(kw_only), **chosen)
    kind = None if isinstance(kind, str) else kind
    made.name, made.type, made._field_type = str(name), kind, dataclasses._FIELD  # type: ignore[attr-defined]
    return made


def make_class(handle: int, name: str, bases: tuple[type, ...], facts: dict[str, Any]) -> Any:
    """Return the class of this side that stands for one of the other, without its fields."""
    peer = Mirror.peer
    holds_data = any(issubclass(base, DATA) for base in bases)
    names: dict[str, Any] = {
        "_handle": handle,
        "__module__": PROGRAM,
        "__doc__": facts.get("doc"),
        "__init__": _starting(),
        "__getattr__": _get_attribute,
        "__setattr__": _set_attribute,
        "__delattr__": _delete_attribute,
        "__dir__": lambda stand_in: peer.ask("dir", stand_in),
        "__copy__": lambda stand_in: peer.ask("copy", stand_in, False),
        "__deepcopy__": lambda stand_in, _memo: peer.ask("copy", stand_in, True),
    }
    is_error = any(issubclass(base, BaseException) for base in bases)
    names["_is_open"] = facts.get("is_open") is True and not is_error
    if not is_error:
        names["__dict__"] = property(lambda stand_in: peer.ask("get", stand_in, "__dict__"))
    for each in facts.get("special", ()):
        if each in FORWARDED:
            own = bases[0] if holds_data and each in BY_CONTENT else None
            names[each] = _forwarding(each, own)
    methods = []
    for each, member_of in _members(facts, bases[0]):
        if not each.startswith(("__", "_abc_")) and each not in names:
            names[each] = member_of
            methods.append(member_of)
    if facts.get("unhashable"):
        names["__hash__"] = None
    elif "__eq__" in names and "__hash__" not in names:
        names["__hash__"] = object.__hash__
    if is_error:
        names["__str__"] = _error_text
    cls = _made(name, bases, names)
    for each in methods:
        if type(each) is Method:
            vars(each)["_owner"] = cls
    if facts.get("abstract"):
        type.__setattr__(cls, "__abstractmethods__", frozenset(map(str, facts["abstract"])))
    if facts.get("annotated"):
        type.__setattr__(cls, "__annotate__", lambda _format: annotations(cls))
    if facts.get("library"):
        _join_library(cls, facts["library"])
    return cls


def _members(facts: dict[str, Any], base: type) -> Iterator[tuple[str, Any]]:
    for name, doc in facts.get("methods", ()):
        text = doc if type(doc) is str else None
        yield name, Method(name, text, base if hasattr(base, name) else None)
    for name, doc in facts.get("properties", ()):
        yield name, _property(name, doc)
    for name in facts.get("members", ()):
        yield name, _ClassMember(name)


def _made(name: str, bases: tuple[type, ...], names: dict[str, Any]) -> Any:
    data = tuple(each for base in bases for each in base.__mro__ if each in DATA)[:1]
    for parents in (bases, data or (object,)):  # the library's layouts may conflict
        try:
            return Mirror(name, parents, names)
        except TypeError:
            continue
    return Mirror(name, (object,), names)


def bases_of(cls: type, is_judge: bool) -> tuple[type, ...]:
    """Return the bases of a class that its mirror is to have."""
    if cls in WRAPPERS and not is_judge:
        return (WRAPPERS[cls],)
    bases: list[type] = []
    for base in cls.__bases__:
        if base in DATA or base in EXCEPTIONS or not is_standard(base):
            bases.append(base)
        else:  # a class of the library: what its objects hold, or what error it is
            is_error = issubclass(base, BaseException)
            known = (*DATA, object, *(NAMED.values() if is_error else ()))
            bases.append(next(each for each in base.__mro__ if each in known))
    return tuple(bases)


# --- classes of the library --------------------------------------------------------------------


def _join_library(cls: type, names: list[list[str]]) -> None:
    """Let `isinstance` and `issubclass` know the library's classes that a mirror derives from."""
    found = []
    for module, name in names:
        value: Any = sys.modules.get(module)
        for part in name.split("."):
            value = getattr(value, part, None)
        is_public = not any(part.startswith("_") for part in name.split("."))
        is_joined = is_public and module.partition(".")[0] in _JOINED
        if isinstance(value, type) and (is_joined or (module, name) in _GENERIC):
            found.append(value)
    type.__setattr__(cls, "_library", tuple(found))
    for scope in Mirror.peer.scopes:
        scope.update(isinstance=_isinstance, issubclass=_issubclass)


def _isinstance(value: Any, classes: Any, /) -> bool:
    return isinstance(value, classes) or _derives(type(value), classes)


def _issubclass(cls: Any, classes: Any, /) -> bool:
    return issubclass(cls, classes) or _derives(cls, classes)


def _derives(cls: type, classes: Any) -> bool:
    if not isinstance(cls, Mirror):
        return False
    if isinstance(classes, types.UnionType):
        classes = classes.__args__
    if isinstance(classes, tuple):
        return any(_derives(cls, each) for each in classes)
    return any(each is classes for base in cls.__mro__ for each in vars(base).get("_library", ()))


# --- twins -------------------------------------------------------------------------------------


def _make_twin(cls: Any, words: dict[str, Any]) -> None:
    """Have the other side make a class with the members of one of ours, which derives from its."""
    peer = Mirror.peer
    if any(each.__module__.partition(".")[0] in _RUNNERS for each in cls.__mro__):
        error = Refused("a test runner's class that derives from one of the program's")
        peer.note_refused(error)
        raise error
    members = [*_twin_members(cls)]
    bases = [each for each in cls.__bases__ if isinstance(each, Mirror) or is_standard(each)]
    peer.derive(cls, [each for each in bases if each is not object], members, words.items())
    for kind, name, _value in members:
        if kind == "value" and not name.startswith("__") and name in vars(cls):
            type.__delattr__(cls, name)  # an attribute of the object may hide it


def _twin_members(cls: type) -> Iterator[tuple[str, str, Any]]:
    """Yield kind, name and value of the members of a class of the tests, and of its plain bases."""
    covered = {each for base in cls.__bases__ if isinstance(base, Mirror) for each in base.__mro__}
    plain = [c for c in cls.__mro__[1:] if c not in covered and not isinstance(c, Mirror)]
    for each in (*reversed([c for c in plain if not is_standard(c)]), cls):
        for name, value in vars(each).items():
            if isinstance(value, types.FunctionType):
                if name not in _OWN:
                    yield "function", name, value
            elif isinstance(value, property):
                yield "property", name, (value.fget, value.fset, value.fdel)
            elif isinstance(value, staticmethod | classmethod):
                if name not in _OWN:
                    yield type(value).__name__, name, value.__func__
            elif not name.startswith(("__", "_abc_")) and not isinstance(value, types.ModuleType):
                yield "value", name, value
    if annotations := getattr(cls, "__annotations__", None):
        yield "value", "__annotations__", dict(annotations)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "property": lambda value: property(*value),
    "staticmethod": staticmethod,
    "classmethod": classmethod,
}


def twin(handle: int, name: str, bases: Any, members: Any, words: Any) -> type:
    """Make the twin of a class of the other side."""

    def fill(names: dict[str, Any]) -> None:
        names.update(_twin_of=handle, __module__=PROGRAM)
        for kind, each, value in members:
            names[each] = _KINDS.get(kind, lambda value: value)(value)

    return types.new_class(name, tuple(bases), dict(words), fill)
