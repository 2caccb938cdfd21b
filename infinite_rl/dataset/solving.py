"""Have a model solve rows from their prompts alone, and judge the answers by the rows' rewards.

Every completion is in a journal before it is judged, so that none is paid for twice: the same call
resumes, and with more attempts it requests only those.
"""

import hashlib
import itertools
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..errors import NoCompletion, check_range, look_up
from ..files.atomic import locked
from ..inference.budget import Budget, Estimate, Spending, estimate_calls
from ..inference.clients import ModelClients, RequestPolicy
from ..inference.journal import Call, Journal, free_slots, slot_seed
from ..layout import tagged
from ..providers import resolve_provider
from ..providers.backoff import RetryPolicy
from ..providers.base import Provider
from ..providers.models import Price, parse_thinking, thinking_request, warnings_of
from ..providers.rate_limit import LimitedProvider, Limits
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..solver_prompts import default_system_prompt
from ..store import JOURNAL
from ..types import Completion, RewardFunctionScore, Sample, Slot
from ..workers.pool import in_order
from . import rows
from .unfinished import collected

T = TypeVar("T")
logger = logging.getLogger(__name__)
Ask: TypeAlias = "Callable[[Task], list[Completion]]"
CALLS = ".calls"  # suffix of the output's name: the folder of its journal


@dataclass(frozen=True)
class SolveConfig:
    """The solver of rows, the number of attempts, and their limits.

    provider, model, temperature, max_output_tokens, thinking, base_url, price: as in
        `generate_dataset`.
    system: the system prompt, or a function of the row; by default the form of an answer.
    seed: of the attempts; another seed makes other attempts.
    max_cost: US dollars for all calls of the folder, including those of earlier runs.
    dry_run: estimate only; nothing is requested or written.
    timeout: seconds for the judgement of one answer.
    asks: whether the model is asked about a row; a row without calls has no completions.
    clients: receives the providers in use, whose `stats` say whether failures have slowed them.

    Raises:
        UsageError: the number of attempts or threads is invalid.
    """

    provider: str | Provider
    model: str = ""
    attempts: int = 4
    system: str | Callable[[Sample], str] | None = None
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
    limits: Limits | None = None
    retry: RetryPolicy | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    asks: Callable[[Sample], bool] = lambda _: True
    clients: list[LimitedProvider] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("attempts", "threads"):
            check_range(name, getattr(self, name), 1)


@dataclass
class Cost:
    """The number of calls answered now, the spending of the folder, and a dry run's estimate."""

    calls: int = 0
    spending: Spending = field(default_factory=Spending)
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Solved:
    """A row with its completions and their scores; both are empty if it cannot be judged.

    `system` is the system prompt. A call that was answered without text has the text "".
    """

    row: Mapping[str, Any]
    sample: Sample
    reward: RewardFunction
    system: str
    completions: tuple[Completion, ...] = ()
    scores: tuple[RewardFunctionScore, ...] = ()

    def columns(self) -> rows.Row:
        """Return the columns that rows of single answers have in common."""
        names = ("type", "prompt", "answer", "language")
        return {**{n: getattr(self.sample, n) for n in names}, "id": rows.id_of(self.row)}


def folder_of(out: Path, calls: str | Path | None = None) -> Path:
    """Return the folder of the journal."""
    return Path(calls) if calls else out.with_name(out.name + CALLS)


def solve(
    source: rows.Source,
    out: Path,
    unfinished: str,
    config: SolveConfig,
    cost: Cost,
    convert: Callable[[Solved], T],
    take: Callable[[T], Iterable[rows.Row]],
    *,
    calls: str | Path | None,
    on_row: Callable[[int], None],
) -> None:
    """Solve the rows of `source`, and write to `out` what becomes of each, in their order.

    `convert` makes a result of each row, in many threads; `take` counts the result in `cost` and
    gives the rows to write. Until all are there, they are in the file `unfinished` of the folder
    `calls` (see `folder_of`), which keeps the completions in any case. `on_row` is called with the
    number of rows done. A dry run writes nothing, and creates no folder. A row with an answer that
    the reward cannot read is not requested.

    Raises:
        UsageError: an argument or a row is invalid.
        ProviderError: the provider failed, or `stop` is set (`Stopped`); earlier completions are
            stored.
        InfiniteRLError: `max_cost` is reached, or judging is impossible.
    """
    rows.kind_of(out)  # an unknown kind shows before the work
    folder, every = folder_of(out, calls), rows.read_some(source)
    if config.dry_run:
        estimate(every, folder, config, cost)
        return
    rewards = get_reward_functions(config.timeout)

    def result(task: Task, ask: Ask) -> T:
        return convert(_solved(task, ask, rewards))

    with (
        asking(every, folder, config, cost, result) as results,
        collected(folder / unfinished, out) as writer,
    ):
        for number, each in enumerate(results, 1):
            for row in take(each):
                writer.add(row)
            on_row(number)


def estimate(
    every: Iterable[Mapping[str, Any]], folder: Path, config: SolveConfig, cost: Cost
) -> None:
    """Put in `cost` what the missing calls for rows may cost; creates no folder."""
    solver = _Solver(config)
    if not (folder / JOURNAL).is_file():
        cost.estimate = solver.estimate(every, None)
        return
    with locked(folder), closing(Journal(folder)) as journal:
        cost.spending = journal.spending
        cost.estimate = solver.estimate(every, journal)


@contextmanager
def asking(
    every: Iterator[Mapping[str, Any]],
    folder: Path,
    config: SolveConfig,
    cost: Cost,
    convert: "Callable[[Task, Ask], T]",
) -> Iterator[Iterator[T]]:
    """The results of `convert` for each row, in order, from many threads.

    `convert` is given the row's task and a function that returns its completions: those in the
    folder's journal, and what the model answers now. Raises as `solve`.
    """
    solver = _Solver(config)
    every = itertools.chain([next(every)], every)  # an unreadable source leaves no folder
    with locked(folder), closing(Journal(folder)) as journal:
        cost.spending = journal.spending
        budget = Budget(
            config.max_cost, [solver.source.price], journal.spending, 0, config.max_output_tokens,
            room=solver.room,
        )  # fmt: skip
        pool = ThreadPoolExecutor(config.threads, thread_name_prefix="solver")

        def result(task: Task) -> T:
            return convert(task, lambda task: solver.ask(task, journal, budget))

        tasks = solver.tasks(every, journal.lost)
        try:
            yield in_order(lambda task: pool.submit(result, task), tasks)
        except BaseException:  # no further call, whatever it is
            config.stop.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)  # calls in flight are waited for
        cost.calls = journal.answered


class Task(NamedTuple):
    """A row to solve, and the calls that do."""

    row: Mapping[str, Any]
    sample: Sample
    system: str
    calls: Sequence[Call]


class _Solver:
    """The model that solves rows, and the thinking budget of a call of it, in tokens.

    Raises:
        UsageError, ProviderRefused: the provider cannot be set up.
    """

    def __init__(self, config: SolveConfig) -> None:
        self.config = config
        policy = RequestPolicy(
            config.limits, config.threads, config.retry, config.stop, clients=config.clients
        )
        self.options: dict[str, Any] = {
            "temperature": config.temperature, "max_output_tokens": config.max_output_tokens,
        }  # fmt: skip
        if config.thinking is not None:  # else keys of folders without this option change
            self.options["thinking"] = parse_thinking(config.thinking)
        self.source = ModelClients.of(
            config.provider, config.model, "", config.price,
            {**self.options, "base_url": config.base_url}, policy, dry_run=config.dry_run,
        ).writer  # fmt: skip
        model = self.source.model
        kind = resolve_provider(config.provider) if isinstance(config.provider, str) else ""
        for line in warnings_of([model], config.temperature, provider=kind):
            logger.warning("%s", line)
        self.room = thinking_request(model, self.options.get("thinking")).budget

    def tasks(self, every: Iterable[Mapping[str, Any]], lost: Collection[str]) -> Iterator[Task]:
        """Each row with its calls.

        A call's slot depends on everything that the completion depends on, and not on the position
        of the row. Lost calls of a killed run may have been billed, and are skipped.
        """
        config, source, seen = self.config, self.source, Counter[str]()
        prompt = default_system_prompt if config.system is None else config.system
        for row in every:
            sample = rows.sample_of(row)
            system = prompt if isinstance(prompt, str) else prompt(sample)
            key = [source.name, source.model, self.options, config.seed, system, sample.prompt]
            text = json.dumps(key, sort_keys=True)
            digest = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
            again = seen[sample.prompt]  # earlier rows with this prompt
            seen[sample.prompt] += 1
            free = free_slots(Slot(digest, again, role="solve", number=1), lost)
            calls = [
                Call(slot, sample.type, system, sample.prompt, slot_seed(config.seed, slot))
                for slot in itertools.islice(free, config.attempts if config.asks(sample) else 0)
            ]
            yield Task(row, sample, system, calls)

    def estimate(self, every: Iterable[Mapping[str, Any]], journal: Journal | None) -> Estimate:
        """Estimate the missing calls."""
        tasks = self.tasks(every, journal.lost if journal else ())
        calls = (call for task in tasks for call in task.calls)
        sizes = [
            len(call.system) + len(call.prompt)
            for call in calls
            if journal is None or str(call.slot) not in journal
        ]
        spent = journal.spending if journal else Spending()
        return estimate_calls(len(sizes), sum(sizes), self.source.price, spent, self.room)

    def ask(self, task: Task, journal: Journal, budget: Budget) -> list[Completion]:
        """The completions of one row; called from many threads."""
        completions: list[Completion] = []
        for call in task.calls:
            stored = str(call.slot) in journal
            chars = len(call.system) + len(call.prompt)
            with nullcontext() if stored else budget.reserve(chars):
                try:
                    completions.append(journal.complete(call, self.source))
                except NoCompletion:
                    completions.append(Completion("", self.source.model))
        return completions


def _solved(task: Task, ask: Ask, rewards: Mapping[str, RewardFunction]) -> Solved:
    """Solve and judge one row."""
    row, sample, system, calls = task
    reward = look_up("reward", sample.type, rewards)
    if not calls:
        return Solved(row, sample, reward, system)
    if reward.score(sample, sample.response or tagged("0")).status == "unscored":
        return Solved(row, sample, reward, system)  # every completion would be, too
    completions = ask(task)
    scores = reward.score_many([(sample, each.text) for each in completions])
    return Solved(row, sample, reward, system, tuple(completions), tuple(scores))
