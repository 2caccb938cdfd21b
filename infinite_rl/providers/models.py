"""The table of models: price, shut-down date, thinking; the default model, and the cost of calls.

The table is of November 2026, in US dollars. If a provider has more than one price for a model (by
prompt length or time of day), the table has the higher one, so a cost limit stops too early rather
than too late. An unknown model has no price: None, never 0. `--price` overrides the table.

Gemini and OpenAI count thinking tokens against the limit on output, so the limit that is sent is
that of the answer plus a budget for thinking. A level's budget is the number of tokens to which
Google maps OpenAI's efforts for 2.5 models: https://ai.google.dev/gemini-api/docs/openai, read
2026-11-22. For 3.x models no service promises a number: the limit that is sent covers both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from types import MappingProxyType

from ..errors import UsageError, nearest
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


DEFAULT_MODEL = "gemini-3.8-flash"
LEVELS = ("off", "minimal", "low", "medium", "high")

# Of the models that Google calls stable, the most capable one beside the default: read 2026-11-22.
_SECOND_MODEL = "gemini-3.6-flash"
_WARNED_BEFORE = timedelta(days=30)
# The last day of each public family, by the changelog (see `prices`).
_RETIRED = (
    (re.compile(r"gemini-(1\.0-.+|pro|pro-vision|ultra)"), date(2025, 2, 18)),
    (re.compile(r"gemini-1\.5-.+"), date(2025, 9, 29)),
    (re.compile(r"gemini-2\.0-.+"), date(2026, 6, 1)),
)
_BUDGETS = {"off": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
_MAX_TOKENS = 1_000_000


def other_model(model: str) -> str:
    """The model that checks what `model` writes by default; "" if none is known.

    It has another name in the table than `model`: "gemini-3.7-flash" is answered by
    "gemini-3.8-flash", so that one cannot check it.
    """
    if not (name := known_as(model)).startswith("gemini-"):
        return ""
    return _SECOND_MODEL if name == DEFAULT_MODEL else DEFAULT_MODEL


def check_available(model: str, day: date | None = None, option: str = "--model_name") -> None:
    """Raise UsageError if the model is shut down on this day; the error lists models to use.

    `option` is the flag that names the model.
    """
    row, name = MODELS.get(known_as(model)), model.removeprefix("models/").lower()
    retired = (last_day for family, last_day in _RETIRED if family.fullmatch(name))
    shut_down = row.shut_down if row else next(retired, None)
    if shut_down is None or (day or today()) < shut_down:
        return
    use = dict.fromkeys((row.instead if row else "", DEFAULT_MODEL, _SECOND_MODEL))
    raise UsageError(
        f"the model {model} was shut down on {shut_down}: use {option} "
        f"{' or '.join(name for name in use if name)} (in a folder that holds its rows, with "
        "--extend)"
    )


def warnings_of(
    models: Iterable[str],
    temperature: float | None = None,
    day: date | None = None,
    *,
    provider: str = "",
    thinking: str | int | None = None,
) -> list[str]:
    """Warnings about these models, one line each.

    A model is soon shut down or replaced, ignores the temperature, or thinks at another level than
    requested; for the `provider` "gemini" also: its name is not in the table.
    """
    day = day or today()
    lines = []
    for model in dict.fromkeys(models):
        name = known_as(model)
        row = MODELS.get(name)
        if provider == "gemini" and not name.startswith("gemini-"):
            gemini = [each for each in (*MODELS, *ALIASES) if each.startswith("gemini-")]
            lines.append(
                f"{model} is not in the table of Gemini models; it is asked all the same"
                f"{nearest(model.lower(), gemini)}"
            )
        if row is None:
            continue
        if (near := nearest_thinking(model, thinking)) != thinking:
            says = f"{near!r}, the nearest that it has to" if near else "not, in spite of"
            lines.append(f"{model} thinks {says} --thinking {thinking}")
        if row.shut_down and day < row.shut_down <= day + _WARNED_BEFORE:
            lines.append(f"{model} is shut down on {row.shut_down}; {row.instead} replaces it")
        if model in ALIASES:
            lines.append(f"{model} is answered by {ALIASES[model]}; rows record the name asked for")
        if temperature is not None and not row.sampling:
            lines.append(f"{model} does not heed --temperature: it is deprecated for this model")
    return lines


@dataclass(frozen=True)
class ThinkingRequest:
    """The thinking setting that a service gets: a level, or a number of tokens, or neither.

    `budget` is the number of tokens for thinking beside those of the answer; 0 if not known.
    """

    level: str = ""
    tokens: int | None = None
    budget: int = 0


def parse_thinking(value: str | int | None) -> str | int | None:
    """A level of `LEVELS` or a number of tokens (0 means "off"); None leaves it to the model.

    Raises:
        UsageError: the value is neither.
    """
    if value is None or value == "":
        return None
    text = str(value).strip().lower()
    if text in LEVELS:
        return text
    if re.fullmatch(r"[0-9]{1,7}", text) and int(text) <= _MAX_TOKENS:
        return int(text) or "off"
    raise UsageError(f"thinking is {', '.join(LEVELS)} or a number of tokens, not {value!r}")


def thinking_request(model: str, value: str | int | None) -> ThinkingRequest:
    """The request that makes `model` think at level `value`, or for `value` tokens.

    For a model that is not in the table nothing is refused: its service decides.

    Raises:
        UsageError: the model does not support this, in one line that says what it supports.
    """
    value, thinking = parse_thinking(value), _thinking_of(model)
    if value is None:
        return ThinkingRequest(budget=_BUDGETS.get(thinking.usual, 0) if thinking else 0)
    if thinking and not thinking.levels:
        if value == "off":
            return ThinkingRequest()
        raise UsageError(f"{model} does not think: leave --thinking {value} out")
    levels = ", ".join(thinking.levels) if thinking else ""
    least, most = thinking.budgets if thinking and thinking.budgets else (0, _MAX_TOKENS)
    if isinstance(value, int):
        if thinking and thinking.budgets is None:
            raise UsageError(f"{model} takes no number of thinking tokens: --thinking is {levels}")
        if not least <= value <= most:
            raise UsageError(f"{model} thinks in {least} to {most} tokens, not in {value}")
        return ThinkingRequest(tokens=value, budget=value)
    if thinking and value not in thinking.levels:
        cannot = "cannot switch its thinking off" if value == "off" else ""
        cannot = cannot or f"has no thinking level {value!r}"
        raise UsageError(f"{model} {cannot}: --thinking is {levels}")
    budget = _BUDGETS[value]
    if thinking and thinking.budgets:
        budget = min(max(least, budget), most) if budget else 0
        return ThinkingRequest(tokens=budget, budget=budget)
    return ThinkingRequest(value, budget=budget)


def nearest_thinking(model: str, value: str | int | None) -> str | int | None:
    """The setting nearest to `value` that `model` supports; None if it does not think.

    A number of tokens is clipped to the model's range, or becomes the level with the nearest
    budget; a level becomes the nearest level, of two the greater.
    """
    value, thinking = parse_thinking(value), _thinking_of(model)
    if value is None or thinking is None or value in thinking.levels:
        return value
    if not thinking.levels:
        return value if value == "off" else None
    if not isinstance(value, int):
        rank = LEVELS.index(value)
        ranks = [LEVELS.index(level) for level in thinking.levels]
        return LEVELS[min(ranks, key=lambda other: (abs(other - rank), -other))]
    if thinking.budgets:
        least, most = thinking.budgets
        return min(max(least, value), most)
    return min(thinking.levels, key=lambda level: abs(_BUDGETS[level] - value))


def cut_off_advice(usage: Usage) -> str:
    """What to do about an answer that was truncated at the token limit."""
    thoughts, answer = usage.thinking_tokens, usage.output_tokens
    if thoughts <= answer:
        return "raise --max_output_tokens"
    return (
        f"{thoughts:,} of its {thoughts + answer:,} tokens were thoughts: --max_output_tokens is "
        "too small; raise it, or lower --thinking"
    )


def _thinking_of(model: str) -> Thinking | None:
    row = MODELS.get(known_as(model))
    return row.thinking if row else None
