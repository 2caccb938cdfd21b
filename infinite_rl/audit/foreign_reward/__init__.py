"""The process of a foreign reward, which another interpreter may run: the standard library alone.

    parameters.py   arguments for a function, by the names of its parameters
    conventions.py  how each library calls a reward: one function a kind
    tasksets.py     the tasksets of verifiers, whose data are the rows
    loading.py      a target from its name, and what is said of it
    calls.py        the replies of a target: in turn, in threads, in forks, many times
    serving.py      the process: requests in, replies out

`audit/process.py` puts the folder above this one on the path of the target's interpreter, Python
3.10 or newer, which need not have `infinite_rl`: so all imports in it are relative.
"""
