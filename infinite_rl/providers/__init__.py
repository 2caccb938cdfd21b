"""Who answers prompts: a table of providers by name, one of which is loaded when it is asked for.

    provider.py            what a provider is: text in, a completion out
    gemini.py              Google's models
    gemini_batch.py        the same in file batches, at half price
    openai_compatible.py   any server with OpenAI's protocol
    scripted.py            says what it was told to, for tests
    remote.py              what those that ask a service share
    thinking.py            how much a model thinks, and the room that its thoughts need
    structured.py          the three sections as JSON by a schema

    limits.py              a provider asked within limits, and again while trouble passes
    gate.py                when its next call may begin
    pace.py                the set and the learned rate, and calls at once
    prices.py              the table of models, and what a call costs
    models.py              the default model, another one to check it, and those shut down

A provider makes each call once: when, and whether again, is for `limits.py` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from types import MappingProxyType

from ..errors import UnknownName, UsageError
from . import gemini, openai_compatible
from .gemini import environment_key
from .models import DEFAULT_MODEL, other_model
from .provider import Provider

__all__ = [
    "AUTO",
    "DEFAULT_MODEL",
    "KEY_VARIABLES",
    "PROVIDERS",
    "Provider",
    "make_provider",
    "other_model",
    "resolve_provider",
]

AUTO = "auto"
ONLY_PROCEDURAL = "--level and --families choose procedural tasks, and the provider is {}"
# The environment's variables whose values must be in no file, log or message.
KEY_VARIABLES = (
    *gemini.KEY_VARIABLES,
    openai_compatible.KEY_VARIABLE,
    openai_compatible.DEEPSEEK_KEY_VARIABLE,
)


@dataclass(frozen=True)
class Row:
    """Where a provider's class is ("module:Class"), and whether it is told which model to ask.

    `batches` is where the class is that also makes batches, "" where there is none.
    """

    place: str
    asks_a_model: bool = True
    batches: str = ""


PROVIDERS: Mapping[str, Row] = MappingProxyType(
    {
        "gemini": Row(
            "infinite_rl.providers.gemini:GeminiProvider",
            batches="infinite_rl.providers.gemini_batch:GeminiBatches",
        ),
        "openai_compatible": Row(
            "infinite_rl.providers.openai_compatible:OpenAICompatibleProvider"
        ),
        "procedural": Row("infinite_rl.procedural:ProceduralProvider", False),
    }
)


def resolve_provider(name: str = AUTO) -> str:
    """The provider that `name` means: "auto" is gemini where an API key is set, else procedural.

    Raises:
        UnknownName: no provider has this name.
    """
    if name == AUTO:
        return "gemini" if environment_key() else "procedural"
    if name not in PROVIDERS:
        raise UnknownName("provider", name, {AUTO, *PROVIDERS})
    return name


def make_provider(
    name: str = AUTO,
    model: str = DEFAULT_MODEL,
    *,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    base_url: str | None = None,
    structured: bool = False,
    thinking: str | int | None = None,
    batch: bool = False,
    api_key: str | None = None,
    level: int | str | Sequence[int] | None = None,
    families: Sequence[str] | None = None,
) -> Provider:
    """The provider that `name` means; one that asks no model has no use for the other arguments.

    A provider that is not in the table, such as `ScriptedProvider` or your own, needs no name: pass
    the object itself. With `batch`, it is a `BatchProvider` as well. `api_key` is by default
    that of the environment. `level` and `families` are those of the procedural provider.

    Raises:
        UnknownName: no provider has this name.
        ProviderRefused: the provider lacks what it needs, such as an API key.
        UsageError: `model` cannot be a model's name, or another argument has no meaning.
    """
    name = resolve_provider(name)
    row = PROVIDERS[name]
    if batch and not row.batches:
        known = ", ".join(name for name, row in PROVIDERS.items() if row.batches)
        raise UsageError(f"{name} makes no batches; known for them: {known}")
    settings = {
        "temperature": temperature,
        "max_output_tokens": max_output_tokens,
        "base_url": base_url,
        "structured": structured,
        "thinking": thinking,
        "api_key": api_key,
    }
    kind = resolve_name(row.batches if batch else row.place)
    if not row.asks_a_model:
        made: Provider = kind(level=level, families=families or ())
        return made
    if level is not None or families:
        raise UsageError(ONLY_PROCEDURAL.format(name))
    provider: Provider = kind(model, **settings)
    return provider
