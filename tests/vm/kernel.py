# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel: Debian's kernel for clouds, which contains all that the guest needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from quality.external import ROOT
from vm.kernel_image import decompressed

CACHE = ROOT / "build" / "guest-kernel"
# Packages that depend on the newest kernel, of Debian 12 and of later releases. Before 6.12 the
# guest's file system is a module.
_NEWEST = ("linux-image-6.12-cloud-amd64", "linux-image-cloud-amd64")
_KERNEL = re.compile(r"linux-image-(\d+)\.(\d+)\S*-cloud-amd64")


class NoKernelError(Exception):
    """No kernel is available; the message says why."""


def guest_kernel() -> Path:
    """The kernel: $NUMASCAPE_GUEST_KERNEL, or fetched with apt once per checkout."""
    given = os.environ.get("NUMASCAPE_GUEST_KERNEL")
    if given:
        return Path(given)
    fetched = sorted(CACHE.glob("vmlinuz-*"))
    return decompressed(fetched[-1] if fetched else _fetch())


def _fetch() -> Path:
    if shutil.which("apt-get") is None:
        raise NoKernelError("the guest's kernel is fetched with apt, and this is no Debian")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        download = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root"]
        package = _newest_package()
        if package is None or _run([*download, package], folder).returncode:
            # The lists of packages are missing or older than the archive.
            _run(["apt-get", "update", "-qq"], folder)
            package = _newest_package()
            if package is None:
                raise NoKernelError(f"apt knows none of {', '.join(_NEWEST)}")
            result = _run([*download, package], folder)
            if result.returncode:
                raise NoKernelError(f"apt-get download {package} failed: {result.stderr.strip()}")
        return _unpack(next(Path(folder).glob("*.deb")))


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _newest_package() -> str | None:
    for name in _NEWEST:
        for match in _KERNEL.finditer(_run(["apt-cache", "depends", name], "/").stdout):
            if match.group() not in _NEWEST and (int(match[1]), int(match[2])) >= (6, 12):
                return match.group()
    return None


def _unpack(package: Path) -> Path:
    """Put the image of a Debian package into the cache."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as archive,
        tarfile.open(fileobj=archive.stdout, mode="r|") as files,
    ):
        for file in files:
            name = Path(file.name).name
            content = files.extractfile(file) if name.startswith("vmlinuz-") else None
            if content is not None:
                part = package.with_name(name)
                part.write_bytes(content.read())
                return part.replace(CACHE / name)
    raise NoKernelError(f"{package.name} holds no kernel")
