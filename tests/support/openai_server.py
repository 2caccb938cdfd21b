"""A server of OpenAI's protocol on loopback, for tests through the real client.

    with OpenAIServer(lambda request: text("hello")) as server:
        OpenAICompatibleProvider("m", api_key=KEY, base_url=server.base_url)

It answers `POST /v1/chat/completions` as OpenAI does (the details of other servers are arguments of
the replies), with what `answer` returns for each request: a `Reply` made by one of the functions
below, or a string, the text.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import loopback
from loopback import Json, Reply, garbage, hang, json_reply, nothing

__all__ = ["Reply", "garbage", "hang", "nothing"]  # beside this module's own names

KEY = "sk-loopback-0123456789"
COUNTS: Json = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    model: str
    system: str
    prompt: str
    seed: int | None
    headers: Mapping[str, str]
    body: Json


Answer: TypeAlias = Callable[[Request], "Reply | str"]


def text(
    words: str | None,
    *,
    finish: str | None = "stop",
    usage: Json | None = None,
    kind: str = "text",
    **message: object,
) -> Reply:
    """An answer of these words; `message` are further fields of it, such as `reasoning`."""
    said: Json = {"role": "assistant", "content": words, **message}
    choice: Json = {"index": 0, "message": said, "finish_reason": finish, "logprobs": None}
    body: Json = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served"}
    return json_reply(kind, 200, body | {"choices": [choice], "usage": usage or COUNTS})


def streamed(message: Mapping[str, object], finish: str = "stop") -> Reply:
    """A message as server-sent events; the last one has the counts of its tokens."""
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = {"index": 0, "delta": {"role": "assistant", **message}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": finish}
    events = ({**chunk, "choices": [said]}, {**chunk, "choices": [end], "usage": COUNTS})
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return Reply("text", 200, body.encode(), {"content-type": "text/event-stream"})


def error(
    status: int,
    message: str,
    code: str | int | None = None,
    headers: Mapping[str, str] | None = None,
    **more: object,
) -> Reply:
    """An error in OpenAI's own form."""
    told: Json = {"message": message, "type": "some_error", "param": None, "code": code, **more}
    return json_reply(f"error {status}", status, {"error": told}, headers)


class OpenAIServer(loopback.Service[Request]):
    """The server; a context manager. `exchanges` holds each request with its reply, as they came.

    A request without the header `Authorization: Bearer KEY` gets a 401 (key None: all are served);
    one for a model that is not among `models` (None: all are) or for another path gets a 404.
    Neither reaches `answer`.
    """

    def __init__(
        self, answer: Answer, *, key: str | None = KEY, models: Iterable[str] | None = None
    ) -> None:
        super().__init__()
        self.key = key
        self.models = None if models is None else frozenset(models)
        self._answer = answer

    @property
    def base_url(self) -> str:
        return f"{super().base_url}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that send the client of another process here, past any proxy."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": self.key or "",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def read(self, call: loopback.Call) -> Request:
        body = json.loads(call.body)
        words = {each["role"]: each.get("content") or "" for each in body["messages"]}
        model = body["model"] if call.path == "/v1/chat/completions" else ""
        system, prompt = words.get("system", ""), words["user"]
        return Request(model, system, prompt, body.get("seed"), call.headers, body)

    def decide(self, request: Request) -> Reply:
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return error(401, "Incorrect API key provided.", "invalid_api_key")
        if not request.model or (self.models is not None and request.model not in self.models):
            message = f"The model `{request.model}` does not exist."
            return error(404, message, "model_not_found")
        reply = self._answer(request)
        return text(reply) if isinstance(reply, str) else reply
