"""Typed configs: keys of a YAML or JSON file, or flags, validated before anything runs.

Each job has a frozen record, a subclass of `Config`, with one annotated field a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from inspect import cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as validated
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from typing_extensions import dataclass_transform

from .errors import StoreError, UsageError, nearest

ConfigT = TypeVar("ConfigT", bound="Config")
Value = TypeVar("Value")
_RULES = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
_MAX_BYTES, _MAX_VALUES = 2**20, 100_000  # of a file; of values, with each alias counted as a copy
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_KEY = re.compile(r"^(\w+) {2,}(\S.*(?:\n {3,}\S.*)*)$", re.MULTILINE)


def _number(value: Any) -> Any:
    try:  # YAML 1.1 reads 1e-6 as a string
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _path(value: Any) -> Any:
    if value == "":  # an unset variable; Path("") would be the working directory
        raise PydanticCustomError("empty", "must not be empty")
    return Path(value) if isinstance(value, str) else value


def one_of(*names: str) -> AfterValidator:
    """Restrict a string to these names: `Annotated[str, one_of("a", "b")]`."""

    def check(value: str) -> str:
        if value not in names:
            context = {"names": ", ".join(names)}
            raise PydanticCustomError("one_of", "must be one of {names}", context)
        return value

    return AfterValidator(check)


def ranged(default: Value, low: float, high: float | None = None) -> Value:
    """The default of a number between `low` and `high`."""
    limited: Value = Field(default=default, ge=low, le=high)
    return limited


Number = Annotated[float, BeforeValidator(_number)]
FilePath = Annotated[Path, BeforeValidator(_path)]
Strings = Annotated[Sequence[str], AfterValidator(tuple)]
Mappings = Annotated[Sequence[Mapping[str, Any]], AfterValidator(tuple)]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Config:
    """The base of all configs: a subclass is a frozen dataclass, validated when it is made.

    The docstring of a subclass explains each key on a line: its name, two spaces, the help text.

    Raises:
        UsageError: a key is unknown or missing, or a value has the wrong type or is out of range;
            the message names the key.
    """

    __pydantic_fields__: ClassVar[dict[str, FieldInfo]]

    def __init_subclass__(cls, kw_only: bool = False) -> None:
        validated(frozen=True, config=_RULES, kw_only=kw_only)(cls)
        validate: Callable[..., None] = cls.__init__

        def init(self: Config, *args: Any, **values: Any) -> None:
            try:
                validate(self, *args, **values)
            except ValidationError as error:
                raise UsageError(cls._fault(error)) from None
            for key, each in cls.__pydantic_fields__.items():
                value = getattr(self, key)
                if each.is_required() and isinstance(value, str) and not value.strip():
                    raise UsageError(cls._missing(key))

        setattr(cls, "__init__", init)  # noqa: B010 -- mypy forbids assigning to a method

    @classmethod
    def kinds(cls) -> Mapping[str, Any]:
        """Each key's type, without its constraints and None: `flag_value` reads a text as it."""
        return {name: _base(each.annotation) for name, each in cls.__pydantic_fields__.items()}

    @classmethod
    def explained(cls) -> dict[str, str]:
        """Each key's help text, from the docstrings of the class and its bases."""
        docs = [cleandoc(each.__dict__.get("__doc__") or "") for each in reversed(cls.__mro__)]
        texts = {key: " ".join(text.split()) for doc in docs for key, text in _KEY.findall(doc)}
        return {key: texts[key] for key in cls.__pydantic_fields__ if key in texts}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The default of each key that has one."""
        optional = cls.__pydantic_fields__.items()
        return {
            name: each.get_default(call_default_factory=True)
            for name, each in optional
            if not each.is_required()
        }

    @classmethod
    def of(cls: type[ConfigT], values: Mapping[str, Any]) -> ConfigT:
        """Make a config of values by key. Raises UsageError as the class does."""
        for key in values:
            if key not in cls.__pydantic_fields__:
                keys = sorted(cls.__pydantic_fields__)
                hint = nearest(str(key), keys) or f"; known: {', '.join(keys)}"
                raise UsageError(f"unknown key {key!r}{hint}")
        return cls(**values)

    @classmethod
    def read(
        cls: type[ConfigT],
        path: str | Path,
        changes: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> ConfigT:
        """Read a config file; `changes` override it, `defaults` fill what it leaves out.

        Raises:
            UsageError: there is no such file, it holds no mapping, or as the class.
            StoreError: the file cannot be read.
        """
        try:
            return cls.of({**(defaults or {}), **read_yaml(Path(path)), **(changes or {})})
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    def values(self) -> dict[str, Any]:
        """All values by key, in the types of JSON and YAML; `of` reads them back."""
        return {
            key: list(each)
            if isinstance(each, tuple)
            else str(each)
            if isinstance(each, Path)
            else each
            for key, each in deepcopy(vars(self)).items()
        }

    def pick(self, *keys: str) -> dict[str, Any]:
        """The values of some keys, as keywords for a call."""
        return {key: getattr(self, key) for key in keys}

    def part(self, cls: type[ConfigT]) -> ConfigT:
        """The keys of a base class, as a config of it."""
        return cls(**self.pick(*cls.__pydantic_fields__))

    @classmethod
    def _missing(cls, key: str) -> str:
        return f"{cls.called(key)} is missing: {cls.explained().get(key, '')}"

    @classmethod
    def called(cls, key: str) -> str:
        """What errors call a key."""
        return key

    @classmethod
    def _fault(cls, error: ValidationError) -> str:
        """The first fault in one line."""
        faults = error.errors(include_url=False)
        # Of a union, the last alternative: that of the number in `Literal["auto"] | Number`.
        fault = [each for each in faults if each["loc"][:1] == faults[0]["loc"][:1]][-1]
        if isinstance(cause := fault.get("ctx", {}).get("error"), UsageError):
            return str(cause)
        key = str(fault["loc"][0]) if fault["loc"] else "the config"
        if fault["type"] == "missing":
            return cls._missing(key)
        limits, text, hint = fault.get("ctx", {}), fault["msg"], ""
        if "ge" in limits:
            text = f"must be at least {limits['ge']:g}"
        elif "le" in limits:
            text = f"must be at most {limits['le']:g}"
        elif fault["type"] in _LISTS:
            text = "must be a list"
        elif "[key]" in fault["loc"]:
            text = "Input should be a valid dictionary"
        for theirs, ours in _WORDS.items():
            text = text.replace(theirs, ours)
        if fault["type"] == "one_of":
            hint = nearest(fault["input"], limits["names"].split(", "))
        return f"{cls.called(key)} {text}, not {fault['input']!r}{hint}"


_LISTS = ("sequence_str", "is_instance_of")
_WORDS = {
    "Input should": "must",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "a string",
    "a valid boolean": "true or false",
    "a valid dictionary": "a mapping with string keys",
}


def _base(annotation: Any) -> Any:
    """An annotation without None and what constrains it; of a union, its last type."""
    if get_origin(annotation) is Annotated:
        return _base(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return _base([each for each in get_args(annotation) if each is not NoneType][-1])
    if get_origin(annotation) is Sequence:
        return Sequence[_base(get_args(annotation)[0])]  # type: ignore[misc]  # a type at run time
    return get_origin(annotation) or annotation


def flag_value(key: str, kind: Any, text: str) -> Any:
    """Read the text of a flag as its key's type; what is of another type is left to validation.

    Raises:
        UsageError: a key of mappings is given no JSON.
    """
    if kind == Sequence[str]:
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind is Mapping or get_origin(kind) is Sequence:
        try:
            return json.loads(text)
        except ValueError:
            example = '{"key": 1}' if kind is Mapping else '[{"key": 1}]'
            raise UsageError(f"--{key} takes JSON, such as {example}, not {text!r}") from None
    if kind is int and re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    return {"true": True, "false": False}.get(text.lower(), text) if kind is bool else text


def flag_values(args: Mapping[str, Any], config: type[Config]) -> dict[str, Any]:
    """The values of the keys of a config among the arguments of a command line."""
    kinds = config.kinds()
    return {
        key: flag_value(key, kinds[key], each) if isinstance(each, str) else each
        for key, each in args.items()
        if key in kinds and each not in (None, [])
    }


def check_device(name: str) -> None:
    """Raise UsageError for a `device` that torch does not have."""
    if not _DEVICE.fullmatch(name):
        raise UsageError(f"device must be auto, cpu, mps, cuda or cuda:N, not {name!r}")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read the mapping in a YAML or JSON file.

    Raises:
        UsageError: there is no such file, or it holds no mapping.
        StoreError: it cannot be read.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8-sig")
        if len(text) > _MAX_BYTES:
            raise UsageError("it is larger than 1 MB")
        loader = yaml.SafeLoader(text)
        tree = loader.get_single_node()
        if tree and _size(tree, {}) > _MAX_VALUES:
            raise UsageError(f"its aliases make more than {_MAX_VALUES:,} values of it")
        keys = [key.value for key, _ in tree.value] if isinstance(tree, yaml.MappingNode) else []
        values = loader.construct_document(tree) if tree else None
    except UsageError:
        raise
    except (FileNotFoundError, IsADirectoryError):
        raise UsageError("there is no such file") from None
    except UnicodeDecodeError:
        raise UsageError("it is not UTF-8") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"it is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise UsageError("it does not hold a mapping of keys to values")
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise UsageError(f"the key {twice[0]!r} is there twice")
    return values


def _size(node: Any, sizes: dict[int, int]) -> int:
    """The values in a YAML node, with each alias counted as a copy.

    Raises ValueError if an alias holds itself.
    """
    if id(node) not in sizes:
        sizes[id(node)] = 0  # in progress
        parts = node.value if isinstance(node.value, list) else ()
        pairs = (part if isinstance(part, tuple) else (part,) for part in parts)
        sizes[id(node)] = 1 + sum(_size(each, sizes) for pair in pairs for each in pair)
    elif not sizes[id(node)]:
        raise ValueError("an alias holds itself")
    return sizes[id(node)]


def to_yaml(values: Mapping[str, Any]) -> str:
    """Write values by key as YAML, in their order."""
    import yaml

    text: str = yaml.safe_dump(dict(values), sort_keys=False)
    return text
