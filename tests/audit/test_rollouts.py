"""The audit in training: tricks that are paid are named, and honest rollouts are not."""

from typing import Any

from infinite_rl.audit.ours import compute_reward
from infinite_rl.audit.rollouts import Rollout, RolloutMonitor, watched

WORK = "I add the two numbers, and then I check the sum once more. "


def honest(number: int) -> Rollout:
    text = f"{WORK}<answer>{number + 1}</answer>"
    return Rollout(f"What is {number} + 1?", text, 1.0, str(number + 1))


def test_honest_rollouts_are_not_suspicious() -> None:
    monitor = RolloutMonitor(compute_reward)
    monitor.add([honest(number) for number in range(60)])
    assert monitor.report() == [] and not monitor.is_rising()


def test_each_trick_is_named_with_the_shortest_rollout_that_shows_it() -> None:
    monitor = RolloutMonitor(compute_reward)
    monitor.add([honest(number)._replace(reward=number % 2) for number in range(80)])
    boxes = " ".join(f"\\boxed{{{number}}}" for number in range(9))
    monitor.add([Rollout(f"task {n}", boxes + WORK, 1.0, "4") for n in range(40)])
    monitor.add([Rollout("task", f"<answer>{n}</answer>", 1.0, "-1") for n in range(10)])
    shares = {each.kind: each for each in monitor.report()}
    assert {"same text", "many answers", "short", "refused"} <= shares.keys()
    assert shares["same text"].share == 40 / 90 and shares["short"].share == 10 / 90
    assert shares["short"].example.completion == "<answer>0</answer>" and monitor.is_rising()


def test_a_watched_reward_pays_the_same_and_logs_the_shares() -> None:
    def reward(completions: list[Any], **columns: Any) -> list[float | None]:
        return [None if "?" in text else 1.0 for text in completions]

    monitor, logged = RolloutMonitor(), dict[str, float]()
    texts = ["yes"] * 40 + ["?"]
    prompts = [f"prompt {n}" for n in range(41)]
    rewards = watched(reward, monitor)(prompts, texts, log_metric=logged.__setitem__)
    assert rewards == [1.0] * 40 + [None]
    assert logged["audit/same_text"] == 1.0
