"""The process's handlers of faults, by which the engine learns of a guest's trap.

On Linux a trap, such as a stack that is full, comes as a signal. Other libraries, Ray's client
and `faulthandler` among them, put handlers of their own in the place of the engine's and take them
away again. The next trap would end the process.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Mapping

_FAULTS = (signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
_ROOM = 512  # bytes, more than a `struct sigaction` takes

Handlers = Mapping[signal.Signals, "ctypes.Array[ctypes.c_char]"]


def handlers() -> Handlers:
    """Those that are there now; none where the engine does without signals."""
    if sys.platform != "linux":
        return {}
    found = {number: ctypes.create_string_buffer(_ROOM) for number in _FAULTS}
    for number, handler in found.items():
        _libc.sigaction(number, None, handler)
    return found


def put_back(kept: Handlers) -> None:
    """Make these the handlers again. What they do not know they hand on to those before them."""
    for number, handler in kept.items():
        _libc.sigaction(number, handler, None)


_libc = ctypes.PyDLL(None)  # holds the interpreter's lock, which these calls are too short to give
