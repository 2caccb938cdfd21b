"""Programs run in WebAssembly, a fresh instance for each run. `infinite_rl.executor` is its face.

executor.py     programs in, executions out, from threads and worker processes
session.py      one interpreter that keeps its state from turn to turn
runtimes.py     the table of runtimes, their files, and the interface of a guest
engine.py       the engines that all guests share: settings, clock, threads, signal handlers
compiled.py     compiled code: the cache, and baseline code until optimised code is there
instance.py     one instance of a module: calls both ways, its memory, its addresses checked
binary.py       the binary format of modules: sections and numbers
programs.py     programs of compiled languages: compiled once, run, and how they ended
printed.py      what programs in C and C++ print, in the sizes that its formats name
wasi.py         the system of such a program
calibration.py  how much slower than natively a program runs here
checkers.py     the table of languages of checkers, which judge outputs
json_values.py  whether a value equals an expected JSON value
"""
