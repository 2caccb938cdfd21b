"""One side of the wall: two interpreters, one with the program and one with its tests.

A value of Python's own types crosses by value; all else crosses as a handle, behind which the other
side puts a stand-in that asks. Lists, dicts and sets are replicas: both sides have one, and a
message carries the contents of those that changed since the last. So what a function does to its
argument is seen by the test, and two names of one list stay two names of one list.

A message is JSON. Scalars stand for themselves; everything else is an array that begins with a tag:
`Peer.encode` writes these forms, `Peer.decode` reads them. The side of the tests (`is_judge`)
trusts nothing that it reads: it makes only stand-ins, plain data and what `NAMED` holds, and
`check_request` and `check_target` decide what the program may do to an object of the tests.
"""
# ruff: noqa: ANN401 - values of any type cross

import argparse
import asyncio
import builtins
import collections
import copy
import gc
import importlib
import json
import operator
import sys
import types
import typing
import unittest.mock
from collections.abc import Callable
from typing import Any

import stand_ins
from stand_ins import FORWARDED, Function, Mirror, is_mirror, pairs
from values import (
    BUILTIN_TYPES,
    DATA,
    DECODERS,
    ENCODERS,
    EXCEPTIONS,
    NAMED,
    RAW,
    REPLICA_TAGS,
    REPLICAS,
    WRAPPERS,
    Refused,
    content_of,
    is_standard,
    needs_form,
    type_named,
)

# Programs may change the public builtins; the functions below keep these.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

_MAX_CHARS = 60_000_000  # of one message
_MAX_DEPTH = 110  # each level takes stack of both interpreters and of the host
_MAX_NESTED = 300  # containers within containers; what is in them comes after the message
_DEEPER = 20_000  # frames: some for each level of a nested value


class _Holder:
    def __init__(self) -> None:
        self.value: list[Any] = []


# JSON without the library's Python part, which a program may change.
_to_json = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)
_from_json = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_HOLDER = _Holder()
_UNHELD = sys.getrefcount(_HOLDER.value)  # the count of a replica that its table alone refers to
# The count of a stand-in that its table alone refers to, while the table is read.
_UNUSED = [sys.getrefcount(each) for _, each in {0: object()}.items()][0]
_collect = gc.collect  # which tests have carried over
_MISSING = object()
_ALIAS = type(typing.List[int])  # noqa: UP006 - its type
# What an error of the library's own has beside its arguments.
_DETAILS = "name", "filename", "lineno", "offset", "text", "msg"


class Left(BaseException):
    """The program raised what would end or skip a test."""


class _Replica:
    """A container that both sides have, and its content when it last crossed.

    `base` is the container's type of `REPLICAS`: a class that derives from it may do anything.
    """

    def __init__(self, value: Any, base: type) -> None:
        self.value, self.base = value, base
        self.content = self.items()

    def items(self) -> list[Any]:
        """Return the items; of a mapping, its keys and then its values."""
        if self.base is collections.OrderedDict:  # in its own order
            return [*self.base.keys(self.value), *self.base.values(self.value)]
        if issubclass(self.base, dict):
            return [*dict.keys(self.value), *dict.values(self.value)]
        return list(self.base.__iter__(self.value))  # type: ignore[attr-defined]

    def is_changed(self) -> bool:
        """Whether other items are there than at the last call or crossing."""
        is_list = type(self.value) is list  # which needs no copy to be compared
        items = self.value if is_list else self.items()
        if len(items) == len(self.content) and all(map(operator.is_, items, self.content)):
            return False
        self.content = [*items]
        return True


def _put(replica: _Replica, value: Any, items: list[Any]) -> None:
    """Put the items into a container; of a mapping, its keys and then its values."""
    base, count = replica.base, len(items)
    if issubclass(base, dict):
        count //= 2
        base.clear(value)
        setitem = base.__setitem__ if base is collections.OrderedDict else dict.__setitem__
        for key, item in zip(items[:count], items[count:], strict=True):
            setitem(value, key, item)
    else:
        base.clear(value)  # type: ignore[attr-defined]
        (base.update if base is set else base.extend)(value, items)  # type: ignore[attr-defined]
    if base.__len__(value) != count:  # type: ignore[attr-defined]
        raise Refused("the same key twice")
    replica.content = replica.items()


class _deep_recursion:
    """Lets values be read and written that are nested as deeply as a program's recursion goes."""

    __slots__ = ("_limit",)

    def __enter__(self) -> None:
        self._limit = limit = sys.getrecursionlimit()
        _set_limit(limit)  # which fails where it could not be put back
        sys.setrecursionlimit(limit + _DEEPER)

    def __exit__(self, *error: Any) -> None:
        sys.setrecursionlimit(self._limit)


def _set_limit(limit: int) -> None:
    sys.setrecursionlimit(limit)


class Peer:
    """This side's end of the conversation."""

    failures: tuple[type[BaseException], ...] = ()  # that the other side may not keep to itself

    def __init__(self, exchange: Callable[[str], str], is_judge: bool) -> None:
        self._exchange, self.is_judge = exchange, is_judge
        self._side = "T" if is_judge else "P"
        self._mine: dict[int, Any] = {}
        self._last_handle = 0
        self._handles: dict[int, int] = {}  # by the id of an object of ours
        self._theirs: dict[int, Any] = {}  # stand-ins, by the other side's handles
        self._their_handles: dict[int, int] = {}  # by the id of a stand-in
        self._replicas: dict[str, _Replica] = {}
        self._replica_names: dict[int, str] = {}  # by the id of the container
        self._replica_count = 0
        self._mentioned: set[str] = set()
        self._notes: dict[int, list[str]] = {}  # of errors, as both sides know them, by their ids
        self._level = 0  # of the container that is being encoded
        self._deferred: collections.deque[str] = collections.deque()  # those nested too deeply
        self._forgotten: list[str] = []
        # Containers to be filled when a whole message is known: hashes of keys may ask for more.
        self._unfilled: list[tuple[_Replica, Any, list[Any]]] = []
        self._originals: dict[tuple[int, str], Any] = {}  # that the other side has replaced
        self.replaced: set[tuple[int, str]] = set()  # methods of stand-ins that attributes hide
        self.scopes: list[dict[str, Any]] = []  # names that hold `isinstance`
        self._depth = 0  # of requests within requests
        self._tasks: list[Any] = []  # that the other side awaits
        self.lost: list[BaseException] = []  # of this side's failures, what the other side got
        self._loop: Any = None  # for tasks while no loop runs
        self.operations: dict[str, Callable[..., Any]] = {
            "call": lambda function, args, named=(): function(*args, **dict(named)),
            "method": _call_method,
            "member": stand_ins.member,
            "signature": stand_ins.signature_of,
            "isinstance": lambda cls, value: isinstance(value, cls),
            "issubclass": lambda cls, other: issubclass(other, cls),
            "annotations": stand_ins.annotations_of,
            "dir": dir,
            "item": operator.getitem,
            "get": getattr,
            "set": setattr,
            "delete": delattr,
            "iter": _iterated,
            "operate": _operate,
            "step": _step,
            "spawn": self._spawn,
            "turn": self._turn,
            "cancel": lambda number: self._tasks[number].cancel(),
            "copy": lambda value, is_deep: (copy.deepcopy if is_deep else copy.copy)(value),
            "collect": self.collect,
            "replace": self._replace,
            "restore": self._restore,
            "derive": self._derive,
        }
        Mirror.peer = self

    # --- conversation ----------------------------------------------------------------------------

    def ask(self, operation: str, *args: Any) -> Any:
        """Have the other side do something; return its answer, or raise what it raised."""
        try:
            with _deep_recursion():
                request = [operation, [self.encode(arg) for arg in args], self.header()]
                text = self._written(request)
        except Refused as error:
            self.note_refused(error)
            raise
        if self._depth >= _MAX_DEPTH:
            raise RecursionError("program and tests call each other too deeply")
        self._depth += 1
        mark = len(self.lost)
        try:
            answer = self._exchange(text)
        finally:
            self._depth -= 1
        try:
            with _deep_recursion():
                (is_raised, form, footer), contents = self._read(answer)
                self.hear(footer)
                self.note_returned(operation, form)
                value = self._decoded([form], contents)[0]
        except (Refused, Warning):  # a warning that the tests turn into an error
            raise
        except Exception as error:  # whatever a malformed answer leads to
            raise Refused(f"an answer cannot be read ({type(error).__name__})") from None
        if not is_raised:
            return value
        if not isinstance(value, BaseException):
            raise Refused("what was raised is no exception")
        raise self._arrived(value, mark)

    def answer(self, text: str) -> str:
        """Do what a message asks for, and return the message with the answer."""
        try:
            return self._answered(text)
        except BaseException as error:  # the program broke what this needs, or sent what is none
            reason = f"no answer ({type(error).__name__})"
            form = ["x", 0, ["T", "TypeError"], [reason], reason, None, False, {}]
            return self.write([[True, form, None], [], []])

    def _answered(self, text: str) -> str:
        with _deep_recursion():
            (operation, forms, header), contents = self._read(text)
            self.prepare(header)
        try:
            if self.is_judge:
                check_request(operation, forms)
            with _deep_recursion():
                args = self._decoded(forms, contents)
            if self.is_judge and operation in _TARGETED:
                check_target(operation, *args[:2])
            value, is_raised = self.operations[operation](*args), False
        except BaseException as error:  # it belongs to the one who asked
            value, is_raised = error, True
        with _deep_recursion():
            try:
                form = self.encode_error(value) if is_raised else self.encode(value)
            except BaseException as error:  # so does what cannot cross
                form, is_raised = self.encode_error(error), True
            return self._written([is_raised, form, self.footer()])

    def header(self) -> list[Any] | None:
        """Return what a request of this side carries besides its arguments."""
        return None

    def prepare(self, header: list[Any] | None) -> None:
        """Take up what a request of the other side carries."""

    def footer(self) -> list[Any] | None:
        """Return what an answer of this side carries besides its value."""
        return None

    def hear(self, footer: list[Any] | None) -> None:
        """Take up what an answer of the other side carries."""

    def note_refused(self, error: Refused) -> None:
        """Hear that this side was to send what does not cross."""

    def note_returned(self, operation: str, form: Any) -> None:
        """Hear what the other side returned."""

    def hand_over(self, _error: Any) -> BaseException | None:
        """Note that an error leaves this side, and return it if it must come back."""
        return None

    def take_back(self, error: BaseException, mark: int) -> None:
        """Hear that an error that left has come back, and speaks for all `lost` from `mark` on."""

    def note_made(self, cls: type, made: Any) -> None:
        """Hear that this side made an object of a class of the other side."""

    def may_answer(self, _stand_in: Any, _name: str, _args: tuple[Any, ...]) -> bool:
        """Whether the other side is asked what its object does with these operands."""
        return True

    def checked(self, _stand_in: Any, _name: str, answer: Any) -> Any:
        """Return what the other side answered for one of its objects, if it may."""
        return answer

    def _written(self, message: list[Any]) -> str:
        changed = self._changed_replicas()
        forgotten, self._forgotten = self._forgotten, []
        return self.write([message, changed, forgotten])

    @staticmethod
    def write(message: Any) -> str:
        """Return a message as text. Raises OverflowError if it is too large."""
        text = "".join(_to_json(message, 0))
        if len(text) > _MAX_CHARS:
            raise OverflowError("the values are too large to cross")
        return text

    def forget(self) -> None:
        """Forget all that has crossed."""
        tables = self._mine, self._handles, self._replicas, self._replica_names
        for table in (*tables, self._notes, self._mentioned, self._deferred):
            table.clear()

    def _read(self, text: str) -> tuple[list[Any], list[Any]]:
        """Return a message, and the contents of containers that it is yet to tell of."""
        (message, changed, forgotten), _end = _from_json(text, 0)
        contents = []
        for name, content in changed:
            if name in self._replicas:
                self._fill(name, content)
            else:
                contents.append((name, content))
        for name in forgotten:
            replica = self._replicas.pop(name, None)
            if replica is not None:
                self._replica_names.pop(id(replica.value), None)
        return list(message), contents

    def _arrived(self, error: BaseException, _mark: int) -> BaseException:
        """Return what is raised here for an error of the other side."""
        return error

    def encode_error(self, error: BaseException) -> Any:
        error.__traceback__ = None
        try:
            return self.encode(error)
        except BaseException:  # its class may be hostile
            return self.encode(Refused("an error that does not cross"))

    def collect(self, handles: tuple[int, ...] = ()) -> Any:
        """Forget our objects of these handles, and stand-ins that nothing else here refers to.

        Return the handles of the latter, as the other side's `collect` takes them.
        """
        for handle in handles:
            self._handles.pop(id(self._mine.pop(handle, None)), None)
        _collect()
        released = tuple(
            handle
            for handle, each in self._theirs.items()
            if not isinstance(each, type) and sys.getrefcount(each) <= _UNUSED
        )
        for handle in released:
            del self._their_handles[id(self._theirs.pop(handle))]
        return released

    # --- replicas --------------------------------------------------------------------------------

    def _changed_replicas(self) -> list[Any]:
        """Return the contents that changed. Forget replicas that nothing else here refers to."""
        changed = []
        for name, replica in [*self._replicas.items()]:
            if replica.is_changed():
                changed.append([name, self._content(replica)])
            if name not in self._mentioned and sys.getrefcount(replica.value) <= _UNHELD:
                del self._replicas[name]
                self._replica_names.pop(id(replica.value), None)
                self._forgotten.append(name)
        while self._deferred:  # what a content tells of comes after it
            name = self._deferred.popleft()
            changed.append([name, self._content(self._replicas[name])])
        self._mentioned.clear()
        return changed

    def _encode_replica(self, value: Any, base: type) -> list[Any]:
        name = self._replica_names.get(id(value))
        if name is not None:
            self._mentioned.add(name)
            return ["m", name]
        self._replica_count += 1
        name = f"{self._side}{self._replica_count}"
        self._mentioned.add(name)
        replica = self._replicas[name] = _Replica(value, base)
        self._replica_names[id(value)] = name
        is_deferred = self._level >= _MAX_NESTED
        if is_deferred:
            self._deferred.append(name)
        self._level += 1
        try:
            content = self._content(replica, is_deferred)
        finally:
            self._level -= 1
        return ["M", name, REPLICA_TAGS[base], content]

    def _content(self, replica: _Replica, is_deferred: bool = False) -> Any:
        """Encode a container's content: plain items in one piece, else item by item."""
        value, base, extra = replica.value, replica.base, None
        if base is bytearray:
            return value.hex()
        if base is collections.defaultdict:
            extra = self.encode(value.default_factory)
        elif base is collections.deque:
            extra = value.maxlen
        items = [] if is_deferred else replica.content
        if RAW.issuperset(map(type, items)) and not any(map(needs_form, items)):
            return [True, items, extra]
        return [False, [self.encode(item) for item in items], extra]

    def _fill(self, name: str, content: Any) -> None:
        replica = self._replicas[name]
        value, base = replica.value, replica.base
        if base is bytearray:
            value[:] = bytes.fromhex(content)
            replica.content = replica.items()
            return
        is_raw, items, extra = content
        items = items if is_raw else [self.decode(item) for item in items]
        if base is collections.deque and value.maxlen != extra:
            self._replica_names.pop(id(value), None)
            value = replica.value = collections.deque([], extra)
            self._replica_names[id(value)] = name
        if is_raw or base in (list, collections.deque):
            _put(replica, value, items)
        else:
            self._unfilled.append((replica, value, items))
        if base is collections.defaultdict:
            value.default_factory = self.decode(extra)

    def _decoded(self, forms: list[Any], contents: list[Any]) -> list[Any]:
        """Return the values of a message's forms, and fill what it tells of containers."""
        values = [self.decode(form) for form in forms]
        for name, content in contents:
            if name in self._replicas:
                self._fill(name, content)
        while self._unfilled:
            _put(*self._unfilled.pop(0))
        return values

    # --- awaiting --------------------------------------------------------------------------------

    async def wait_for(self, awaitable: Any, method: str = "") -> Any:
        """Await what the other side's awaitable gives, or a coroutine method of an object of it.

        The loops of both sides take turns, so that tasks of both go on. Raises StopAsyncIteration.
        """
        mark = len(self.lost)
        number = self.ask("spawn", awaitable, method)
        try:
            while True:
                is_done, (has_ended, value), delay = self.ask("turn", number)
                if has_ended:
                    raise StopAsyncIteration
                if is_done:
                    return value
                await asyncio.sleep(delay)
        except asyncio.CancelledError:
            self.ask("cancel", number)
            raise
        except self.failures as error:
            self.take_back(error, mark)
            raise

    def _spawn(self, awaitable: Any, method: str) -> int:
        async def run() -> Any:
            try:
                return False, await (getattr(awaitable, method)() if method else awaitable)
            except StopAsyncIteration:
                return True, None

        loop = asyncio._get_running_loop() or self._loop
        if loop is None:
            loop = self._loop = asyncio.new_event_loop()
        self._tasks.append(loop.create_task(run()))
        return len(self._tasks) - 1

    def _turn(self, number: int) -> Any:
        """Let tasks go on; return whether one is done, what it gave, and when to ask again."""
        task, loop = self._tasks[number], self._loop
        if loop is not None and not loop.is_running() and not task.done():
            outer = asyncio._get_running_loop()
            asyncio._set_running_loop(None)
            try:
                loop.stop()  # after one round
                loop.run_forever()
            finally:
                asyncio._set_running_loop(outer)
        if task.done():
            return True, task.result(), 0
        return False, (False, None), _delay(loop)

    # --- values out ------------------------------------------------------------------------------

    def encode(self, value: Any) -> Any:
        """Return the form of a value that crosses. Raises `Refused`."""
        kind = type(value)
        if kind in RAW:
            if not needs_form(value):
                return value
            if kind is int:
                return ["i", hex(value)]
            if kind is str:
                return ["u", value.encode("utf-8", "surrogatepass").hex()]
            handle = self._handle_of(value)  # a NaN is equal to itself only inside containers
            return ["nan", self._keep(value)] if handle is None else ["h", handle]
        if kind in REPLICA_TAGS:
            return self._encode_replica(value, kind)
        encoder = ENCODERS.get(kind)
        if encoder is not None:
            tag, parts = encoder(value)
            return [tag, *[self.encode(part) for part in parts]]  # `map` takes native stack
        if isinstance(value, type):
            return self._encode_class(value)
        if kind is _ALIAS and value._name in typing.__all__ and value._name != "Generic":
            return ["tg", value._name, *map(self.encode, value.__args__)]
        handle = self._handle_of(value)
        if handle is not None:
            is_error = isinstance(value, BaseException)
            return ["h", handle, *(self._changed_notes(value) if is_error else ())]
        if kind in (types.BuiltinFunctionType, types.FunctionType) and self._is_named(value):
            return ["std", value.__module__, value.__qualname__]
        if kind is types.ModuleType:
            if value.__name__ not in sys.stdlib_module_names:
                raise Refused("a module")
            return ["mod", value.__name__]
        if kind is types.TracebackType:
            return None
        if self.is_judge and kind in (types.FrameType, types.CodeType):
            raise Refused(kind.__name__)
        return self._encode_object(value)

    def _handle_of(self, value: Any) -> int | None:
        """Return the number of an object that is known to both sides; theirs are negative."""
        handle = self._handles.get(id(value))
        if handle is not None:
            return handle
        handle = self._their_handles.get(id(value))
        return None if handle is None else -handle

    def _changed_notes(self, error: BaseException) -> list[list[str]]:
        """Return the notes of an error in a list; none if the other side knows them."""
        notes = [*map(str, getattr(error, "__notes__", ()))]
        if notes == self._notes.get(id(error), []):
            return []
        self._notes[id(error)] = notes
        return [notes]

    def _set_notes(self, error: Any, notes: list[str]) -> None:
        if isinstance(error, BaseException):
            self._notes[id(error)] = [*map(str, notes)]
            error.__notes__ = [*self._notes[id(error)]]  # type: ignore[attr-defined] # since 3.11

    def _keep(self, value: Any) -> int:
        self._last_handle += 1
        handle = self._last_handle
        self._mine[handle], self._handles[id(value)] = value, handle
        return handle

    def is_known(self, cls: type) -> bool:
        """Whether the other side knows a class: its own, or one that has been sent."""
        return is_mirror(cls) or id(cls) in self._handles

    def their_handle(self, value: Any) -> int | None:
        """Return the handle of a stand-in, None for any other value."""
        return self._their_handles.get(id(value))

    def _encode_class(self, cls: type, is_type_of: bool = False) -> Any:
        """Encode a class; of an object of the library's, a class that stands for its type."""
        if cls in BUILTIN_TYPES and not is_type_of:
            return ["T", BUILTIN_TYPES[cls]]
        if is_mirror(cls):
            return ["h", -vars(cls)["_handle"]]
        if "_twin_of" in vars(cls):
            return ["h", -vars(cls)["_twin_of"]]
        if self._is_named(cls) and not is_type_of:
            return ["std", cls.__module__, cls.__qualname__]
        if id(cls) in self._handles:
            return ["h", self._handles[id(cls)]]
        handle = self._keep(cls)
        bases = [*map(self.encode, stand_ins.bases_of(cls, self.is_judge))]
        facts = stand_ins.describe(cls)
        if "fields" in facts:
            facts["fields"] = [self.encode(tuple(field)) for field in facts["fields"]]
        return ["C", handle, cls.__name__, bases, facts]

    def _encode_object(self, value: Any) -> Any:
        kind = type(value)
        if kind is types.MappingProxyType:
            return self.encode(dict(value))
        if isinstance(value, BaseException):
            handle, text = self._keep(value), _text_of(value)
            cls, args = self.encode(kind), [self._encoded_or_none(arg) for arg in value.args]
            cause = self._encoded_or_none(value.__cause__)
            self._notes.pop(id(value), None)  # of an error that has gone
            notes = self._changed_notes(value)
            details = {
                name: each
                for name, each in vars(value).items()
                if type(each) in RAW and not name.startswith("_")
            }
            for name in _DETAILS if kind in EXCEPTIONS else ():
                if type(each := getattr(value, name, None)) in (str, int):
                    details[name] = each
            is_alone = value.__suppress_context__
            return ["x", handle, cls, args, text, cause, is_alone, details, *notes]
        if kind in _CALLABLES:
            is_async = kind is types.FunctionType and bool(value.__code__.co_flags & 0x80)
            name, doc = getattr(value, "__name__", "function"), getattr(value, "__doc__", None)
            return ["fn", self._keep(value), name, doc, is_async]
        if kind in _RUNNING:
            return [_RUNNING[kind], self._keep(value)]
        cls = self._encode_class(kind, is_type_of=True)
        if kind in WRAPPERS and not self.is_judge and type(value.data) is WRAPPERS[kind]:
            return ["o", self._keep(value), cls, self.encode(value.data)]
        for base in reversed(REPLICA_TAGS):  # the more special types come last
            if isinstance(value, base):
                return ["o", self._keep(value), cls, self._encode_replica(value, base)]
        data = next((each for each in DATA if isinstance(value, each)), None)
        content = [] if data is None else [self.encode(content_of(value, data))]
        return ["o", self._keep(value), cls, *content]

    def _encoded_or_none(self, value: Any) -> Any:
        try:
            return self.encode(value)
        except Refused:
            return None

    # --- classes ---------------------------------------------------------------------------------

    def derive(self, cls: type, *parts: Any) -> None:
        """Have the other side make the twin of a class of ours: of bases, members and arguments."""
        handle = self._keep(cls)
        try:
            self.ask("derive", handle, cls.__name__, *map(tuple, parts))
        except BaseException:
            del self._mine[handle], self._handles[id(cls)]
            raise

    def _derive(self, handle: int, name: str, bases: Any, members: Any, words: Any) -> None:
        cls = stand_ins.twin(handle, name, bases, members, words)
        self._keep_theirs(handle, cls)

    def _replace(self, cls: type, name: str, value: Any) -> None:
        self._originals.setdefault((id(cls), name), vars(cls).get(name, _MISSING))
        setattr(cls, name, value)

    def _restore(self, cls: type, name: str) -> None:
        original = self._originals.pop((id(cls), name), _MISSING)
        if original is not _MISSING:
            setattr(cls, name, original)
        elif name in vars(cls):
            delattr(cls, name)

    # --- values in -------------------------------------------------------------------------------

    def decode(self, form: Any) -> Any:
        """Return the value of a form. Raises `Refused`, or what a malformed one leads to."""
        if not isinstance(form, list):
            return form
        tag, *parts = form
        decoder = DECODERS.get(tag)
        if decoder is not None:
            return decoder(*[self.decode(part) for part in parts])
        if tag == "h":
            number, *notes = parts
            value = self._mine[-number] if number < 0 else self._theirs[number]
            if notes:
                self._set_notes(value, *notes)
            return value
        return getattr(self, f"_decode_{_TAGS[tag]}")(*parts)

    def _decode_replica(self, name: str, tag: str, content: Any) -> Any:
        return self._filled(name, REPLICAS[tag](), tag, content)

    def _filled(self, name: str, value: Any, tag: str, content: Any) -> Any:
        if self.is_judge and name in self._replicas:
            raise Refused("a container that is known")
        self._replicas[name] = _Replica(value, REPLICAS[tag])
        self._replica_names[id(value)] = name
        self._fill(name, content)
        return self._replicas[name].value

    def _decode_known_replica(self, name: str) -> Any:
        return self._replicas[name].value

    def _decode_nan(self, handle: int) -> float:
        return float(self._keep_theirs(handle, float("nan")))

    def _decode_builtin_type(self, name: str) -> Any:
        return type(None) if name == "NoneType" else type_named(name)

    def _decode_standard(self, module: str, name: str) -> Any:
        if self.is_judge:
            return NAMED[module, name]
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
        return value

    def _decode_module(self, name: str) -> Any:
        if name not in sys.stdlib_module_names or name in ("this", "antigravity"):  # they act
            raise Refused("a module")
        return importlib.import_module(name)

    def _is_named(self, value: Any) -> bool:
        """Whether the other side knows the value by its names."""
        if self.is_judge:
            return is_standard(value)
        return NAMED.get((value.__module__, value.__qualname__)) is value

    def _keep_theirs(self, handle: int, stand_in: Any) -> Any:
        if self.is_judge and (type(handle) is not int or handle in self._theirs):
            raise Refused("an object that is known")
        self._theirs[handle], self._their_handles[id(stand_in)] = stand_in, handle
        return stand_in

    def _decode_class(self, handle: int, name: str, forms: list[Any], facts: dict[str, Any]) -> Any:
        bases = tuple(self.decode(base) for base in forms) or (object,)
        if self.is_judge and not all(map(_is_base, bases)):
            raise Refused("a class that derives from others than the program's")
        cls = self._keep_theirs(handle, stand_ins.make_class(handle, name, bases, facts))
        if "fields" in facts:
            fields = [stand_ins.field(*self.decode(form)) for form in facts["fields"]]
            type.__setattr__(cls, "__dataclass_fields__", {each.name: each for each in fields})
        return cls

    def _decode_function(self, handle: int, name: str, doc: str | None, is_async: bool) -> Any:
        if is_async:

            async def stand_in(*args: Any, **named: Any) -> Any:
                return await self.ask("call", stand_in, args, *pairs(named))

            stand_in.__name__ = stand_in.__qualname__ = str(name)
            stand_in.__signature__ = lambda: stand_ins.signature(self.ask("signature", stand_in))  # type: ignore[attr-defined]
            return self._keep_theirs(handle, stand_in)
        function = Function(str(name), doc if isinstance(doc, str) else None)
        return self._keep_theirs(handle, function)

    def _decode_generator(self, handle: int) -> Any:
        def generate() -> Any:
            action, value = "send", None
            while True:
                is_done, value = self.ask("step", generator, action, value)
                if is_done:
                    return value
                try:
                    action, value = "send", (yield value)
                except GeneratorExit:
                    self.ask("step", generator, "close", None)
                    raise
                except BaseException as error:  # the other side's generator is to see it
                    self.hand_over(error)
                    action, value = "throw", error

        generator = generate()
        return self._keep_theirs(handle, generator)

    def _decode_coroutine(self, handle: int) -> Any:
        async def run() -> Any:
            return await self.wait_for(coroutine)

        coroutine = run()
        return self._keep_theirs(handle, coroutine)

    def _decode_async_generator(self, handle: int) -> Any:
        async def generate() -> Any:
            try:
                while True:
                    yield await self.wait_for(generator, "__anext__")
            except StopAsyncIteration:
                return
            except GeneratorExit:
                await self.wait_for(generator, "aclose")
                raise

        generator = generate()
        return self._keep_theirs(handle, generator)

    def _decode_error(
        self, handle: int, cls: Any, args: list[Any], text: str, cause: Any, is_alone: bool,
        details: dict[str, Any], *notes: list[str],
    ) -> Any:  # fmt: skip
        kind, values = self.decode(cls), [self.decode(arg) for arg in args]
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise Refused("what was raised is no exception")
        try:
            error = kind(*values) if kind in EXCEPTIONS else None
        except TypeError:  # its arguments are not those that it takes
            error = None
        if error is None:
            error = BaseException.__new__(kind, *values)
            error.args = tuple(values)
        error.__dict__["_text"] = str(text)
        self._keep_theirs(handle, error)
        error.__cause__, error.__suppress_context__ = self.decode(cause), bool(is_alone)
        if not isinstance(kind, Mirror):
            for name, each in details.items():
                if not name.startswith("_"):
                    setattr(error, name, each)
        self._notes.pop(id(error), None)
        if notes:
            self._set_notes(error, *notes)
        return error

    def _decode_object(self, handle: int, cls: Any, *content: Any) -> Any:
        kind: Any = self.decode(cls)
        if not isinstance(kind, Mirror):
            raise Refused("an object of what is no class of this side")
        if not content:
            return self._keep_theirs(handle, object.__new__(kind))  # type: ignore[arg-type]
        form = content[0]
        if isinstance(form, list) and form[0] == "M":
            _tag, name, tag, items = form
            return self._keep_theirs(
                handle, self._filled(name, REPLICAS[tag].__new__(kind), tag, items)
            )
        plain = self.decode(form)
        base = type(plain)
        if not issubclass(kind, base):
            raise Refused("the content of another class")
        make: Any = base.__new__
        value = make(kind, plain)
        if base in REPLICA_TAGS:  # a container that has crossed by itself
            base.__init__(value, plain)
        return self._keep_theirs(handle, value)


_TAGS = {
    "nan": "nan",
    "M": "replica",
    "m": "known_replica",
    "T": "builtin_type",
    "std": "standard",
    "mod": "module",
    "C": "class",
    "fn": "function",
    "g": "generator",
    "co": "coroutine",
    "ag": "async_generator",
    "x": "error",
    "o": "object",
}
_CALLABLES = frozenset(
    (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)
)
_RUNNING = {
    types.GeneratorType: "g",
    types.CoroutineType: "co",
    types.AsyncGeneratorType: "ag",
}


def _is_base(cls: type) -> bool:
    is_known = cls is object or cls in DATA or issubclass(cls, BaseException)
    return is_known or is_mirror(cls)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the class is the program's own
        return ""


# --- what a request does -----------------------------------------------------------------------


def _call_method(value: Any, name: str, args: tuple[Any, ...], named: Any = ()) -> Any:
    return getattr(value, name)(*args, **dict(named))


def _operate(value: Any, name: str, args: tuple[Any, ...], named: Any = ()) -> Any:
    found = next((vars(each)[name] for each in type(value).__mro__ if name in vars(each)), None)
    if found is None:
        raise TypeError(f"{type(value).__name__!r} object has no {name}")
    bound = found.__get__(value, type(value)) if hasattr(found, "__get__") else found
    return bound(*args, **dict(named))


def _iterated(value: Any) -> Any:
    """Return an iterator, as a generator if it is another object."""
    iterator = iter(value)
    return value if iterator is value else (item for item in iterator)


def _step(value: Any, action: str, item: Any) -> tuple[bool, Any]:
    """Advance an iterator; return whether it has ended, and its next or last value."""
    try:
        if action in ("__next__", "close"):
            return False, getattr(value, action)()
        return False, getattr(value, action)(item)
    except StopIteration as end:
        return True, end.value


_POLL_S = 0.001  # between looks at a task that waits for the other side


def _delay(loop: Any) -> float:
    """Return the seconds until a loop that does not run has something to do."""
    if loop is None or loop.is_running():
        return _POLL_S
    if loop._ready:
        return 0.0
    return max(0.0, loop._scheduled[0]._when - loop.time()) if loop._scheduled else _POLL_S


_NAMESPACES = types.SimpleNamespace, argparse.Namespace  # whose attributes are their content


def _is_private(value: Any, name: str) -> bool:
    """Whether an attribute is none that an honest program would use."""
    if name.startswith("_") and name.strip("_") and _is_of_tests(value):
        is_decorated = isinstance(value, type) and name in FORWARDED  # by a class decorator
        return name.startswith("__") and name != "__dict__" and not is_decorated
    return name.startswith(("_", "gi_", "cr_", "ag_", "tb_", "f_"))


def _is_descriptor(value: Any) -> bool:
    """Whether an object of the tests is there to be bound by the program's classes."""
    return _is_of_tests(value) or isinstance(value, unittest.mock.NonCallableMock)


def _is_of_tests(value: Any) -> bool:
    """Whether an object, a function or a class is of the tests' own making, and is no test."""
    owner = value if isinstance(value, type | types.FunctionType) else type(value)
    is_test = isinstance(owner, type) and any(each.__name__ == "TestCase" for each in owner.__mro__)
    return owner.__module__ == "__main__" and not is_test


_ON_OBJECTS = (
    "call method member get set delete dir item iter operate step spawn signature annotations copy "
    "isinstance issubclass"
)
_TARGETED = frozenset(_ON_OBJECTS.split())
_UNTARGETED = frozenset(("input", "readline", "read", "turn", "cancel"))
_MOCK = unittest.mock.NonCallableMock
_STEPS = frozenset(("send", "throw", "close", "__next__"))


def check_request(operation: str, forms: list[Any]) -> None:
    """Raise `Refused` unless a request is for an object of the tests that the program was given."""
    if operation in _TARGETED:
        target = forms[0]
        if not (isinstance(target, list) and target[0] == "h" and target[1] < 0):
            raise Refused(operation)
    elif operation not in _UNTARGETED:
        raise Refused(operation)


def _is_mock(value: Any) -> bool:
    return issubclass(value if isinstance(value, type) else type(value), _MOCK)


def _is_control(value: Any, name: str) -> bool:
    """Whether this is a method by which tests set up a mock of theirs, as `configure_mock` is."""
    if not _is_mock(value):
        return False
    owner = value if isinstance(value, type) else type(value)
    kinds = [each for each in owner.__mro__ if each.__module__ == "unittest.mock"]
    is_method = any(type(vars(each).get(name)) is types.FunctionType for each in kinds)
    return is_method and not name.startswith(("assert_", "__"))


def check_target(operation: str, value: Any, name: Any = "") -> None:
    """Raise `Refused` or AttributeError unless an honest program would do this to the object.

    It may call what it was given, use its public attributes and operate on it. It may change
    attributes of objects whose class the tests define.
    """
    if operation == "operate":
        if name not in FORWARDED or (name in stand_ins.DESCRIPTOR and not _is_descriptor(value)):
            raise Refused("operate")
    elif operation in ("step", "spawn"):
        if name not in _STEPS | {"", "__anext__", "aclose"}:
            raise Refused(operation)
    elif operation in ("get", "set", "delete", "method", "member"):
        if type(name) is not str or _is_private(value, name):
            raise AttributeError("a private attribute")
        if _is_control(value, name):
            raise Refused(operation)
        if isinstance(value, types.ModuleType | types.MethodType) or (
            isinstance(value, types.FunctionType) and name not in vars(value) and operation != "set"
        ):
            raise AttributeError(name)
        is_changed = operation in ("set", "delete")
        is_open = _is_of_tests(value) and not _is_mock(value)
        if is_changed and not (is_open or type(value) in _NAMESPACES):
            raise Refused(operation)
