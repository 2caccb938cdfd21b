"""Where a run is computed: in this process, in threads, on a Ray cluster, by TRL.

local.py         the engine `local`: one step after the other
prefill.py       prompts that are read once for all answers to them
flow.py          a run at scale: who waits for whom
roles.py         what its parts must do
schedule.py      which prompt is next, and what has become of all
async_engine.py  the engine `asyncio`: the roles in threads
ray_engine.py    the engine `ray`: the roles on a cluster
vllm_rollout.py  a rollout worker that samples with vLLM
trl_engine.py    the engine `trl`
trl_options.py   a config in TRL's keywords
generations.py   answers to look at
"""
