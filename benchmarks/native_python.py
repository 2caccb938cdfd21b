"""Runs programs one after another on the Python that runs this file, each in a forked child.

    python native_python.py < requests > answers

A request is one line of JSON, `{"code": ..., "timeout": seconds}`; so is its answer,
`{"stdout": ..., "stderr": ..., "exit_code": ...}`, where the code is 124 for a program that was
stopped. A child is a true process and ends as Python ends, but for finalisers of what is left when
a program ends well. It has everything imported already, which takes most of the time of a fresh
one.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import types
from collections.abc import Sequence
from typing import IO

# What programs may need: imported here once, and found in `sys.modules` after each fork.
WARM = (
    "abc argparse array ast asyncio base64 binascii bisect calendar cmath collections contextlib "
    "copy csv dataclasses datetime decimal difflib enum fractions functools hashlib heapq html "
    "inspect io itertools json linecache logging math numbers operator pprint queue random re "
    "shlex statistics string struct sys textwrap threading time timeit traceback types typing "
    "unicodedata unittest urllib.parse uuid warnings weakref zlib"
)
MEMORY = 2 << 30  # a mutant may try to fill the machine


def become(code: str, outputs: Sequence[IO[bytes]], timeout: float) -> None:
    """In the child: run the program and end as it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.setitimer(signal.ITIMER_REAL, timeout)  # its signal kills the process
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, output in enumerate(outputs, start=1):
        os.dup2(output.fileno(), number)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = ["program.py"]
    exec(compile(code, "program.py", "exec"), vars(main))
    # To take down all that was imported takes four times as long as all the rest.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def outcome(child: int, outputs: Sequence[IO[bytes]]) -> dict[str, object]:
    """In the parent: wait for the child, and tell what it left."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    texts = []
    for output in outputs:
        output.seek(0)  # the child shares the position
        texts.append(output.read(1_000_000).decode(errors="replace"))
        output.seek(0)
        output.truncate()
    stopped = code == -signal.SIGALRM
    return {"stdout": texts[0], "stderr": texts[1], "exit_code": 124 if stopped else code}


def main() -> None:
    for name in WARM.split():
        __import__(name)
    gc.freeze()  # a child that ends looks through all that is not frozen
    with tempfile.TemporaryFile(buffering=0) as out, tempfile.TemporaryFile(buffering=0) as err:
        for line in sys.stdin:
            request = json.loads(line)
            child = os.fork()
            if not child:
                # Nothing is caught: the top of this process handles what the program raises.
                become(request["code"], (out, err), request["timeout"])
                return
            print(json.dumps(outcome(child, (out, err))), flush=True)


if __name__ == "__main__":
    main()
