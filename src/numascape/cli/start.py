# SPDX-License-Identifier: Apache-2.0
"""The start of the command `numascape`. An interrupt ends it, even while its modules are loaded.

Python itself would print a traceback, or lose the interrupt: a module may handle all errors, and an
error in a callback is only printed.
"""

from __future__ import annotations

import gc
import os

# typing has it too, but importing typing takes long, and an interrupt may come meanwhile.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

# By default, Python looks for garbage after about a thousand new objects. To load the modules makes
# a hundred thousand, and most verbs end soon.
_OBJECTS_BEFORE_COLLECTION = 100_000


def main() -> NoReturn:
    """Run this process's command line and exit."""
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
    try:
        import signal

        # If the interrupt is ignored, as in background jobs of shells, it stays ignored.
        ends = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ends:
            signal.signal(signal.SIGINT, _end)
        from numascape.cli import entry

        if ends:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        entry.main()
    except KeyboardInterrupt:
        # The interrupt came just before or after the command, which handles its own interrupts.
        _end()


def _end(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
    os._exit(130)
