"""The algorithms of SFT and GRPO: batches, advantages, losses, one step of each."""
