"""Programs run in WebAssembly, a fresh instance for each run. `infinite_rl.executor` is its face.

executor.py     programs in, executions out, from threads and worker processes
runtimes.py     the table of runtimes, their files, and the interface of a guest
engine.py       the engine that all guests share: clock, threads, signal handlers, compiled code
instance.py     one instance of a module: calls both ways, its memory, its addresses checked
json_values.py  whether a value equals an expected JSON value
"""
