"""The algorithms of SFT and GRPO: batches, advantages, losses, one step of each.

mixed.py       its rows, of one data set or of several
encoding.py    rows as token ids
batches.py     which rows a step takes, and its forward passes
advantages.py  how much better an answer did than the others
loss.py        the losses
tensors.py     log-probabilities, entropies, masked reductions
optimizer.py   AdamW, its learning rate, a bound on the gradient
sft.py         a step of SFT
grpo.py        a step of GRPO
sampling.py    completions of a causal model
learner.py     the model that learns
buffer.py      the answers that wait for the trainer
spans.py       who did what when
blocking.py    what the roles do, as plain calls
machine.py     on what a run is made
"""
