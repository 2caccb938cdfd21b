"""What calls cost, in US dollars. Pure: usage and a price in, a number out.

The table is of November 2026. Where a provider has more than one price for a model (by the length
of the prompt, the time of day, or an offer that ends), it holds the dearer one, so that a limit on
the cost stops too early rather than too late. A model that it does not know has no price: None,
never 0. `--price` says what holds for you.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..errors import UsageError
from ..types import Usage

# Gemini and OpenAI ask half for batches, but the full price of cached tokens:
# https://ai.google.dev/gemini-api/docs/batch-api
BATCH_FACTOR = 0.5

_MILLION = 1_000_000
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")
# What may follow a model's name without making it another model: a date, a number, "preview".
_RELEASE = re.compile(r"(-(preview|exp|experimental|latest|[0-9]{1,4}|[0-9]{8}))*")


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens; what the model thinks costs as much as its output.

    `cached` is the price of input that the provider had in its cache, None where it is that of any
    other input.
    """

    input: float
    output: float
    cached: float | None = None


_GEMINI = {  # https://ai.google.dev/gemini-api/docs/pricing, paid tier, text; read 2026-10-07
    "gemini-3.8-flash": Price(1.50, 7.50, 0.15),  # from 2027 on; half of that until then
    "gemini-3.7-flash": Price(1.50, 7.50, 0.15),  # half of that while an offer lasts
    "gemini-3.6-flash": Price(1.50, 7.50, 0.15),
    "gemini-3.5-flash": Price(1.50, 9.00, 0.15),
    "gemini-3.5-flash-lite": Price(0.30, 2.50, 0.03),
    "gemini-3.1-pro": Price(4.00, 18.00, 0.40),  # prompts over 200k; others 2.00, 12.00, 0.20
    "gemini-3.1-flash-lite": Price(0.25, 1.50, 0.025),
    "gemini-3-pro": Price(4.00, 18.00, 0.40),  # prompts over 200k; others 2.00, 12.00, 0.20
    "gemini-3-flash": Price(0.50, 3.00, 0.05),
    "gemini-2.5-pro": Price(2.50, 15.00, 0.25),  # prompts over 200k; others 1.25, 10.00, 0.125
    "gemini-2.5-flash": Price(0.30, 2.50, 0.03),
    "gemini-2.5-flash-lite": Price(0.10, 0.40, 0.01),
    # Shut down in June 2026; the prices of the page in 2025.
    "gemini-2.0-flash": Price(0.10, 0.40, 0.025),
    "gemini-2.0-flash-lite": Price(0.075, 0.30),
}
# https://developers.openai.com/api/docs/models/NAME and /pricing, standard tier; read 2026-11.
# From gpt-5.4 on, prompts over 272k tokens: twice the input, 1.5 times the output of shorter ones
# (minis and nanos of 5.4 have one price). Writing to the cache, 1.25 times the input of a short
# prompt since gpt-5.6, is covered by that.
_OPENAI = {
    "gpt-6.2-sol": Price(4.00, 15.00, 0.20),
    "gpt-6.1-sol": Price(4.00, 15.00, 0.20),
    "gpt-6-sol": Price(4.00, 15.00, 0.40),
    "gpt-6-luna": Price(0.20, 0.75, 0.02),
    "gpt-6-astra": Price(20.00, 75.00, 2.00),
    "gpt-5.6": Price(8.00, 30.00, 0.80),  # another name of gpt-5.6-sol
    "gpt-5.6-sol": Price(8.00, 30.00, 0.80),
    "gpt-5.6-terra": Price(4.00, 18.00, 0.40),
    "gpt-5.6-luna": Price(0.40, 1.80, 0.04),
    "gpt-5.5": Price(10.00, 45.00, 1.00),
    "gpt-5.4": Price(5.00, 22.50, 0.50),
    "gpt-5.4-mini": Price(0.75, 4.50, 0.075),
    "gpt-5.4-nano": Price(0.20, 1.25, 0.02),
    "gpt-5.2": Price(1.75, 14.00, 0.175),
    "gpt-5.1": Price(1.25, 10.00, 0.125),
    "gpt-5": Price(1.25, 10.00, 0.125),
    "gpt-5-mini": Price(0.25, 2.00, 0.025),
    "gpt-5-nano": Price(0.05, 0.40, 0.005),
    "gpt-4.1": Price(2.00, 8.00, 0.50),
    "gpt-4.1-mini": Price(0.40, 1.60, 0.10),
    "gpt-4.1-nano": Price(0.10, 0.40, 0.025),
    "gpt-4o": Price(2.50, 10.00, 1.25),
    "gpt-4o-2024-05-13": Price(5.00, 15.00),
    "gpt-4o-mini": Price(0.15, 0.60, 0.075),
    "o4-mini": Price(1.10, 4.40, 0.275),
    "o3": Price(2.00, 8.00, 0.50),
    "o3-mini": Price(1.10, 4.40, 0.55),
    "o1": Price(15.00, 60.00, 7.50),
}
# https://api-docs.deepseek.com/quick_start/pricing, read 2026-10: at peak hours; else half of it.
_DEEPSEEK = {
    "deepseek-flash": Price(0.30, 1.20, 0.006),
    "deepseek-v4-flash": Price(0.30, 1.20, 0.006),  # an old name of deepseek-flash
    "deepseek-v4-pro": Price(1.32, 3.96, 0.044),
}
PRICES: Mapping[str, Price] = MappingProxyType({**_GEMINI, **_OPENAI, **_DEEPSEEK})


def price_of(model: str) -> Price | None:
    """The price of the model of this name, or None where the table does not know it.

    The longest name of the table that `model` begins with counts, if only a release follows: a
    date, a number, "preview", "exp" or "latest". So "gemini-2.5-flash-preview-09-2025" costs what
    "gemini-2.5-flash" does, and "gemini-2.5-flash-image" is unknown.
    """
    model = model.removeprefix("models/")
    known = (name for name in PRICES if model.startswith(name))
    name = max(known, key=len, default="")
    return PRICES[name] if name and _RELEASE.fullmatch(model, len(name)) else None


def parse_price(text: str) -> Price:
    """The price that "0.10,0.40" says: input, output, and as a third, if wanted, cached input.

    Raises:
        UsageError: the text is no such price.
    """
    amounts = [_AMOUNT.fullmatch(part) for part in text.split(",")]
    found = [float(amount[1]) for amount in amounts if amount]
    if len(found) != len(amounts) or len(found) not in (2, 3) or max(found) == float("inf"):
        raise UsageError(
            f"not a price: {text!r}; it is two numbers, of US dollars for a million tokens of "
            'input and of output, such as "0.10,0.40", or three: the last is for cached input'
        )
    return Price(*found)


def cost(usage: Usage, price: Price, *, batch: bool = False) -> float:
    """What a call of this usage costs, in US dollars.

    With the prices p for a million tokens: (input - cached) p_input + cached p_cached +
    (output + thinking) p_output, all over 1,000,000. In a batch, input and output cost half.
    """
    factor = BATCH_FACTOR if batch else 1.0
    cached = 0 if price.cached is None else min(usage.cached_tokens, usage.input_tokens)
    full = (usage.input_tokens - cached) * price.input
    full += (usage.output_tokens + usage.thinking_tokens) * price.output
    return (full * factor + cached * (price.cached or 0.0)) / _MILLION
