"""The rewards as each trainer calls them, one file a trainer (docs/adapters.md).

    scorer.py         shared by all: judge, and compute the reward
    tools.py          tools of a model: code in a session, and submit
    trl.py            TRL: a reward function, and environments with tools
    verl.py           verl: a custom reward function
    openrlhf.py       OpenRLHF: the file of a remote reward
    open_instruct.py  open-instruct: a verifier
    skyrl.py          SkyRL: an environment of one step
    nemo_gym.py       NeMo Gym: a resources server
    verifiers.py      verifiers 0.4 and prime-rl: a taskset
    verifiers_tools.py  its tools, in one process for all rollouts
    openreward.py     Open Reward Standard: an environment of one turn
    mcp_server.py     MCP: a server of tools and tasks
    harbor.py         Harbor: the verifier of a task
    rubric.py         verifiers before 0.4: a function of a rubric

Modules that a trainer loads by their path import the package by its name: they have no parent.
"""

from __future__ import annotations

from .rubric import for_rubric
from .trl import for_trl, tools_for_trl

__all__ = ["for_rubric", "for_trl", "tools_for_trl"]
