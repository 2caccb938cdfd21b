"""Where a run is computed: this process, threads, a Ray cluster, or TRL.

local.py             the engine `local`: one step after the other
async_controller.py  a run at scale: the algorithm
roles.py             what the controller needs of its workers
role_workers.py      the roles as blocking objects: trainer, rollout, reward
prompt_queue.py      which prompt is sampled next
rollout_buffer.py    the groups that wait for the trainer
async_engine.py      the engine `asyncio`: the workers in threads
ray_engine.py        the engine `ray`: the workers on a cluster
vllm_rollout.py      a rollout worker that samples with vLLM
trl_engine.py        the engine `trl`
trl_options.py       a config as TRL's keywords
"""
