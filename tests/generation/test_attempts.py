"""What follows a rejected answer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from infinite_rl.generation.attempts import (
    FORM,
    MAX_DRAFTS,
    MAX_REPAIRS,
    REPAIRABLE,
    AttemptPlanner,
)
from infinite_rl.inference.journal import Journal
from infinite_rl.store import Store
from infinite_rl.tasks import TASKS
from infinite_rl.types import (
    Attempt,
    Completion,
    Outcome,
    Reason,
    RewardFunctionScore,
    Sample,
    Slot,
)

TEXT = "what the model wrote"


def after(folder: Path, reason: Reason, slot: Slot, text: str = TEXT) -> Attempt | None:
    """The attempt that follows an answer that was rejected for this reason."""
    attempt = Attempt(slot, TASKS["math"], "ask", seed=1)
    score = RewardFunctionScore(1.0, 0.0, "told why")
    completion = Completion(text, "m") if text else None
    outcome = Outcome(attempt, Sample("math", "", "", ""), score, completion, reason)
    with Store(folder) as store, closing(Journal(folder)) as journal:
        return AttemptPlanner({"math": [TASKS["math"]]}, (), 0, store, journal).after(outcome)


@pytest.mark.parametrize("reason", [reason for reason in get_args(Reason) if reason])
def test_a_repair_follows_only_what_being_told_can_mend(tmp_path: Path, reason: Reason) -> None:
    following = after(tmp_path, reason, Slot("math", 3))
    assert following is not None
    if reason in REPAIRABLE:
        assert following.slot == Slot("math", 3, repair=1)
        assert TEXT in following.request
        assert "told why" in following.request
    else:
        assert following.slot == Slot("math", 3, draft=1), "a new task"
        assert TEXT not in following.request


def test_no_proof_is_told_to_the_model_that_it_could_then_get_round() -> None:
    assert not {"weak verifier", "disagreement", "vacuous"} & set(REPAIRABLE)


def test_without_solutions_only_faults_of_form_are_sent_back() -> None:
    assert set(FORM) == set(REPAIRABLE) - {"wrong"}


def test_after_the_last_repair_a_new_task_is_drawn(tmp_path: Path) -> None:
    following = after(tmp_path, "wrong", Slot("math", 3, 1, MAX_REPAIRS))
    assert following is not None
    assert following.slot == Slot("math", 3, draft=2)


def test_after_the_last_draft_nothing_follows(tmp_path: Path) -> None:
    assert after(tmp_path, "wrong", Slot("math", 3, MAX_DRAFTS - 1, MAX_REPAIRS)) is None
    assert after(tmp_path, "disagreement", Slot("math", 3, MAX_DRAFTS - 1)) is None


def test_where_nothing_was_answered_there_is_nothing_to_repair(tmp_path: Path) -> None:
    following = after(tmp_path, "wrong", Slot("math", 3), text="")
    assert following is not None
    assert following.slot == Slot("math", 3, draft=1)
