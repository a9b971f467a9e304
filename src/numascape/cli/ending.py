# SPDX-License-Identifier: Apache-2.0
"""Ends the process of a command.

Python deletes all modules before it ends, and searches them for garbage. With Polars loaded, this
takes a third as long as the import of Polars. The kernel frees all memory at once.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """End this process with `status`, after the functions that were registered with `atexit`.

    If it must wait for another thread, or is a rank of an MPI program, Python ends as usual. A rank
    must call MPI_Finalize, and tell the ranks that work for it to end.
    """
    if _has_other_threads() or "mpi4py.MPI" in sys.modules:
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # The reader may have ended, or the caller may have closed the stream.
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    os._exit(status)


def _has_other_threads() -> bool:
    """Whether other threads run that are not daemons."""
    return any(
        thread is not threading.main_thread() and not thread.daemon
        for thread in threading.enumerate()
    )
