"""What a verb is: a config whose keys are its arguments and flags, and `run`."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, get_origin

from typing_extensions import dataclass_transform

from ..config import Config, FilePath, Number
from ..errors import UsageError
from .terminal import WRONG_USAGE, Emit

if TYPE_CHECKING:
    from ..providers.rate_limit import Limits

VerbT = TypeVar("VerbT", bound="Verb")
_CODES = "Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage, 130 interrupted."
_FLAG = re.compile(r"\A--(\w[\w-]*)(?==|\Z)", re.ASCII)
_COLUMN_KEYS = ("prompt", "answer", "completion", "type")
_NEGATIVE = re.compile(r"-\.?[0-9][-+0-9.eE,]*")
_NO_DEFAULT = ("None", "", "False", "()", "{}")
OWN_REWARDS = "NAME=FILE.py:CLASS"  # the form of --rewards
_METAVARS = {int: "N", float: "X", Path: "PATH"}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Verb(Config):
    """A command. Its docstring is its help: what it does, its keys, and paragraphs of examples.

    `positional` are the keys that are given without a flag, `repeated` those whose flag takes
    several values; `aliases` has a second flag for a key, `metavars` the form of its values,
    `hidden` the keys that have no flag. `config_file` is how a file of the keys is given: by the
    flag --config, as the positional argument CONFIG, or not at all ("").
    """

    positional: ClassVar[Sequence[str]] = ()
    repeated: ClassVar[Sequence[str]] = ()
    config_file: ClassVar[str] = "--config"
    aliases: ClassVar[Mapping[str, str]] = {"out": "-o"}
    metavars: ClassVar[Mapping[str, str]] = {}
    hidden: ClassVar[Sequence[str]] = ()
    json_form: ClassVar[str] = "one JSON object"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__(kw_only=True)

    @classmethod
    def load(cls: type[VerbT], flags: Mapping[str, Any], file: Path | None) -> VerbT:
        """Make the config of a file, if one is given, and of the flags, which override it."""
        return cls.read(file, flags) if file else cls.of(flags)

    @classmethod
    def called(cls, key: str) -> str:
        """What errors call a key: its flag, or the argument in capitals; as it is in a CONFIG."""
        if cls.config_file == "config" or key in cls.hidden or key not in cls.kinds():
            return key
        return key.upper() if key in cls.positional else cls.aliases.get(key, f"--{key}")

    @property
    def log_level(self) -> int:
        """The level from which on the package's log lines are shown."""
        return logging.INFO

    def column_hint(self, columns: Iterable[str]) -> str:
        """Name the options for columns of a `Sample` that rows lack: "; name it with --answer"."""
        keys = ["completion" if column == "response" else column for column in columns]
        flags = [f"--{key}" for key in keys if key in _COLUMN_KEYS and key in self.kinds()]
        return f"; name {'them' if len(flags) > 1 else 'it'} with {', '.join(flags)}" * bool(flags)

    def run(self, emit: Emit) -> int:
        """Do the work, `emit` what came of it, and return the exit code."""
        raise NotImplementedError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which suggests the flag that may be meant."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, argument_default=argparse.SUPPRESS)
        self._negative_number_matcher = _NEGATIVE  # "-1,2" is a value, which its flag refuses

    def error(self, message: str) -> NoReturn:
        if unknown := re.match(r"unrecognized arguments: (--?\w+)", message):
            name, flags = unknown[1], sorted(set(self._option_string_actions))
            meant = [each for each in flags if len(name) > 2 and each.startswith(name)]
            meant = meant[:5] or get_close_matches(name, flags, 1, 0.75)
            message += f"; did you mean {' or '.join(meant)}?" if meant else ""
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def fill(parser: argparse.ArgumentParser, verb: type[Verb]) -> None:
    """Give a parser the help, arguments and flags of a verb."""
    paragraphs = [" ".join(each.split()) for each in cleandoc(verb.__doc__ or "").split("\n\n")]
    keys = {paragraph.split(" ")[0] for paragraph in paragraphs} & set(verb.kinds())
    epilog = [each for each in paragraphs if re.match("Examples?: |Exit code", each)]
    if not any("Exit code" in each for each in epilog):
        epilog.append(_CODES)
    parser.description = " ".join(
        each for each in paragraphs if each not in epilog and each.split(" ")[0] not in keys
    )
    parser.epilog = " ".join(epilog)
    if verb.config_file:
        text = "a YAML or JSON file with these keys, which flags override"
        nargs: dict[str, Any] = {} if verb.config_file.startswith("-") else {"nargs": "?"}
        parser.add_argument(verb.config_file, metavar="CONFIG", help=text, **nargs)
        if nargs:
            parser.add_argument("--config", metavar="CONFIG", help="the same file")
    _add_flags(parser, verb)
    text = f"print {verb.json_form} instead of text"
    parser.add_argument("--json", action="store_true", help=text)
    needed = [
        key for key in verb.kinds() if key not in verb.defaults() and key not in verb.positional
    ]
    words = [f"[{verb.config_file.upper()}]"] if verb.config_file == "config" else []
    words += [_usage(key, verb) for key in verb.positional]
    words += [f"{'-o' if key == 'out' else f'--{key}'} {key.upper()}" for key in needed]
    parser.usage = " ".join(["%(prog)s", *words, "[options]"])


def _usage(key: str, verb: type[Verb]) -> str:
    word = key.upper() + (" ..." if get_origin(verb.kinds()[key]) is Sequence else "")
    return f"[{word}]" if key in verb.defaults() else word


def _add_flags(parser: argparse.ArgumentParser, verb: type[Verb]) -> None:
    """Add an argument for each key of a verb; `flag_values` reads them."""
    texts, defaults = verb.explained(), verb.defaults()
    for key, kind in verb.kinds().items():
        if key in verb.hidden:
            continue
        text = texts.get(key, "")
        if "(default: " not in text and str(defaults.get(key, "")) not in _NO_DEFAULT:
            default = defaults[key]
            shown = ",".join(default) if isinstance(default, tuple) else default
            text += f" (default: {shown})"
        options: dict[str, Any] = {"help": text.replace("%", "%%")}
        flags = [*filter(None, [verb.aliases.get(key)]), f"--{key}"]
        if kind is bool:
            parser.add_argument(*flags, action="store_true", **options)
            off = f"--no_{key}"
            parser.add_argument(off, dest=key, action="store_false", help=argparse.SUPPRESS)
        elif key in verb.positional:
            options["nargs"] = "*" if get_origin(kind) is Sequence else "?"
            parser.add_argument(key, metavar=key.upper(), **options)
        elif key in verb.repeated:
            parser.add_argument(*flags, metavar="X", nargs="+", action="extend", **options)
        else:
            form = verb.metavars.get(key) or _metavar(kind)
            parser.add_argument(*flags, dest=key, metavar=form, **options)


def _metavar(kind: Any) -> str:
    if kind == Sequence[str]:
        return "A,B"
    return (
        "JSON" if kind is Mapping or get_origin(kind) is Sequence else _METAVARS.get(kind, "TEXT")
    )


def normalize_flags(argv: Sequence[str]) -> list[str]:
    """Spell each flag as its help does: `--out-dir` is `--out_dir`; values stay as they are."""
    end = argv.index("--") if "--" in argv else len(argv)
    flags = [_FLAG.sub(lambda flag: "--" + flag[1].replace("-", "_"), word) for word in argv[:end]]
    return [*flags, *argv[end:]]


# --- keys that several verbs share ---------------------------------------------------------------


class RowsIn(Verb):
    """source  the rows: a folder, or a file (.csv, .jsonl, .csv.gz, .jsonl.gz, .json, .parquet)"""

    positional = ("source",)
    source: str


class NamedColumns(RowsIn):
    """
    prompt      column of the prompts (default: the first of prompt, question, problem and others)
    answer      column of the golds (default: answer)
    completion  column of the worked responses (default: response)
    type        reward of all rows (default: each row's `type`)
    """

    prompt: str = ""
    answer: str = ""
    completion: str = ""
    type: str = ""

    def named(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the rows with the named columns under the names of a `Sample`, to be compared."""
        from ..dataset.rows import with_names

        names = {"prompt": self.prompt, "answer": self.answer, "response": self.completion}
        return with_names(rows, names, self.type)


class RowsOut(Verb):
    """
    out        file for the rows: .csv, .jsonl, .csv.gz, .jsonl.gz, .json or .parquet
    overwrite  replace the output files if they exist
    """

    out: FilePath
    overwrite: bool = False

    def refuse_existing(self, *files: Path | None, read: Iterable[object] = ()) -> None:
        """Check that files may be written while `read` are read. Raises UsageError."""
        refuse_existing(files, read, overwrite=self.overwrite)


def refuse_existing(
    files: Iterable[Path | None], read: Iterable[object] = (), *, overwrite: bool
) -> None:
    """Check that files may be written while `read` are read.

    Raises:
        UsageError: a file exists and `overwrite` is off; two are the same; one would be read
            with the folder that it is in, or belongs to a run.
    """
    from ..dataset.parquet import COPY
    from ..manifest import MANIFEST
    from ..store import DATASET, FAILED, JOURNAL

    outputs = [file for file in files if file]
    folders = [Path(each) for each in read if isinstance(each, str | Path) and each != ""]
    # The folder of a run is read by its data set alone.
    folders = [each for each in folders if each.is_dir() and not (each / DATASET).is_file()]
    for number, file in enumerate(outputs):
        if file.exists() and not overwrite:
            raise UsageError(f"{file} is there already: --overwrite replaces it")
        if file.resolve() in [other.resolve() for other in outputs[:number]]:
            raise UsageError(f"{file} cannot hold two things: name another file for one of them")
        in_run = any(file.with_name(name).exists() for name in (JOURNAL, MANIFEST))
        if in_run and file.name in {DATASET, COPY, FAILED, JOURNAL, MANIFEST}:
            raise UsageError(f"{file} belongs to a run, which resumes from it: name another file")
        for folder in folders:
            if folder.resolve() in file.resolve().parents:
                raise UsageError(
                    f"{file} would be read with the files of {folder}: put it elsewhere"
                )


class AsksModel(Verb):
    """
    provider           auto, gemini or openai_compatible
    model_name         model to ask (default: gemini's default)
    base_url           URL of the provider's API, such as http://localhost:8000/v1
    seed               seed of the run; another seed gives other samples
    temperature        sampling temperature (default: the model's)
    max_output_tokens  tokens of a completion, not counting its reasoning
    thinking           off, minimal, low, medium, high, or a number of tokens (default: the model's)
    rpm                maximum requests per minute
    tpm                maximum tokens per minute
    max_concurrency    maximum concurrent requests (default: threads)
    price              dollars per million tokens: input,output (default: from a table)
    max_cost           maximum cost of all calls that the folder keeps, in dollars
    timeout            seconds one run of a program may take
    dry_run            print what it may cost; send no request, write no file
    """

    provider: str = "auto"
    model_name: str | None = None
    base_url: str | None = None
    seed: int = 0
    temperature: Number | None = None
    max_output_tokens: int | None = None
    thinking: int | str | None = None
    rpm: int | None = None
    tpm: int | None = None
    max_concurrency: int | None = None
    price: str | None = None
    max_cost: Number | None = None
    timeout: Number = 5.0
    dry_run: bool = False

    @property
    def limits(self) -> Limits | None:
        """The rate limits, if there are any."""
        limits = (self.rpm, self.tpm, self.max_concurrency)
        if limits == (None, None, None):
            return None
        from ..providers.rate_limit import Limits

        return Limits(*limits)
