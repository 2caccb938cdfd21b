"""Rows as token ids: prompts to sample from, and prompts with the response to learn."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dataset.prompt_templates import PROMPT_TEMPLATES, RenderedPrompt, render_prompt, token_ids
from ...errors import NoColumn, UsageError
from ...store import sample_of
from .mixed import STYLE, id_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prompt:
    """A row, as the model is asked for it: the text, its token ids."""

    row: Mapping[str, Any]
    said: RenderedPrompt
    ids: list[int]

    @property
    def id(self) -> str:
        """What events call it."""
        return id_of(self.row)


@dataclass(frozen=True)
class Example:
    """A prompt's token ids, and those of the response, with the token that ends it."""

    prompt: list[int]
    response: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.response)


def prompts(
    rows: Iterable[Mapping[str, Any]], tokenizer: Any, style: str, most: int
) -> list[Prompt]:
    """The rows as prompts of at most so many tokens; longer ones are left out with a warning.

    Raises:
        UsageError: there is no row, one is no task, or all prompts are too long.
    """
    found = [_prompt(row, tokenizer, style) for row in rows]
    kept = [each for each in found if 0 < len(each.ids) <= most]
    _report(found, kept, [len(each.ids) for each in found], f"a prompt may have {most}")
    return kept


def examples(
    rows: Iterable[Mapping[str, Any]], tokenizer: Any, style: str, most: int
) -> list[Example]:
    """The rows' prompts and responses, of at most so many tokens; longer ones are left out.

    A response gets the form that the style asks for, and ends as the model's answers do: with the
    token that ends the template's turns, or the tokenizer's end of a sequence, or where there is
    none a stop string of the style; with a warning where there is neither.

    Raises:
        UsageError: there is no row, one is no task or has no response, or all are too long.
    """
    found = [_example(row, tokenizer, style) for row in rows]
    kept = [each for each in found if len(each) <= most]
    if (
        tokenizer.eos_token_id is None
        and PROMPT_TEMPLATES[style].frame
        and not PROMPT_TEMPLATES[style].stop
    ):
        logger.warning("the tokenizer has no end of a sequence, so no end is learnt: answers go on")
    _report(found, kept, list(map(len, found)), f"a prompt and its response may have {most}")
    return kept


def _prompt(row: Mapping[str, Any], tokenizer: Any, style: str) -> Prompt:
    said = render_prompt(row.get(STYLE) or style, row, tokenizer)
    return Prompt(row, said, token_ids(tokenizer, said.text))


def _example(row: Mapping[str, Any], tokenizer: Any, style: str) -> Example:
    sample = sample_of(row)
    if not sample.response.strip():
        raise NoColumn("response", [name for name in row if row[name] not in (None, "")])
    style = row.get(STYLE) or style
    said = render_prompt(style, row, tokenizer)
    response = token_ids(tokenizer, said.rest(PROMPT_TEMPLATES[style].shown(sample)))
    end = tokenizer.eos_token_id
    if said.stop and (
        end is None or PROMPT_TEMPLATES[style].frame is None
    ):  # a template's turns have others
        response += token_ids(tokenizer, said.stop[0])
    elif end is not None:
        response.append(int(end))
    return Example(token_ids(tokenizer, said.text), response)


def _report(found: Sequence[Any], kept: Sequence[Any], lengths: list[int], limit: str) -> None:
    if not found:
        raise UsageError("there are no rows to train on")
    out = len(found) - len(kept)
    if not kept:
        raise UsageError(
            f"all {out} rows are empty or too long: {limit} tokens here (the model's context, "
            f"tokens_per_batch and max_new_tokens bound it), and the shortest has {min(lengths)}"
        )
    if out:
        logger.warning("%d of %d rows are left out: %s tokens", out, len(found), limit)
