"""NeMo Gym: a resources server whose `verify` judges natively.

    from infinite_rl.adapters.nemo_gym import InfiniteRLResourcesServer  # in the server's app.py

    if __name__ == "__main__":
        InfiniteRLResourcesServer.run_webserver()

The contract is that of nemo-gym 0.4.0 (`SimpleResourcesServer`): POST /verify with the row's own
fields and the model's response, the same back with a `reward`. Its later `mask_sample` leaves a
sample out whose reward is no measurement: what could not be judged gets 0.0, a warning,
`mask_sample` and `failure_reason`, which 0.4.0 passes on without heeding.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseRunRequest,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from pydantic import ConfigDict

from infinite_rl.adapters.scorer import scorer
from infinite_rl.dataset.ground_truth import unpack


class InfiniteRLConfig(BaseResourcesServerConfig):
    """The settings of `Scorer`."""

    format_weight: float = 0.0
    partial: bool = False
    timeout: float = 5.0


class InfiniteRLRunRequest(BaseRunRequest):
    """A row of `export --to nemo-gym`."""

    model_config = ConfigDict(extra="allow")

    ground_truth: str


class InfiniteRLVerifyRequest(InfiniteRLRunRequest, BaseVerifyRequest):
    """The row with the model's response."""


class InfiniteRLVerifyResponse(BaseVerifyResponse):
    """What came, the reward in [0, 1], and whether and why there was no verdict."""

    model_config = ConfigDict(extra="allow")

    mask_sample: bool = False
    failure_reason: str | None = None


class InfiniteRLResourcesServer(SimpleResourcesServer):
    """Judges the text of the model's last message. `rewards` is a folder of one's own rewards."""

    config: InfiniteRLConfig
    rewards: ClassVar[Path | None] = None

    async def verify(self, body: InfiniteRLVerifyRequest) -> InfiniteRLVerifyResponse:
        """Judge a response.

        Raises:
            UsageError: `ground_truth` is none of this package; or as `Scorer.judge`.
        """
        config = self.config
        judge = scorer(config.format_weight, config.partial, config.timeout, self.rewards)
        sample, text = unpack(body.ground_truth), answer_text(body.response)
        score = await asyncio.to_thread(judge.judge_one, sample, text)
        unscored = score.status == "unscored"
        return InfiniteRLVerifyResponse(
            **body.model_dump(),
            reward=judge.number(score),
            mask_sample=unscored,
            failure_reason=score.error_msg if unscored else None,
        )


def answer_text(response: Any) -> str:
    """The text of the last message of a response; "" where its last item is another."""
    last = response.output[-1] if response.output else None
    if last is None or last.type != "message":
        return ""
    return "".join(part.text for part in last.content if part.type == "output_text")
