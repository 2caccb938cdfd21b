"""The settings of the server."""

from collections.abc import Mapping

from ..config import Config, Number, Strings, ranged
from ..errors import look_up
from ..reward_functions import REWARDS, load_reward

MIB = 2**20


class ServeConfig(Config):
    """
    host             address to listen on; any other than loopback needs $INFINITE_RL_SERVE_TOKEN
    port             port to listen on; 0: a free port
    rewards          rewards to serve; your own as NAME=FILE.py:CLASS or NAME=package.module:CLASS
                     (default: all)
    workers          processes that judge (default: one per core)
    processes        processes that speak HTTP, behind one port, with the same workers
    timeout          seconds one run of a program, or one comparison, may take
    memory_mb        MiB of memory of one run of a program
    deadline         seconds a request may take; completions without a verdict by then are unscored
    queue            maximum completions waiting or being judged; one request may have half of them
    body_mb          maximum MiB of the body of a request
    bodies_mb        maximum MiB of all requests and responses in progress
    worker_mb        MiB at which an idle worker is replaced
    connections      maximum connections; beyond it, the one idle longest is closed
    client_timeout   seconds to send the head of a request, and to read a response
    grace            seconds for requests in progress to end after SIGTERM
    unscored_reward  reward of an unscored completion for trainers that accept only numbers
                     (default: an error, HTTP 422)
    partial          give these trainers the correctness in [0, 1] instead of the verdict
    """

    host: str = "127.0.0.1"
    port: int = ranged(8080, 0, 65535)
    rewards: Strings = ()
    workers: int | None = ranged(None, 1, 1024)
    processes: int = ranged(1, 1, 256)
    timeout: Number = ranged(5.0, 0.01, 3600)
    memory_mb: Number = ranged(256.0, 16, 4096)
    deadline: Number = ranged(60.0, 0.1, 3600)
    queue: int = ranged(20_000, 2)
    body_mb: Number = ranged(16.0, 0.001, 1024)
    bodies_mb: Number = ranged(256.0, 0.001)
    worker_mb: Number = ranged(1024.0, 64)
    connections: int = ranged(1000, 1)
    client_timeout: Number = ranged(10.0, 0.1, 3600)
    grace: Number = ranged(30.0, 0)
    unscored_reward: Number | None = None
    partial: bool = False


def served_rewards(names: Strings) -> Mapping[str, str]:
    """Return the path of each reward that is served, by its name.

    Raises:
        UnknownName: there is no such reward.
        UsageError: a reward of one's own cannot be imported, or is none.
    """
    rewards: dict[str, str] = {}
    for each in names:
        name, own, path = each.partition("=")
        rewards[name] = path if own else look_up("reward", name, REWARDS)
        if own:
            load_reward(name, path)
    return rewards or REWARDS
