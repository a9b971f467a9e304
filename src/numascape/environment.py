# SPDX-License-Identifier: Apache-2.0
"""The environment of the user's programs: ours, without the variables that libraries set."""

from __future__ import annotations

import os
from pathlib import Path

# Polars sets this variable for its own allocator when it is imported, but the allocators of other
# programs read it, too.
_CHANGED_BY_LIBRARIES = ("_RJEM_MALLOC_CONF",)


def users_environment() -> dict[str, str]:
    """Return our variables; those that libraries changed are as when this process began."""
    environment = dict(os.environ)
    words = Path("/proc/self/environ").read_bytes().split(b"\0")
    begun_with = dict(os.fsdecode(word).partition("=")[::2] for word in words if word)
    for name in _CHANGED_BY_LIBRARIES:
        environment.pop(name, None)
        if name in begun_with:
            environment[name] = begun_with[name]
    return environment
