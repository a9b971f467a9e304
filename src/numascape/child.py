# SPDX-License-Identifier: Apache-2.0
"""Starts the user's program as a shell would start it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

# glibc's posix_spawn makes the program ignore signals 32 and 33, which glibc itself uses; fork and
# exec do not. Python documents this variable, which turns posix_spawn off.
subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc]


def start_child(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start `command` on our own streams and descriptors.

    Raises OSError when it cannot be started.
    """
    return subprocess.Popen(command, env=environment, close_fds=False)
