"""Who is asked: the model that writes the tasks, and the one that solves them independently."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..errors import ProviderUnavailable, UsageError
from ..providers import DEFAULT_MODEL, ONLY_PROCEDURAL, PROVIDERS, make_provider, resolve_provider
from ..providers.base import BatchProvider, Provider
from ..providers.models import check_available, nearest_thinking, other_model
from ..providers.prices import Price, parse_price, price_of
from ..providers.rate_limit import LimitedProvider, Limits, RetryPolicy
from ..verification.self_consistency import MAX_SOLUTIONS
from .batches import Batches
from .journal import Journal, Source

WRITER, SOLVER = "writer", "solver"
_NO_KEY = "none"  # what a provider is made with that is never asked


def model_to_ask(
    model: str | None, provider: str | Provider, recorded: Mapping[str, object]
) -> str:
    """The model that is named, else the one `recorded` in a folder's settings, else the default.

    A recorded one counts only for the provider that recorded it.

    Raises:
        UsageError: no model is named, and the provider has no default one.
    """
    if not isinstance(provider, str):
        return provider.model
    if model:
        return model
    kind = resolve_provider(provider)
    row = PROVIDERS[kind]
    own = {kind, *(path.rpartition(":")[2] for path in (row.path, row.batches))}
    if recorded.get("model") and recorded.get("provider") in own:
        return str(recorded["model"])
    if kind == "openai_compatible":
        raise UsageError("say which model to ask: --model_name")
    return DEFAULT_MODEL


def is_offline(provider: str | Provider) -> bool:
    """Whether the provider is named, and asks nobody: options for models have no meaning then."""
    return isinstance(provider, str) and not PROVIDERS[resolve_provider(provider)].asks_a_model


def check_procedural(provider: str | Provider, level: object, families: object) -> None:
    """Raise UsageError where procedural tasks are chosen of a provider that makes none."""
    if (level is not None or families) and not is_offline(provider):
        kind = resolve_provider(provider) if isinstance(provider, str) else type(provider).__name__
        raise UsageError(ONLY_PROCEDURAL.format(kind))


@dataclass(frozen=True)
class Verification:
    """How many independent solutions a row may have at most, and by which model; "": the author.

    Raises:
        UsageError: the provider asks no model that could solve anything.
    """

    count: int
    model: str | Provider

    @classmethod
    def of(
        cls,
        verify: int | None,
        verify_model: str | Provider,
        provider: str | Provider,
        model: str,
        recorded: Mapping[str, object],
    ) -> Verification:
        """Those asked for, else those `recorded` in the settings of the folder, else the defaults.

        By default a row of a model has up to four solutions, by another model where one is known,
        and a row that no model writes has none. A provider of your own asks no model where its
        `asks_a_model` is False.
        """
        earlier = {} if "rocedural" in str(recorded.get("provider")) else recorded
        if isinstance(provider, str):
            kind = resolve_provider(provider)
            asks = PROVIDERS[kind].asks_a_model
            if verify and not asks:
                raise UsageError(
                    f"{kind} solves no tasks: verify needs a provider that asks a model"
                )
            if not verify_model and earlier.get("verify"):
                verify_model = str(earlier.get("verify_model") or model)
            elif not verify_model and kind == "gemini":
                verify_model = other_model(model)
            verify_model = "" if verify_model == model else verify_model
        else:
            asks = bool(verify_model) or getattr(provider, "asks_a_model", True)
        if verify is None:
            kept = earlier.get("verify", MAX_SOLUTIONS)
            verify = kept if asks and isinstance(kept, int) else 0
        return cls(verify, verify_model if verify or not isinstance(provider, str) else "")


@dataclass(frozen=True)
class RequestPolicy:
    """How providers are asked: within `limits`, and again while trouble passes, until `stop`.

    Each provider has the limits for itself; where none is set on the requests in flight, it is
    `threads`. `clients` are the providers; `on_retry` gets a line for each call that is made again.
    """

    limits: Limits
    threads: int
    policy: RetryPolicy | None
    stop: threading.Event
    on_retry: Callable[[str], object] = lambda _: None
    clients: list[LimitedProvider] = field(default_factory=list)

    def with_provider(self, provider: Provider) -> LimitedProvider:
        """The provider, asked so."""
        most = self.limits.max_concurrency or self.threads
        limited = LimitedProvider(
            provider,
            self.policy,
            limits=replace(self.limits, max_concurrency=most),
            stop=self.stop,
            on_retry=partial(self._note_retry, provider.model),
        )
        self.clients.append(limited)
        return limited

    def _note_retry(self, model: str, error: ProviderUnavailable, wait_s: float) -> None:
        self.on_retry(f"{model} again in {wait_s:.1f} s: {error.kind}: {error}")

    @property
    def retries(self) -> Counter[str]:
        """The calls that were made again, by the kind of trouble."""
        return sum((each.stats.retries for each in self.clients), Counter[str]())


@dataclass(frozen=True)
class ModelClients:
    """The sources of a run, and the providers behind them."""

    writer: Source
    solver: Source
    providers: Mapping[str, Provider]

    @classmethod
    def by(
        cls,
        provider: str | Provider,
        model: str,
        solver: str | Provider,
        price: str | Price | None,
        options: Mapping[str, Any],
        policy: RequestPolicy,
        *,
        structured: bool = False,
        batch: bool = False,
        dry_run: bool = False,
    ) -> ModelClients:
        """Providers by name or as they are; `solver` names a model of the same kind, or is "".

        `options` are those of `make_provider`. A solver is not held to a schema: it writes no task.
        It thinks as near to what is asked as it can.
        For a `dry_run` they need no API key, and are not to be asked.

        Raises:
            UsageError, ProviderRefused: a provider cannot be set up.
        """
        price = parse_price(price) if isinstance(price, str) else price
        if isinstance(provider, str):
            kind = resolve_provider(provider)
            if not PROVIDERS[kind].asks_a_model:
                price, structured = Price(0.0, 0.0), False
            options = {**options, "batch": batch, "api_key": _NO_KEY if dry_run else None}
            if kind == "gemini" and solver and isinstance(solver, str) and not batch:
                check_available(solver, option="--verify_model")
            name, provider = model, make_provider(kind, model, structured=structured, **options)
            if isinstance(solver, str) and (solver or structured):
                near = nearest_thinking(solver or name, options.get("thinking"))
                solver = make_provider(kind, solver or name, **{**options, "thinking": near})
        elif isinstance(solver, str) and solver:
            raise UsageError("with a provider of your own, verify_model is one as well, not a name")
        others = provider if isinstance(solver, str) else solver
        providers = {WRITER: provider, SOLVER: others}
        if batch and not all(isinstance(each, BatchProvider) for each in providers.values()):
            raise UsageError("batch needs a provider that makes batches: gemini")
        writer = _source(WRITER, provider, price, policy, batch=batch)
        if others is provider:
            return cls(writer, replace(writer, role=SOLVER), providers)
        priced = price if others.model == provider.model else None
        return cls(writer, _source(SOLVER, others, priced, policy, batch=batch), providers)

    def settings(self) -> dict[str, object]:
        """The part of a run's settings that says who writes."""
        return {"provider": self.writer.name, "model": self.writer.model}

    def batches(self, journal: Journal) -> Batches:
        """The batches of a folder."""
        sources = {WRITER: self.writer, SOLVER: self.solver}

        def provider(role: str) -> BatchProvider:
            found = self.providers[role]
            assert isinstance(found, BatchProvider), "checked when the sources were made"
            return found

        return Batches(journal, sources, provider)


def _source(
    role: str, provider: Provider, price: Price | None, policy: RequestPolicy, *, batch: bool
) -> Source:
    price = price or price_of(provider.model)
    name = type(provider).__name__
    ask = policy.with_provider(provider).complete
    return Source(ask, price, provider.model, name, role, batch)
