"""Progress of a generation run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ..inference.budget import Estimate, Spending
from ..inference.calls import RequestPolicy


@dataclass
class Progress:
    """Where a run stands.

    `targets`, `present` and `accepted` are rows per family: the total wanted, those found at the
    start, and those made since. `calls` counts the answered ones, `retries` those that were made
    again, by the kind of trouble ("429", "503", "timeout", "reset"), `lost` those that were under
    way when an earlier run died; `given_up` holds a reason per family, `stopped` why the whole run
    ended early. `spending` is that of the whole folder, earlier runs included; `estimate` is what
    the missing rows may take, made at the start. `batches` names the batches that are under way. At
    most `most` calls may be in flight at once, and `cap` of them where a provider's trouble has
    slowed them; both are 0 until the run begins. `pace` says in one line what the provider's
    refusals have slowed, and the option that overrides it; "" where nothing is slowed.
    """

    targets: dict[str, int]
    present: dict[str, int]
    accepted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    cap: int = 0
    most: int = 0
    pace: str = ""
    calls: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    spending: Spending = field(default_factory=Spending)
    estimate: Estimate | None = None
    batches: list[str] = field(default_factory=list)
    given_up: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    def missing(self, family: str) -> int:
        """Rows still to be made, 0 where there are enough."""
        return max(0, self.targets[family] - self.present[family] - self.accepted[family])

    @property
    def rows(self) -> int:
        """Rows that are there."""
        return sum(self.present.values()) + self.accepted.total()

    @property
    def left(self) -> int:
        """Rows still to be made, but those of families that are given up."""
        return sum(self.missing(each) for each in self.targets if each not in self.given_up)

    @property
    def acceptance_rate(self) -> float | None:
        """The share of this run's judged answers that made rows; None before the first."""
        judged = self.accepted.total() + self.rejected.total()
        return self.accepted.total() / judged if judged else None

    @property
    def cost_per_row(self) -> float | None:
        """US dollars of all calls of the folder for each row; None where that is not known."""
        return None if self.spending.unpriced or not self.rows else self.spending.cost / self.rows

    @property
    def projected_cost(self) -> float | None:
        """US dollars that the folder will have cost once no row is missing; None if not known.

        By its cost a row so far; before anything is judged by the estimate of the start, which
        answers that are all rejected belie.
        """
        each = self.cost_per_row
        if each is not None:
            return self.spending.cost + self.left * each
        if self.spending.unpriced or self.rejected.total():
            return None
        if self.estimate is None or self.estimate.cost is None:
            return None
        return max(self.spending.cost, self.estimate.cost)

    @property
    def wrong_answers_stopped(self) -> int:
        """Rows that this run did not keep because independent solutions disagree with them."""
        return self.rejected["disagreement"]

    @property
    def complete(self) -> bool:
        """Whether no family lacks rows."""
        return not any(self.missing(family) for family in self.targets)


def with_pacing(
    policy: RequestPolicy, show: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """Return `show` with retries and the pace of the slowest provider added to each progress."""

    def report(progress: Progress) -> None:
        stats = [client.stats for client in policy.clients]
        progress.retries = policy.retries
        progress.cap, progress.most = min(((each.cap, each.most) for each in stats), default=(0, 0))
        progress.pace = next((each.pace for each in stats if each.pace), "")
        show(progress)

    return report
