"""A model solves rows from their prompts alone, and the rows' rewards judge what it says.

Every answer is in a journal before it is judged, so that none is paid for twice: the same call made
again goes on, and with more attempts asks for those only.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InfiniteRLError, NoCompletion, look_up
from ..files.lock import locked
from ..inference.budget import Budget, Estimate, Spending, estimate_calls
from ..inference.clients import ModelClients, RequestPolicy
from ..inference.journal import Call, Journal, Source, slot_seed
from ..layout import tagged
from ..providers import resolve_provider
from ..providers.base import Provider
from ..providers.models import parse_thinking, thinking_request, warnings_of
from ..providers.prices import Price
from ..providers.rate_limit import LimitedProvider, Limits, RetryPolicy
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..settings import check_range
from ..store import JOURNAL
from ..types import Completion, RewardFunctionScore, Sample, Slot
from ..verification.self_consistency import default_system_prompt
from ..workers.pool import in_order
from . import rows

T = TypeVar("T")
logger = logging.getLogger(__name__)
CALLS = ".calls"  # after the name of the output: the folder of its journal


@dataclass(frozen=True)
class SolveConfig:
    """Who solves rows, how often, and within which limits.

    provider, model, temperature, max_output_tokens, thinking, base_url, price: as in
        `generate_dataset`.
    system: what the model is told before each prompt; by default the form of an answer.
    seed: of the attempts: another one makes others.
    max_cost: US dollars that all calls of the folder may cost, those of earlier runs included.
    dry_run: ask and write nothing.
    timeout: seconds that judging one answer may take.
    asked: gets whom it asks, whose `traffic` tells whether trouble has slowed the calls.

    Raises:
        UsageError: there are no such numbers of attempts or threads.
    """

    provider: str | Provider
    model: str = ""
    attempts: int = 4
    system: str | None = None
    seed: int = 0
    temperature: float | None = None
    max_output_tokens: int | None = None
    thinking: str | int | None = None
    base_url: str | None = None
    price: str | Price | None = None
    max_cost: float | None = None
    dry_run: bool = False
    threads: int = 8
    timeout: float = 5
    limits: Limits = Limits()
    retry: RetryPolicy | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    asked: list[LimitedProvider] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("attempts", "threads"):
            check_range(name, getattr(self, name), 1)

    def solver(self) -> Solver:
        """Who is asked. Raises UsageError, ProviderRefused."""
        policy = RequestPolicy(self.limits, self.threads, self.retry, self.stop, clients=self.asked)
        options: dict[str, object] = {
            "temperature": self.temperature, "max_output_tokens": self.max_output_tokens,
        }  # fmt: skip
        if self.thinking is not None:  # else answers of folders that know no such option are found
            options["thinking"] = parse_thinking(self.thinking)
        given = {**options, "base_url": self.base_url}
        asked = ModelClients.of(
            self.provider, self.model, "", self.price, given, policy, dry_run=self.dry_run
        )
        kind = resolve_provider(self.provider) if isinstance(self.provider, str) else ""
        for line in warnings_of([asked.writer.model], self.temperature, provider=kind):
            logger.warning("%s", line)
        return Solver(asked.writer, self.attempts, self.seed, self.system, options)


@dataclass
class Cost:
    """How many calls were answered now, what all calls of the folder cost, and of a dry run what is
    owed."""

    calls: int = 0
    spending: Spending = field(default_factory=Spending)
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Solved:
    """A row and what was said to it, as it was judged; nothing where it cannot be judged.

    `told` is what the model was told before the prompt. A call that was answered without any text
    has the text "".
    """

    row: Mapping[str, Any]
    sample: Sample
    reward: RewardFunction
    told: str
    completions: tuple[Completion, ...] = ()
    scores: tuple[RewardFunctionScore, ...] = ()

    def shared(self) -> rows.Row:
        """The columns that rows for single answers have in common."""
        sample = self.sample
        return {
            "type": sample.type,
            "prompt": sample.prompt,
            "answer": sample.answer,
            "language": sample.language,
            "id": rows.id_of(self.row),
        }


def folder_of(out: Path, calls: str | Path | None = None) -> Path:
    """Where the answers are kept."""
    return Path(calls) if calls else out.with_name(out.name + CALLS)


def solve(
    source: rows.Source,
    folder: Path,
    asking: SolveConfig,
    cost: Cost,
    then: Callable[[Solved], T],
    take: Callable[[Iterator[T]], None],
) -> None:
    """Have the rows of `source` solved; `take` is given what `then` makes of each, in their order.

    `then` is called from many threads, and `cost` is told what it cost. The answers are kept in
    `folder`, whatever happens. Of a dry run nothing is taken, and no folder is made. A row whose
    answer the reward cannot read is not asked.

    Raises:
        UsageError: an argument or a row cannot be used.
        ProviderError: the provider did not answer, or `stop` is set (`Stopped`); what it answered
            before is kept.
        InfiniteRLError: `max_cost` is reached, or nothing can be judged.
    """
    solver = asking.solver()
    if asking.dry_run and not (folder / JOURNAL).is_file():
        cost.estimate = _owed(rows.read_some(source), solver, None)
        return
    given = rows.read_some(source)
    given = itertools.chain([next(given)], given)  # a source that cannot be read leaves no folder
    with locked(folder), closing(Journal(folder)) as journal:
        cost.spending = journal.spending
        if asking.dry_run:
            cost.estimate = _owed(given, solver, journal)
            return
        price, longest = solver.source.price, asking.max_output_tokens
        purse = _Purse(
            Budget(asking.max_cost, [price], journal.spending, 0, longest, room=solver.room)
        )
        solving = _Solving(solver, journal, get_reward_functions(asking.timeout), purse)

        def done(task: _Task) -> T:
            return then(solving(task))

        take(_in_threads(given, done, asking.threads, asking.stop))
        cost.calls = journal.answered


@dataclass(frozen=True)
class Solver:
    """Who solves, how often, and what it is told of the form of an answer.

    `system` None stands for what suits the row's type; `options` are what the model is given
    beside its prompt, and `seed` makes other attempts of them.
    """

    source: Source
    attempts: int
    seed: int = 0
    system: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """The tokens that an answer's thoughts may have."""
        return thinking_request(self.source.model, self.options.get("thinking")).budget

    def told(self, sample: Sample) -> str:
        """What is said before the prompt."""
        return default_system_prompt(sample) if self.system is None else self.system

    def calls(self, sample: Sample, again: int, lost: Iterable[str] = ()) -> Iterator[Call]:
        """The calls that solve a row, the `again`-th of those that ask the same.

        The place of an answer follows from all that it depends on, not from the row's place: rows
        may come and go. Calls that were lost when a run died may have been paid for, and are passed
        over.
        """
        system = self.told(sample)
        asked = [self.source.name, self.source.model, self.options, self.seed, system]
        text = json.dumps([*asked, sample.prompt], sort_keys=True)
        key = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
        slots = (Slot(key, again, solve=number) for number in itertools.count(1))
        for slot in itertools.islice((s for s in slots if str(s) not in lost), self.attempts):
            yield Call(slot, sample.type, system, sample.prompt, slot_seed(self.seed, slot))


def _owed(given: Iterable[Mapping[str, Any]], solver: Solver, journal: Journal | None) -> Estimate:
    """What the calls that are not answered yet may take."""
    calls = chars = 0
    for task in _tasks(given):
        for call in solver.calls(task.sample, task.again, journal.lost if journal else ()):
            if journal is None or str(call.slot) not in journal:
                calls, chars = calls + 1, chars + len(call.system) + len(call.prompt)
    spent = journal.spending if journal else Spending()
    return estimate_calls(calls, chars, solver.source.price, spent, solver.room)


@dataclass(frozen=True)
class _Task:
    """A row that is to be solved, the `again`-th that asks the same."""

    row: Mapping[str, Any]
    sample: Sample
    again: int


def _tasks(given: Iterable[Mapping[str, Any]]) -> Iterator[_Task]:
    """The rows as tasks."""
    seen: Counter[str] = Counter()
    for row in given:
        sample = rows.sample_of(row)
        yield _Task(row, sample, seen[sample.prompt])
        seen[sample.prompt] += 1


def _in_threads(
    given: Iterable[Mapping[str, Any]],
    done: Callable[[_Task], T],
    threads: int,
    stop: threading.Event,
) -> Iterator[T]:
    """What is made of each, in their order. When it ends early, calls under way are waited for."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="solver")
    try:
        yield from in_order(lambda task: pool.submit(done, task), _tasks(given))
    except BaseException:  # whatever it is, nothing more is to be asked
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Solving:
    """Solves a task and judges what came; called from many threads."""

    solver: Solver
    journal: Journal
    rewards: Mapping[str, RewardFunction]
    purse: _Purse

    def __call__(self, task: _Task) -> Solved:
        sample = task.sample
        reward = look_up("reward", sample.type, self.rewards)
        told, own = self.solver.told(sample), sample.response or tagged("0")
        if reward.score(sample, own).status == "unscored":  # and so would be all that is bought
            return Solved(task.row, sample, reward, told)
        calls = self.solver.calls(sample, task.again, self.journal.lost)
        completions = [self._answer(call) for call in calls]
        scores = reward.score_many([(sample, each.text) for each in completions])
        return Solved(task.row, sample, reward, told, tuple(completions), tuple(scores))

    def _answer(self, call: Call) -> Completion:
        known = str(call.slot) in self.journal
        with nullcontext() if known else self.purse.room(len(call.system) + len(call.prompt)):
            try:
                return self.journal.complete(call, self.solver.source)
            except NoCompletion:
                return Completion("", self.solver.source.model)


class _Purse:
    """Lets a call begin where the budget has room for it beside those under way."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._change = budget, threading.Condition()
        self._under_way = 0

    @contextmanager
    def room(self, chars: int) -> Iterator[None]:
        """Room for a call with a prompt of so many characters. Waits, while others are under way,
        for what they leave; raises InfiniteRLError where there is none."""
        with self._change:
            self._budget.chars = max(self._budget.chars, chars)
            while refusal := self._budget.refusal(self._under_way):
                if not self._under_way:
                    raise InfiniteRLError(refusal)
                self._change.wait()
            self._under_way += 1
        try:
            yield
        finally:
            with self._change:
                self._under_way -= 1
                self._change.notify_all()
