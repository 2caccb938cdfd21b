"""A run on disk: its config, directory, checkpoints, logs and curves.

config.py      the config of a run
resuming.py    the checkpoint to resume from, and the keys that may change then
run_log.py     what an engine gets, and everything that it logs to
run_folder.py  the run's directory: events, rollouts, manifest
machine.py     the environment of a run
tracking.py    TensorBoard and Weights & Biases
publishing.py  checkpoints and traces in remote storage
checkpoint.py  checkpoints, complete or absent
plots.py       the curves
timeline.py    a Chrome trace, and where the time went
demo.py        SFT and GRPO in minutes, with a tiny model
tiny.py        a tiny model that takes any prompt, and tiny rows of each benchmark
"""
