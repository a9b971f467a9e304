# SPDX-License-Identifier: Apache-2.0
"""A bare Debian in a folder, where packages are tried by a user without privileges."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class System:
    """A bare Debian in a folder, with a user who has no privileges."""

    root: Path

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command as the user, in the user's folder."""
        inside = (
            f'mount -t proc proc "{self.root}/proc" && mount --rbind /sys "{self.root}/sys" && \
mount --rbind /dev "{self.root}/dev" && \
exec chroot --userspec=1000:1000 "{self.root}" sh -c \'cd /home/user && exec "$@"\' sh "$@"'
        )
        result = subprocess.run(
            ["unshare", "--mount", "--fork", "--pid", "sh", "-c", inside, "sh", *command],
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/home/user", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert result.returncode == 0 or not check, result.stdout
        return result

    @property
    def home(self) -> Path:
        """The user's folder, from outside."""
        return self.root / "home/user"


def repository() -> str:
    """Return the address from which this system gets Debian's packages."""
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return next(uri for uri in targets.stdout.split() if re.search(r"/debian/?$", uri))


def make_system(release: str, folder: Path) -> System:
    """Make a system in this folder that has Python, pip and nothing else. Needs root."""
    subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", release,
         folder / "root", repository()],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    system = System(folder / "root")
    subprocess.run(["chroot", system.root, "useradd", "--create-home", "user"], check=True)
    return system
