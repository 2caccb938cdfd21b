"""The algorithms of SFT and GRPO: batches, advantages, losses, one step of each.

mixed.py          the rows of a run, from one data set or a mixture
encoding.py       rows as token ids
batches.py        the rows of each step, and its forward passes
advantages.py     rewards relative to their group
loss.py           the losses
tensors.py        log-probabilities, entropies, masked reductions
optimizer.py      AdamW, its learning rate, gradient clipping
learner.py        the model that is trained
sft.py            a step of SFT
grpo.py           a step of GRPO
sampling.py       completions of a causal model
prefill.py        prompts computed once for all their completions
rollouts.py       rollouts of a step, sampled and scored
tool_turns.py     rollouts of several turns, with tools
rollout_types.py  requests, rollouts, groups
generations.py    logged generations to look at
"""
