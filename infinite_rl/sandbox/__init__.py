"""Programs run in WebAssembly, a fresh instance for each run. `infinite_rl.executor` is its face.

executor.py     programs in, executions out, from threads and worker processes
guest.py        what a guest is, and the limits of a run
engine.py       the engine that all guests share: its clock, its threads, compiled code
faults.py       the process's fault handlers, which the engine needs
runtimes.py     the table of runtimes, and where their WebAssembly lies
json_values.py  whether a value is the JSON value that was expected
"""
