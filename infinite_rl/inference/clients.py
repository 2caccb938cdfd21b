"""The models behind a run: one writes the tasks, others solve, rate or judge them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..errors import ProviderUnavailable, UsageError
from ..providers import DEFAULT_MODEL, PROVIDERS, make_provider, resolve_provider
from ..providers.backoff import RetryPolicy
from ..providers.base import BatchProvider, Provider
from ..providers.models import (
    Price,
    check_available,
    nearest_thinking,
    other_model,
    parse_price,
    price_of,
)
from ..providers.rate_limit import LimitedProvider, Limits
from ..solver_prompts import MAX_SOLUTIONS
from .journal import FREE, Call, Source

WRITER, SOLVER, LEARNER, JUDGE = "writer", "solver", "learner", "judge"
DERIVER = "deriver"  # writes programs that compute answers
_NO_KEY = "none"  # API key of a provider that is never called


def class_names(kind: str) -> list[str]:
    """Return the class names under which a provider's runs are recorded."""
    row = PROVIDERS[kind]
    return [path.rpartition(":")[2] for path in (row.path, row.batches)]


def is_offline(provider: str | Provider) -> bool:
    """Whether a named provider calls no model, so that options for models have no effect."""
    return isinstance(provider, str) and not PROVIDERS[resolve_provider(provider)].asks_a_model


def choose_models(
    model: str | None,
    verify: int | None,
    verify_model: str | Provider,
    provider: str | Provider,
    recorded: Mapping[str, object],
) -> tuple[str, int, str | Provider]:
    """Return the model to ask, the number of solutions per row at most, and the model that solves.

    Each is as given, else as `recorded` in a folder's settings, else the default: four solutions,
    by another model if one is known, and none for procedural rows. A recorded model counts only for
    the provider that recorded it. The solver is that of the author, or "", if the author solves. A
    provider object calls no model if its `asks_a_model` is False.

    Raises:
        UsageError: no model is given and the provider has no default, or it calls none that could
            solve a task.
    """
    earlier = {} if "rocedural" in str(recorded.get("provider")) else recorded
    if isinstance(provider, str):
        kind = resolve_provider(provider)
        asks = PROVIDERS[kind].asks_a_model
        if verify and not asks:
            raise UsageError(f"{kind} solves no tasks: --verify needs a provider that asks a model")
        if recorded.get("provider") in {kind, *class_names(kind)}:
            model = model or str(recorded.get("model") or "")
        if kind == "openai_compatible" and not model:
            raise UsageError("openai_compatible has no default model: use --model_name")
        model = model or DEFAULT_MODEL
        if not verify_model and earlier.get("verify"):
            verify_model = str(earlier.get("verify_model") or model)
        elif not verify_model and kind == "gemini":
            verify_model = other_model(model)
    else:
        model = provider.model
        asks = bool(verify_model) or getattr(provider, "asks_a_model", True)
    if verify is None:
        default = earlier.get("verify", MAX_SOLUTIONS)
        verify = default if asks and isinstance(default, int) else 0
    return model, verify, verify_model if verify or not isinstance(provider, str) else ""


@dataclass(frozen=True)
class RequestPolicy:
    """Rate limits, retries and the stop signal for requests.

    Each provider has the limits for itself; `threads` bounds its requests in flight if no limit
    does. `clients` are the providers in use; `on_retry` gets a line for each retried call.
    """

    limits: Limits | None
    threads: int
    retry: RetryPolicy | None
    stop: threading.Event
    on_retry: Callable[[str], object] = lambda _: None
    clients: list[LimitedProvider] = field(default_factory=list)

    def with_provider(self, provider: Provider) -> LimitedProvider:
        """Return the provider under this policy."""

        def note(error: ProviderUnavailable, wait_s: float) -> None:
            self.on_retry(f"{provider.model} again in {wait_s:.1f} s: {error.kind}: {error}")

        limits = replace(self.limits or Limits(), max_concurrency=self.most)
        client = LimitedProvider(provider, self.retry, limits=limits, stop=self.stop, on_retry=note)
        self.clients.append(client)
        return client

    @property
    def most(self) -> int:
        """The requests in flight at once, at most."""
        return (self.limits and self.limits.max_concurrency) or self.threads

    @property
    def retries(self) -> Counter[str]:
        """The number of retried calls, by the kind of failure."""
        return sum((each.stats.retries for each in self.clients), Counter[str]())


@dataclass(frozen=True)
class ModelClients:
    """The sources of completions of a run, and the providers behind them, by role."""

    sources: Mapping[str, Source]
    providers: Mapping[str, Provider]

    @property
    def writer(self) -> Source:
        """The model that writes the tasks."""
        return self.sources[WRITER]

    @property
    def solver(self) -> Source:
        """The model that solves them, to check their answers."""
        return self.sources[SOLVER]

    @classmethod
    def of(
        cls,
        provider: str | Provider,
        model: str,
        solver: str | Provider,
        price: str | Price | None,
        options: Mapping[str, Any],
        policy: RequestPolicy,
        *,
        others: Mapping[str, str | Provider] | None = None,
        structured: bool = False,
        defer: Callable[[str, Call], Exception] | None = None,
        dry_run: bool = False,
    ) -> ModelClients:
        """Set up providers by name or object; `solver` names a model of the same kind, or is "".

        `others` are the models of further roles, such as `LEARNER`, in the same way; a name
        "MODEL@URL" is that of an OpenAI-compatible service, which is asked without a batch.

        `options` are those of `make_provider`. The solver has no schema, as it writes no task, and
        the nearest thinking option that its model has. A `dry_run` needs no API key. For batches
        `defer` queues a role's call.

        Raises:
            UsageError, ProviderRefused: a provider cannot be set up.
        """
        price, batch = parse_price(price) if isinstance(price, str) else price, bool(defer)
        if is_offline(provider):  # no limits, no retries, no price
            offline = make_provider(str(provider), batch=batch, **options)
            writer = Source(offline.complete, FREE, offline.model, type(offline).__name__, WRITER)
            return cls({WRITER: writer, SOLVER: replace(writer, role=SOLVER)}, {})
        kind = ""
        if isinstance(provider, str):
            kind = resolve_provider(provider)
            options = {**options, "batch": batch, "api_key": _NO_KEY if dry_run else None}
            if kind == "gemini" and solver and isinstance(solver, str) and not batch:
                check_available(solver, option="--verify_model")
            provider = make_provider(kind, model, structured=structured, **options)
            if isinstance(solver, str) and (structured or solver not in ("", model)):
                near = nearest_thinking(solver or model, options.get("thinking"))
                solver = make_provider(kind, solver or model, **{**options, "thinking": near})
        elif isinstance(solver, str) and solver:
            raise UsageError("with a provider object, verify_model is a provider object as well")
        solving = provider if isinstance(solver, str) else solver
        providers = {WRITER: provider, SOLVER: solving}
        if batch and not all(isinstance(each, BatchProvider) for each in providers.values()):
            raise UsageError("batch needs a provider with a batch service: gemini")
        for role, other in (others or {}).items():
            providers[role] = _other(role, other, kind, options)

        def source(role: str, provider: Provider, price: Price | None) -> Source:
            price, name = price or price_of(provider.model), type(provider).__name__
            complete = policy.with_provider(provider).complete
            later = partial(defer, role) if defer and isinstance(provider, BatchProvider) else None
            return Source(complete, price, provider.model, name, role, later)

        sources: dict[str, Source] = {}
        for role, each in providers.items():
            same = next((of for of, other in providers.items() if other is each), role)
            if same in sources:  # one limiter for one provider
                sources[role] = replace(sources[same], role=role)
            else:
                priced = price if each.model == provider.model else None
                sources[role] = source(role, each, priced)
        return cls(sources, providers)


def _other(role: str, named: str | Provider, kind: str, options: Mapping[str, Any]) -> Provider:
    """The provider of a further role."""
    if not isinstance(named, str):
        return named
    model, at, url = named.rpartition("@")
    if at and url.startswith(("http://", "https://")):
        own: dict[str, Any] = {
            name: options.get(name) for name in ("temperature", "max_output_tokens", "api_key")
        }
        return make_provider("openai_compatible", model, base_url=url, **own)
    if not kind:
        raise UsageError(f"with a provider object, the {role} is a provider object or MODEL@URL")
    thinking = nearest_thinking(named, options.get("thinking"))
    return make_provider(kind, named, **{**options, "thinking": thinking})
