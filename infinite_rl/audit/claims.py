"""The claims of a target, which rule out probes of behavior that it documents.

To refuse what the documentation refuses, or to pay what it says is paid, is no defect. The words
are searched widely: a probe that is left out costs a finding, one too many accuses a sound reward.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .process import Description

_FORM = re.compile(r"format|length|style|structure|tag|penalty|repetition|xml|language", re.I)
_ANSWERS = re.compile(r"accura|correct|answer|right|solv", re.I)
_SPELLING = re.compile(
    r"exact|verbatim|character|string|strict|contract|must|integer|digits|plain|line|inside|"
    r"between|after|end|form|text|compared|'[^']*'|`[^`]*`",
    re.I,
)
_TOLERANCE = re.compile(r"toleran|close|within|approx|round|similar|fuzzy|near|ratio|error", re.I)
_SIMILARITY = re.compile(r"similar|jaccard|overlap|\bbleu|rouge|edit distance", re.I)
_FIRST = re.compile(r"\bfirst\b|\bopening\b|begins with|starts with|leading", re.I)
_ANYWHERE = re.compile(
    r"contain|includ|mention|anywhere|any of|overlap|similar|recall|share|fraction of|f1\b", re.I
)
_BATCH = re.compile(
    r"group|relative|divers|\brank|novel|other completions|cent(?:re|er)ed|z-score|advantage|"
    r"normali[sz]\w* (?:by|over|in|within|per|across)|"
    r"(?:depend\w* on|over|of|in|within|across|per|same|whole|its) (?:a |the |its |each )?batch",
    re.I,
)
_TOOLS = re.compile(r"\btool", re.I)
# Code that bounds its caches: they may still grow for many calls.
_BOUNDED = re.compile(r"maxsize\s*=\s*\d|lru_cache\(\d|@(?:\w+\.)?lru_cache\s*$|maxlen|popitem|"
                      r"\.clear\(|\.pop\(|weakref", re.M)  # fmt: skip


@dataclass(frozen=True)
class Claims:
    """Claims in the name, the documentation, the comments or the source of a target.

    form        it judges the form alone, so it pays wrong answers
    spelling    which spellings it reads, so it may refuse others
    tolerance   it pays near answers; a server states nothing, so it may
    similarity  it pays similar texts
    first       it reads the first answer, whatever follows
    anywhere    it pays an answer beside others
    batch       a reward depends on the rest of its batch
    tools       it knows of tools, so a message may be without a text
    bounded     it bounds its caches
    """

    form: bool
    spelling: bool
    tolerance: bool
    similarity: bool
    first: bool
    anywhere: bool
    batch: bool
    tools: bool
    bounded: bool


def claims_of(about: Description) -> Claims:
    """The claims of a target, by the words in its description."""

    def says(pattern: re.Pattern[str], *texts: str) -> bool:
        return bool(pattern.search(" ".join(texts)))

    form = (about.text,) if _ANSWERS.search(about.name) else (about.name, about.text)
    return Claims(
        form=says(_FORM, *form),
        spelling=not about.source or says(_SPELLING, about.text),
        tolerance=not about.source or says(_TOLERANCE, about.name, about.text),
        similarity=says(_SIMILARITY, about.name, about.doc),
        first=says(_FIRST, about.text),
        anywhere=says(_ANYWHERE, about.doc),
        batch=says(_BATCH, about.doc),
        tools=says(_TOOLS, about.source),
        bounded=says(_BOUNDED, about.source),
    )
