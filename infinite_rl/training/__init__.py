"""Training on verified rows: SFT and GRPO, exact and small."""
