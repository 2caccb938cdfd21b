"""In which language a program is judged, and what a reference means in that language."""

from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath
from typing import TypeAlias

from ...errors import UnknownName
from ...sandbox.javascript.runners import files_of, missing_library, missing_member, missing_runner
from ...sandbox.runtimes import language_of, language_of_tests, runtime_named
from ..reward_function import BadReference
from .calls import WrongLanguage, call_tests
from .reference import Calls, Cases, Output, Predicate, Reference, ReferenceCode, Tests
from .verdicts import quote

Runnable: TypeAlias = Output | Predicate | ReferenceCode | Tests | Cases


class LanguageChoice:
    """The default language of a reward, and the names that its executor knows."""

    def __init__(self, *, accepts_any: bool = False) -> None:
        self.default = "python"
        self._is_set = False
        self._accepts_any = accepts_any  # an executor that was passed in may have its own languages

    def set(self, language: str) -> None:
        """Set the language of calls that name none. Raises `UnknownName`."""
        self.default, self._is_set = self.resolve(language), True

    def resolve(self, language: str) -> str:
        """The runtime's name. Raises `UnknownName`."""
        name = str(language).lower()
        return name if self._accepts_any and not language_of(name) else runtime_named(name).name

    def stated(self, language: str | None) -> str:
        """The language that a call names, else the one that was set; "" if neither is given."""
        name = language or (self.default if self._is_set else "")
        return name and self.resolve(name)

    def agreed(self, reference: Reference, stated: str) -> str:
        """The language by the reference, else by the call; "" if neither says.

        Raises `BadReference`.
        """
        if isinstance(reference, (Predicate, ReferenceCode)) or not reference.language:
            agreed = stated
        else:
            try:
                agreed = self.resolve(reference.language)
            except UnknownName:
                raise BadReference(f"{reference.language} cannot be run") from None
            # Tests whose text shows that they are JavaScript are also TypeScript's.
            agreed = stated if stated and language_of_tests(stated) == agreed else agreed
        return agreed


def in_language(reference: Reference, language: str) -> Runnable:
    """Return the reference for a program in the language: calls become tests.

    Raises `BadReference` if it is known without a run that it cannot be for that language.
    """
    of_tests = language_of_tests(language)
    if isinstance(reference, (Calls, Tests)) and not of_tests:
        raise WrongLanguage(f"tests cannot run in {language}: only cases of input and output can")
    if isinstance(reference, Calls):
        return call_tests(reference, of_tests)
    if isinstance(reference, ReferenceCode):
        return replace(reference, language=reference.language or language)
    if isinstance(reference, Tests) and of_tests == "javascript":
        texts = (reference.setup, *reference.tests)
        if runner := next(filter(None, map(missing_runner, texts)), ""):
            raise BadReference(f"the tests cannot run: they are written for {runner}")
        if member := next(filter(None, map(missing_member, texts)), ""):
            raise BadReference(f"the tests cannot run: there is no {member}")
        if library := missing_library(texts):
            raise BadReference(f"the tests cannot run: they use {library}, which is not there")
        names = {"solution", "main", PurePosixPath(reference.file).stem} - {""}
        for path in chain.from_iterable(map(files_of, texts)):
            if PurePosixPath(path).stem not in names:
                raise BadReference(
                    f"the tests cannot run: there is no file {quote(path)}, but ./solution, "
                    './main and what "file" names'
                )
    return reference
