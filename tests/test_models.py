"""Which models can be asked on a day, and which one checks another."""

from __future__ import annotations

from datetime import date

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.providers import DEFAULT_MODEL, other_model
from infinite_rl.providers.models import check_available, warnings_of
from infinite_rl.providers.prices import ALIASES, MODELS, known_as

NOVEMBER = date(2026, 11, 22)


def test_the_default_is_known_priced_and_not_about_to_go() -> None:
    row = MODELS[DEFAULT_MODEL]
    assert row.shut_down is None and row.price.output > 0 and row.thinking


@pytest.mark.parametrize("model", [*MODELS, *ALIASES, "gemini-3.8-flash-001"])
def test_another_model_checks_and_it_is_one_that_can_be_asked(model: str) -> None:
    other = other_model(model)
    if not known_as(model).startswith("gemini-"):
        assert other == ""
        return
    assert known_as(other) and known_as(other) != known_as(model)
    assert MODELS[known_as(other)].shut_down is None and other not in ALIASES


def test_nothing_is_guessed_for_a_model_that_is_not_known() -> None:
    assert other_model("Qwen/Qwen3-8B") == other_model("") == ""
    check_available("Qwen/Qwen3-8B", NOVEMBER)
    assert warnings_of(["Qwen/Qwen3-8B"], 0.7, NOVEMBER) == []


@pytest.mark.parametrize("name", ["gemini-2.0-flash-exp", "gemini-2.0-flash-001", "gemini-3-pro"])
def test_a_model_that_is_shut_down_is_refused_with_those_to_use(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_available(name, NOVEMBER)
    said = str(refused.value)
    assert said.startswith(f"the model {name} was shut down on 2026-")
    assert "--model_name" in said and DEFAULT_MODEL in said and "\n" not in said


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-2.5-flash"])
def test_a_model_goes_on_its_day_and_warns_of_it_for_a_month(model: str) -> None:
    check_available(model, date(2026, 11, 30))
    with pytest.raises(UsageError, match="was shut down on 2026-12-01"):
        check_available(model, date(2026, 12, 1))
    assert warnings_of([model], day=date(2026, 10, 31)) == []
    for day in (date(2026, 11, 1), date(2026, 11, 30)):
        (line,) = warnings_of([model, model], day=day)
        assert line.startswith(f"{model} is shut down on 2026-12-01; gemini-3.")


def test_every_model_that_goes_names_one_that_stays() -> None:
    for row in MODELS.values():
        if row.shut_down:
            assert MODELS[known_as(row.instead)].shut_down is None


def test_parameters_that_a_model_does_not_heed_are_warned_of_once() -> None:
    models = ["gemini-3.8-flash", "gemini-3.8-flash", "gemini-3.1-pro-preview"]
    (line,) = warnings_of(models, 0.7, NOVEMBER)
    assert line == "gemini-3.8-flash does not heed --temperature: it is deprecated for this model"
    assert warnings_of(models, None, NOVEMBER) == []


def test_a_model_that_another_one_answers_for_is_told_apart() -> None:
    (line,) = warnings_of(["gemini-3.7-flash"], day=NOVEMBER)
    assert "is answered by gemini-3.8-flash" in line
