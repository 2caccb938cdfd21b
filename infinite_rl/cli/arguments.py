"""Arguments, and those that several verbs share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import UsageError
from ..settings import Settings, of_texts

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

THINKING = "off, minimal, low, medium, high, or tokens, as the model has it (default: its own)"
_OPTION = re.compile(r"\A--(\w[\w-]*)(?==|\Z)", re.ASCII)
_METAVARS = {
    int: "N",
    float: "X",
    Path: "PATH",
    bool: "true|false",
    tuple: "A,B",
    dict: "JSON",
    list: "JSON",
}


def spelt(words: Sequence[str]) -> list[str]:
    """Words of a command line, each option as its help has it: `--out-dir` is `--out_dir`.

    What follows an option's "=", or a bare "--", stays as it is.
    """
    end = words.index("--") if "--" in words else len(words)
    return [*(_OPTION.sub(_underscored, word) for word in words[:end]), *words[end:]]


def _underscored(name: re.Match[str]) -> str:
    return "--" + name[1].replace("-", "_")


def option(
    parser: argparse.ArgumentParser,
    flag: str,
    default: object,
    help_text: str,
    kind: type = str,
) -> None:
    """An option with a value; its help names the default, if there is one."""
    if default not in (None, ""):
        help_text += f" (default: {default})"
    metavar = _METAVARS.get(kind, "TEXT")
    parser.add_argument(flag, type=kind, default=default, metavar=metavar, help=help_text)


def switch(parser: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    """An option without a value."""
    parser.add_argument(flag, action="store_true", help=help_text)


def for_machines(parser: argparse.ArgumentParser, form: str = "one JSON object") -> None:
    """What has `terminal.tell` print values in the place of lines."""
    switch(parser, "--json", f"print {form} instead, for machines")


def keys(parser: argparse.ArgumentParser, job: type[Settings], but: Iterable[str] = ()) -> None:
    """A flag for each key of a job's settings, `but` for some; `keys_given` reads them."""
    explained, defaults = job.explained(), job.defaults()
    for key, kind in job.kinds().items():
        if key not in but:
            flags = ["-o", "--out"] if key == "out" else [f"--{key}"]
            text = explained.get(key, "")
            if "(default:" not in text:
                text += _default(defaults.get(key))
            metavar = _METAVARS.get(kind, "TEXT")
            parser.add_argument(*flags, metavar=metavar, help=text.replace("%", "%%"))


def _default(value: object) -> str:
    """What a key's help says of its default: nothing where that is empty."""
    if isinstance(value, bool):
        return f" (default: {str(value).lower()})"
    return "" if value in (None, "", (), {}) else f" (default: {value})"


def keys_given(given: argparse.Namespace, job: type[Settings]) -> dict[str, Any]:
    """The values of the flags of `keys`, those that are there."""
    kinds = job.kinds()
    return of_texts({key: getattr(given, key, None) for key in kinds}, kinds)


def out_dir(parser: argparse.ArgumentParser, help_text: str | None = None) -> None:
    """The folder that a verb works on."""
    parser.add_argument("out_dir", type=Path, metavar="OUT_DIR", help=help_text)


def timeout(parser: argparse.ArgumentParser, default: float | None = 5.0) -> None:
    """How long a program may run; the default None is that of the folder's run."""
    help_text = "seconds one run of a program may take"
    if default is None:
        help_text += " (default: the run's own, else 5.0)"
    option(parser, "--timeout", default, help_text, float)


def rows_in(parser: argparse.ArgumentParser) -> None:
    """The rows that a verb takes."""
    kinds = "a file (.csv, .jsonl, .jsonl.gz, .json, .parquet), or a folder"
    parser.add_argument("source", metavar="FILE", help=f"the rows: {kinds}")


def rows_out(parser: argparse.ArgumentParser, help_text: str = "") -> None:
    """The file that a verb makes."""
    kinds = ".csv, .jsonl, .jsonl.gz, .json or .parquet"
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help=help_text or f"where the rows go, in the kind that the name says: {kinds}",
    )
    switch(parser, "--overwrite", "replace the files that are made, if they are there")


def compared(
    parser: argparse.ArgumentParser, default: str = "the prompt", flag: str = "--columns"
) -> None:
    """The columns that are compared."""
    what = f"columns that are compared, with commas between them (default: {default})"
    parser.add_argument(flag, type=_names, default=(), metavar="TEXT", help=what)


def near(parser: argparse.ArgumentParser, threshold: float) -> None:
    """When two rows are near-duplicates."""
    what = "likeness from which two rows ask for the same, up to 1; at 1, only equal ones do"
    option(parser, "--threshold", threshold, what, float)
    parser.add_argument(
        "--numbers",
        choices=("exact", "ignore"),
        default="exact",
        help="whether the same task with other numbers is another task (default: exact, it is)",
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def refuse_existing(
    given: argparse.Namespace, *files: Path | None, read: Iterable[object] = ()
) -> None:
    """See that files may be made, which `read` are not changed by.

    Raises:
        UsageError: one is there, and --overwrite is not given; two are the same; one would lie in a
            folder whose files are all read, or is what a run lives on.
    """
    made = [file for file in files if file]
    for number, file in enumerate(made):
        if file.exists() and not given.overwrite:
            raise UsageError(f"{file} is there already: --overwrite replaces it")
        if file.resolve() in [other.resolve() for other in made[:number]]:
            raise UsageError(f"{file} cannot hold two things: name another file for one of them")
        if _is_of_a_run(file):
            raise UsageError(f"{file} is what a run goes on from: name another file")
        for folder in read:
            _refuse_inside(file, folder)


def _refuse_inside(file: Path, folder: object) -> None:
    from ..store import DATASET

    if not isinstance(folder, str | Path) or folder == "" or not Path(folder).is_dir():
        return
    if Path(folder).resolve() in file.resolve().parents and not Path(folder, DATASET).is_file():
        raise UsageError(f"{file} would be read with the files of {folder}: put it elsewhere")


def _is_of_a_run(file: Path) -> bool:
    from ..manifest import MANIFEST
    from ..store import DATASET, FAILED, JOURNAL

    return file.name in {DATASET, FAILED, JOURNAL, MANIFEST} and any(
        file.with_name(name).exists() for name in (JOURNAL, MANIFEST)
    )
