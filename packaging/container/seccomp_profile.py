# SPDX-License-Identifier: Apache-2.0
"""Makes a seccomp profile that allows placing and observing memory: seccomp_profile.py DEFAULT.

DEFAULT is the profile of Docker or Podman (JSON), such as /usr/share/containers/seccomp.json. The
result, on standard output, has the same rules and allows these calls, too:

    podman run --security-opt seccomp=numascape-seccomp.json ...

Docker's list of allowed calls follows new kernels, so no copy of it is kept here. Capabilities and
kernel.perf_event_paranoid still restrict the calls.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

CALLS: Final = (
    "get_mempolicy",
    "mbind",
    "migrate_pages",
    "move_pages",
    "perf_event_open",
    "set_mempolicy",
    "set_mempolicy_home_node",
)


def allow(profile: dict[str, Any]) -> dict[str, Any]:
    """The profile with one rule for CALLS, which no other rule names any more."""
    rules = []
    for rule in profile["syscalls"]:
        names = [name for name in rule["names"] if name not in CALLS]
        if names:
            rules.append({**rule, "names": names})
    return {
        **profile,
        "syscalls": [*rules, {"names": list(CALLS), "action": "SCMP_ACT_ALLOW"}],
    }


def main() -> int:
    """Print the profile; the status is 2 if DEFAULT is not a profile."""
    if len(sys.argv) != 2:
        print("usage: seccomp_profile.py DEFAULT >PROFILE", file=sys.stderr)
        return 2
    try:
        profile = allow(json.loads(Path(sys.argv[1]).read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{sys.argv[1]} is not a seccomp profile: {error}", file=sys.stderr)
        return 2
    print(json.dumps(profile, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
