"""The table of models: price, shut-down date, thinking; and the cost of calls, in US dollars.

The table is of November 2026. If a provider has more than one price for a model (by prompt length
or time of day), the table has the higher one, so a cost limit stops too early rather than too late.
An unknown model has no price: None, never 0. `--price` overrides the table. `models.py` has the
functions on shut-down dates and thinking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from types import MappingProxyType

from ..errors import UsageError
from ..types import Usage

# Gemini and OpenAI charge half for batches, but the full price for cached tokens:
# https://ai.google.dev/gemini-api/docs/batch-api
BATCH_FACTOR = 0.5

_MILLION = 1_000_000
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")
# Suffixes of a release of the same model: a date, a number, "preview".
_RELEASE = re.compile(r"(-(preview|exp|experimental|latest|[0-9]{1,4}|[0-9]{8}))*")


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens; thinking costs as much as output.

    `cached` is the price of cached input; None if it is the price of any input.
    """

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True)
class Thinking:
    """The thinking settings of a model.

    `levels` are those of its API, the lowest first ("off" if thinking can be switched off), and
    `usual` is its default, "" if unknown. A model with `budgets` takes a number of tokens within
    this range instead of a level. A model without levels does not think.
    """

    levels: tuple[str, ...] = ()
    usual: str = ""
    budgets: tuple[int, int] | None = None


@dataclass(frozen=True)
class Model:
    """A row of the table. `thinking` None is unknown.

    From `later[0]` on, the price is `later[1]`. From `shut_down` on the model is gone, and its
    maker recommends `instead`. `sampling`: whether it supports temperature, top_p and top_k.
    """

    price: Price
    thinking: Thinking | None = None
    later: tuple[date, Price] | None = None
    shut_down: date | None = None
    instead: str = ""
    sampling: bool = True


# Levels: https://ai.google.dev/gemini-api/docs/generate-content/thinking and the developer's guides
# to 3.5, 3.6 and 3.8 Flash, read 2026-11-22. "minimal" is nearly off, but models of 3.x think some
# all the same: none can be switched off. 3.7 and 3.8 answer "minimal" with a 400.
_THREE = Thinking(("low", "medium", "high"), "medium")
_FOUR = Thinking(("minimal", "low", "medium", "high"), "medium")
_FOUR_FROM_LEAST = Thinking(_FOUR.levels, "minimal")
_FOUR_FROM_MOST = Thinking(_FOUR.levels, "high")
_PRO = Thinking(_THREE.levels, "high")
_LEVELS_2_5 = ("off", "low", "medium", "high")
_NONE = Thinking()

_GONE_2_0 = date(2026, 6, 1)  # the release notes of that day
_GONE_2_5 = date(2026, 12, 1)  # the deprecations page as of 2026-11-10, which leaves out flash-lite

# Prices: https://ai.google.dev/gemini-api/docs/pricing, paid tier, text; read 2026-10-07.
# Shut-down dates: https://ai.google.dev/gemini-api/docs/deprecations and /changelog, read
# 2026-11-22 in copies of different ages. Sampling parameters: deprecated on 2026-07-21 (changelog).
_GEMINI = {
    "gemini-3.8-flash": Model(
        Price(0.75, 3.75, 0.075), _THREE, (date(2027, 1, 1), Price(1.50, 7.50, 0.15)),
        sampling=False,
    ),
    # Of 3.6, the guide says 1.50 and 7.50; some resellers say half of that until 2027.
    "gemini-3.6-flash": Model(Price(1.50, 7.50, 0.15), _FOUR, sampling=False),
    "gemini-3.5-flash-lite": Model(Price(0.30, 2.50, 0.03), _FOUR_FROM_LEAST, sampling=False),
    # Prompts over 200k; others 2.00, 12.00, 0.20.
    "gemini-3.1-pro": Model(Price(4.00, 18.00, 0.40), _PRO),
    "gemini-3.1-flash-lite": Model(
        Price(0.25, 1.50, 0.025), _FOUR_FROM_LEAST,
        shut_down=date(2027, 5, 7), instead="gemini-3.5-flash-lite",
    ),
    "gemini-3.1-flash-lite-preview": Model(
        Price(0.25, 1.50, 0.025), _FOUR_FROM_LEAST,
        shut_down=date(2026, 5, 25), instead="gemini-3.5-flash-lite",
    ),
    # Prompts over 200k; others 2.00, 12.00, 0.20.
    "gemini-3-pro": Model(
        Price(4.00, 18.00, 0.40), Thinking(("low", "high"), "high"),
        shut_down=date(2026, 3, 9), instead="gemini-3.1-pro-preview",
    ),
    "gemini-3-flash": Model(Price(0.50, 3.00, 0.05), _FOUR_FROM_MOST),
    # Prompts over 200k; others 1.25, 10.00, 0.125.
    "gemini-2.5-pro": Model(
        Price(2.50, 15.00, 0.25), Thinking(_LEVELS_2_5[1:], "medium", (128, 32_768)),
        shut_down=_GONE_2_5, instead="gemini-3.8-flash",
    ),
    "gemini-2.5-flash": Model(
        Price(0.30, 2.50, 0.03), Thinking(_LEVELS_2_5, "medium", (1, 24_576)),
        shut_down=_GONE_2_5, instead="gemini-3.5-flash-lite",
    ),
    "gemini-2.5-flash-lite": Model(
        Price(0.10, 0.40, 0.01), Thinking(_LEVELS_2_5, "off", (512, 24_576))
    ),
    "gemini-2.0-flash": Model(  # its releases too, such as gemini-2.0-flash-exp
        Price(0.10, 0.40, 0.025), _NONE, shut_down=_GONE_2_0, instead="gemini-3.8-flash"
    ),
    "gemini-2.0-flash-lite": Model(
        Price(0.075, 0.30), _NONE, shut_down=_GONE_2_0, instead="gemini-3.5-flash-lite"
    ),
}  # fmt: skip
# Names that another model answers to. The "latest" ones are those of the newest release by Google's
# rule (https://ai.google.dev/gemini-api/docs/models), so they move on. 3.7 and 3.5 Flash were
# replaced on 2026-10-08, and requests for them go to the newer model (changelog, read 2026-11-22).
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "gemini-flash-latest": "gemini-3.8-flash",
        "gemini-flash-lite-latest": "gemini-3.5-flash-lite",
        "gemini-pro-latest": "gemini-3.1-pro-preview",
        "gemini-3.7-flash": "gemini-3.8-flash",
        "gemini-3.5-flash": "gemini-3.6-flash",
    }
)
# https://developers.openai.com/api/docs/models/NAME and /pricing, standard tier; read 2026-11.
# From gpt-5.4 on, prompts over 272k tokens: twice the input, 1.5 times the output of shorter ones
# (minis and nanos of 5.4 have one price). Writing to the cache, 1.25 times the input of a short
# prompt since gpt-5.6, is covered by that.
# Efforts: https://developers.openai.com/api/docs/guides/reasoning, read 2026-11-22: "none" since
# gpt-5.1, "minimal" before it. Those of gpt-6 are left to the service.
_GPT_5 = Thinking(_FOUR.levels)
_EFFORTS = Thinking(("off", *_THREE.levels))
_OPENAI = {
    "gpt-6.2-sol": Model(Price(4.00, 15.00, 0.20)),
    "gpt-6.1-sol": Model(Price(4.00, 15.00, 0.20)),
    "gpt-6-sol": Model(Price(4.00, 15.00, 0.40)),
    "gpt-6-luna": Model(Price(0.20, 0.75, 0.02)),
    "gpt-6-astra": Model(Price(20.00, 75.00, 2.00)),
    "gpt-5.6": Model(Price(8.00, 30.00, 0.80), _EFFORTS),  # another name of gpt-5.6-sol
    "gpt-5.6-sol": Model(Price(8.00, 30.00, 0.80), _EFFORTS),
    "gpt-5.6-terra": Model(Price(4.00, 18.00, 0.40), _EFFORTS),
    "gpt-5.6-luna": Model(Price(0.40, 1.80, 0.04), _EFFORTS),
    "gpt-5.5": Model(Price(10.00, 45.00, 1.00), _EFFORTS),
    "gpt-5.4": Model(Price(5.00, 22.50, 0.50), _EFFORTS),
    "gpt-5.4-mini": Model(Price(0.75, 4.50, 0.075), _EFFORTS),
    "gpt-5.4-nano": Model(Price(0.20, 1.25, 0.02), _EFFORTS),
    "gpt-5.2": Model(Price(1.75, 14.00, 0.175), _EFFORTS),
    "gpt-5.1": Model(Price(1.25, 10.00, 0.125), _EFFORTS),
    "gpt-5": Model(Price(1.25, 10.00, 0.125), _GPT_5),
    "gpt-5-mini": Model(Price(0.25, 2.00, 0.025), _GPT_5),
    "gpt-5-nano": Model(Price(0.05, 0.40, 0.005), _GPT_5),
    "gpt-4.1": Model(Price(2.00, 8.00, 0.50), _NONE),
    "gpt-4.1-mini": Model(Price(0.40, 1.60, 0.10), _NONE),
    "gpt-4.1-nano": Model(Price(0.10, 0.40, 0.025), _NONE),
    "gpt-4o": Model(Price(2.50, 10.00, 1.25), _NONE),
    "gpt-4o-2024-05-13": Model(Price(5.00, 15.00), _NONE),
    "gpt-4o-mini": Model(Price(0.15, 0.60, 0.075), _NONE),
    "o4-mini": Model(Price(1.10, 4.40, 0.275), _THREE),
    "o3": Model(Price(2.00, 8.00, 0.50), _THREE),
    "o3-mini": Model(Price(1.10, 4.40, 0.55), _THREE),
    "o1": Model(Price(15.00, 60.00, 7.50), _THREE),
}
# https://api-docs.deepseek.com/quick_start/pricing, read 2026-10: at peak hours; else half of it.
_DEEPSEEK = {
    "deepseek-flash": Model(Price(0.30, 1.20, 0.006)),
    "deepseek-v4-flash": Model(Price(0.30, 1.20, 0.006)),  # an old name of deepseek-flash
    "deepseek-v4-pro": Model(Price(1.32, 3.96, 0.044)),
}
MODELS: Mapping[str, Model] = MappingProxyType({**_GEMINI, **_OPENAI, **_DEEPSEEK})


def today() -> date:
    """Today's date, in UTC."""
    return datetime.now(timezone.utc).date()


def known_as(model: str) -> str:
    """The table's name of the model that serves `model`; "" if the table has none.

    It is the longest name that `model` begins with, if only a release suffix follows: a
    date, a number, "preview", "exp" or "latest". So "gemini-2.5-flash-preview-09-2025" is
    "gemini-2.5-flash", and "gemini-2.5-flash-image" is unknown.
    """
    model = model.removeprefix("models/")
    model = ALIASES.get(model, model)
    name = max((name for name in MODELS if model.startswith(name)), key=len, default="")
    return name if name and _RELEASE.fullmatch(model, len(name)) else ""


def price_of(model: str, day: date | None = None) -> Price | None:
    """The price of a model on a day (by default today); None if the model is unknown."""
    if not (name := known_as(model)):
        return None
    row = MODELS[name]
    return row.later[1] if row.later and (day or today()) >= row.later[0] else row.price


def parse_price(text: str) -> Price:
    """Parse a price such as "0.10,0.40": input, output, and optionally cached input.

    Raises:
        UsageError: the text is no price.
    """
    amounts = [_AMOUNT.fullmatch(part) for part in text.split(",")]
    dollars = [float(amount[1]) for amount in amounts if amount]
    if len(dollars) != len(amounts) or len(dollars) not in (2, 3) or max(dollars) == float("inf"):
        raise UsageError(
            f"not a price: {text!r}; it is two numbers, of US dollars for a million tokens of "
            'input and of output, such as "0.10,0.40", or three: the last is for cached input'
        )
    return Price(*dollars)


def cost(usage: Usage, price: Price, *, batch: bool = False) -> float:
    """The cost of a call with this usage, in US dollars.

    With the prices p for a million tokens: (input - cached) p_input + cached p_cached +
    (output + thinking) p_output, all over 1,000,000. In a batch, input and output cost half.
    """
    factor = BATCH_FACTOR if batch else 1.0
    cached = 0 if price.cached is None else min(usage.cached_tokens, usage.input_tokens)
    full = (usage.input_tokens - cached) * price.input
    full += (usage.output_tokens + usage.thinking_tokens) * price.output
    return (full * factor + cached * (price.cached or 0.0)) / _MILLION
