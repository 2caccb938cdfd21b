"""A run on disk: its config, directory, checkpoints, logs and curves."""
