"""Gemini's batch API at half price: one file of requests, answered within a day or two.

    batches = GeminiBatches("gemini-3.8-flash")
    name = batches.submit({"math/0/0/0": (system, prompt, seed)}, label="run-7")
    batches.state(name)  # "pending", "running", and in the end "done"
    for key, answer in batches.results(name): ...

Only the name has to be stored: any process with a key of the same account can continue. If the name
is lost, with the process or with the response to `submit`, `find` has it by its label.
"""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import ProviderError, ProviderUnavailable, UsageError
from ..types import Completion
from .gemini import GeminiProvider
from .models import check_available
from .remote import GARBAGE, SEED_MASK, T, instructed, sendable

if TYPE_CHECKING:
    from google.genai.types import BatchJob

logger = logging.getLogger(__name__)

BatchState: TypeAlias = Literal["pending", "running", "done", "failed", "cancelled", "expired"]
ENDED: frozenset[BatchState] = frozenset({"done", "failed", "cancelled", "expired"})

# Any state that is not listed is a pending one.
_STATES: Mapping[str, BatchState] = {
    **dict.fromkeys(("RUNNING", "CANCELLING", "UPDATING", "PAUSED"), "running"),
    **dict.fromkeys(("SUCCEEDED", "PARTIALLY_SUCCEEDED"), "done"),
    **{"FAILED": "failed", "CANCELLED": "cancelled", "EXPIRED": "expired"},
}
# Lines of results have gRPC's codes, from 1; google/rpc/code.proto names the HTTP status of each.
# Cancelled and aborted (1 and 10) are worth a retry.
_HTTP_CODES = (503, 500, 400, 504, 404, 400, 403, 429, 400, 503, 400, 501, 500, 503, 500, 401)
_NAME = re.compile(r"batches/[\w-]+", re.ASCII)
_PAGE = 100


class GeminiBatches(GeminiProvider):
    """The provider's model and settings in file batches.

    A batch's results are in memory at once: ten thousand requests make a good batch.
    """

    def submit(self, requests: Mapping[str, tuple[str, str, int]], label: str = "") -> str:
        """Submit requests by key, each (system, prompt, seed). Returns the batch's name.

        Do not retry blindly: after `ProviderUnavailable`, `find` says whether the batch exists.

        Raises:
            UsageError: there are no requests, or the model is shut down.
            ProviderUnavailable: a passing failure; the batch may exist.
            ProviderRefused: the key, the model or the file is refused; no batch exists.
        """
        if not requests:
            raise UsageError("a batch without requests")
        check_available(self.model)
        label = label or "infinite-rl"
        lines = (self._line(key, *request) for key, request in requests.items())
        file = io.BytesIO("".join(lines).encode())
        to = self._types.UploadFileConfig(mime_type="application/jsonl", display_name=label)
        uploaded = self._call(lambda: self._client.files.upload(file=file, config=to))
        job = self._call(
            lambda: self._client.batches.create(
                model=self.model,
                src=uploaded.name or "",
                config=self._types.CreateBatchJobConfig(display_name=label),
            )
        )
        if not (name := self._name(job)):
            raise self._garbled("a batch without a name")
        return name

    def find(self, label: str) -> list[str]:
        """The names of the batches with this label.

        Raises:
            ProviderUnavailable, ProviderRefused: as `complete` does.
        """
        page = self._types.ListBatchJobsConfig(page_size=_PAGE)
        jobs = self._call(lambda: list(self._client.batches.list(config=page)))
        named = [(self._name(job), job.display_name) for job in jobs]
        return [name for name, its_label in named if name and its_label == label]

    def state(self, name: str) -> BatchState:
        """The state of a batch. If "done", its results can be read.

        Raises:
            UsageError: this is no batch's name.
            ProviderUnavailable, ProviderRefused: as `complete` does; the latter also for a batch
                that the service does not know (any more).
        """
        return _state(self._job(name))

    def results(self, name: str) -> Iterator[tuple[str, Completion | ProviderError]]:
        """Each key with its completion, or with the error that `complete` would have raised.

        In the service's order, each key once. A key that is missing was not answered: some may be
        missing from a finished batch, and all are missing from most cancelled, failed or expired
        ones.

        Raises:
            UsageError, ProviderUnavailable, ProviderRefused: as `state` does; ProviderUnavailable
                also for a batch that has not ended.
        """
        job = self._job(name)
        file = job.dest.file_name if job.dest is not None else None
        if not file and _state(job) not in ENDED:
            raise ProviderUnavailable(f"the batch {name} has not ended: it is {_state(job)}")
        content = self._call(lambda: self._client.files.download(file=file)) if file else b""
        return self._answers(io.BytesIO(content))

    def cancel(self, name: str) -> None:
        """Cancel a batch; its answers so far may be billed.

        Raises:
            UsageError, ProviderUnavailable, ProviderRefused: as `state` does.
        """
        self._call_of(name, lambda: self._client.batches.cancel(name=name))

    def _check_model(self) -> None:
        """Do nothing: answers of a model that is shut down can still be read. `submit` checks."""

    def _line(self, key: str, system: str, prompt: str, seed: int) -> str:
        """One request as a line of the file, in the service's own JSON."""
        if self._structured:
            system = instructed(system)
        config: dict[str, Any] = {"seed": seed & SEED_MASK}
        if self._temperature is not None:
            config["temperature"] = self._temperature
        if self._max_output_tokens is not None:
            config["maxOutputTokens"] = self._max_output_tokens
        config |= self._generation_config
        request: dict[str, Any] = {
            "contents": [{"role": "user", "parts": [{"text": sendable(prompt)}]}],
            "generationConfig": config,
        }
        if system:
            request["systemInstruction"] = {"parts": [{"text": sendable(system)}]}
        return json.dumps({"key": key, "request": request}) + "\n"

    def _name(self, job: BatchJob) -> str:
        """The batch's name, which is stored and shown; "" if it is missing or contains the key."""
        name = job.name or ""
        return name if _NAME.fullmatch(name) and self._clean(name) == name else ""

    def _job(self, name: str) -> BatchJob:
        return self._call_of(name, lambda: self._client.batches.get(name=name))

    def _call_of(self, name: str, send: Callable[[], T]) -> T:
        if not _NAME.fullmatch(name):
            raise UsageError(f"not a batch's name: {name!r}")
        missing = f"Gemini knows no batch {name}: too old, or of another account"
        return self._call(send, missing)

    def _answers(self, lines: io.BytesIO) -> Iterator[tuple[str, Completion | ProviderError]]:
        seen: set[str] = set()
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                key = entry["key"]
            except GARBAGE:
                key = None
            if not isinstance(key, str):
                logger.warning("line %d of a batch's results has no key", number)
            elif key not in seen:
                seen.add(key)
                yield key, self._answer(entry)

    def _answer(self, entry: Mapping[str, Any]) -> Completion | ProviderError:
        error = entry.get("error")
        if isinstance(error, dict):
            code = error.get("code")
            code = code if isinstance(code, int) else 500
            code = _HTTP_CODES[code - 1] if 0 < code <= len(_HTTP_CODES) else code
            return self._error_of(code, f"{code}: {error.get('message') or 'no message'}", error)
        try:
            return self._completion(entry["response"])
        except ProviderError as failure:
            return failure.with_traceback(None)
        except GARBAGE as failure:
            return self._garbled(type(failure).__name__)


def _state(job: BatchJob) -> BatchState:
    name = str(job.state.value) if job.state is not None else ""
    # The service's own prefix, unless the client replaces it with its own.
    name = name.removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
    state = _STATES.get(name, "pending")
    # The service may say that a batch is done before its file is there.
    has_file = job.dest is not None and bool(job.dest.file_name)
    return "running" if state == "done" and not has_file else state
