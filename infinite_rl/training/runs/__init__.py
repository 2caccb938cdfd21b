"""A run on disk: its config, directory, checkpoints, logs and curves.

config.py      what one run is told
resuming.py    where it goes on from, and what it may then be told otherwise
rollouts.py    its answers, sampled and judged
run_log.py     what an engine is told, and all that it writes to while it trains
run_folder.py  the run's folder: events, rollouts, manifest
tracking.py    TensorBoard and Weights & Biases
publishing.py  checkpoints and traces, copied elsewhere
telling.py     a warning where groups of answers tell nothing
checkpoint.py  what a run goes on from, whole or not there
plots.py       its curves
timeline.py    where its time went
demo.py        all of it in minutes, with a tiny model
"""
