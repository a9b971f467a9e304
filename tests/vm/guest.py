# SPDX-License-Identifier: Apache-2.0
"""A machine with several NUMA nodes: a QEMU guest whose programs and libraries are this system's.

Its root file system is ours, read-only, and one folder of ours is the guest's WORK. Programs in
the guest need no installation, and can leave files only in that folder.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WORK = Path("/run/work")
"""The folder of the job in the guest. init.sh and mounts have the same path."""
_INIT = Path(__file__).with_name("init.sh")
# In Debian 12, it belongs to QEMU; later releases have a package of it.
_VIRTIOFSD = (Path("/usr/libexec/virtiofsd"), Path("/usr/lib/qemu/virtiofsd"))
_LIMIT_S = 1500  # on a busy machine, some take ten minutes
_MAX_BOOTS = 3
"""On a busy host, the kernel may panic before the job has begun (seen with a thread of the host for
each processor: `Oops: int3` in run_timer_softirq, QEMU 7.2)."""


class GuestError(Exception):
    """The guest's job failed; the message has its output."""


@dataclass(frozen=True)
class GuestNode:
    """A NUMA node: how many CPUs it has, and its memory in MiB."""

    cpus: int
    memory_mib: int


@dataclass(frozen=True)
class Firmware:
    """The ACPI tables of the guest's nodes: SLIT's distances and, if there are latencies, HMAT.

    HMAT's latencies (ns) and bandwidths (GiB/s) are by node of CPUs, then node of memory; a node
    without CPUs also has a row, which is not used.
    """

    distances: Sequence[Sequence[int]]
    latencies: Sequence[Sequence[int]] = ()
    bandwidths: Sequence[Sequence[int]] = ()


def why_impossible() -> str | None:
    """The reason why no guest can run here; None if one can."""
    if platform.machine() != "x86_64":
        return "the guest is an x86-64 machine"
    if os.geteuid() != 0:
        return "sharing the root file system with a guest needs root"
    if shutil.which("qemu-system-x86_64") is None:
        return "qemu-system-x86_64 is not installed"
    if _virtiofsd() is None:
        return "virtiofsd is not installed"
    return None


def run_in_guest(
    nodes: Sequence[GuestNode],
    job: str,
    folder: Path,
    kernel: Path,
    *,
    firmware: Firmware | None = None,
    disk: Path | None = None,
    limit_s: float = _LIMIT_S,
) -> None:
    """Boot `kernel`, run the shell script `job` there in `folder`, and wait for its end.

    `disk` is a file that is the guest's /dev/nvme0n1.
    The output of the job is then in `folder`/output and `folder`/errors. Raises GuestError unless
    the job succeeds.
    """
    (folder / "job").write_text(job)
    for _ in range(_MAX_BOOTS):
        messages = _run_once(nodes, folder, kernel, limit_s, firmware, disk)
        if (folder / "output").is_file():  # the job has begun
            break
    status = folder / "status"
    if not status.is_file():
        raise GuestError(f"the guest did not finish\n{messages}{_printed(folder)}")
    if status.read_text().strip() != "0":
        raise GuestError(f"the job ended with {status.read_text()}{_printed(folder)}")


def _run_once(
    nodes: Sequence[GuestNode],
    folder: Path,
    kernel: Path,
    limit_s: float,
    firmware: Firmware | None,
    disk: Path | None,
) -> str:
    """Boot the kernel and wait for its end; return QEMU's messages."""
    with _shared("root", Path("/"), folder) as root, _shared("work", folder, folder) as work:
        command = [*_machine(nodes, firmware), *_storage(root, work, folder), *_boot(kernel)]
        if disk is not None:
            command += ["-drive", f"if=none,id=disk,format=raw,file={disk}"]
            command += ["-device", "nvme,drive=disk,serial=disk"]
        try:
            result = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GuestError(f"no end after {limit_s:g} s\n{_printed(folder)}") from error
    return result.stderr


def _printed(folder: Path) -> str:
    files = [folder / name for name in ("console", "output", "errors")]
    return "".join(path.read_text(errors="replace")[-4000:] for path in files if path.is_file())


def _virtiofsd() -> Path | None:
    return next((path for path in _VIRTIOFSD if path.is_file()), None)


@contextmanager
def _shared(tag: str, source: Path, folder: Path) -> Iterator[Path]:
    """Serve `source` to a guest while entered; the socket."""
    socket = folder / f"{tag}.socket"
    socket.unlink(missing_ok=True)
    options = [f"source={source}", "cache=always", "sandbox=chroot"]
    command = [str(_virtiofsd()), f"--socket-path={socket}"]
    with (folder / f"{tag}.log").open("wb") as log:
        server = subprocess.Popen(
            command + [word for option in options for word in ("-o", option)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + 10
        while not socket.exists():
            if server.poll() is not None or time.monotonic() > deadline:
                reason = (folder / f"{tag}.log").read_text(errors="replace")
                raise GuestError(f"virtiofsd does not serve {source}: {reason}")
            time.sleep(0.02)
        yield socket
    finally:
        server.terminate()
        server.wait()


def _machine(nodes: Sequence[GuestNode], firmware: Firmware | None) -> list[str]:
    cpus = sum(node.cpus for node in nodes)
    hmat = firmware is not None and bool(firmware.latencies)
    # A node is made of sockets. With one CPU in each socket, nodes may have different sizes.
    words = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"]
    words += ["-machine", "q35,hmat=on" if hmat else "q35", *_processor()]
    words += ["-smp", f"{cpus},sockets={cpus},cores=1,threads=1"]
    words += ["-m", f"{sum(node.memory_mib for node in nodes)}M"]
    first = 0
    for number, node in enumerate(nodes):
        # Shared memory, because virtiofsd writes into it.
        memory = f"memory-backend-memfd,id=memory{number},size={node.memory_mib}M,share=on"
        words += ["-object", memory]
        place = f",cpus={first}-{first + node.cpus - 1}" if node.cpus else ""
        if hmat:
            place += f",initiator={number if node.cpus else 0}"
        words += ["-numa", f"node,nodeid={number},memdev=memory{number}{place}"]
        first += node.cpus
    return words if firmware is None else words + _tables(nodes, firmware)


def _tables(nodes: Sequence[GuestNode], firmware: Firmware) -> list[str]:
    """SLIT and HMAT."""
    words = []
    for i, row in enumerate(firmware.distances):
        for j, distance in enumerate(row):
            words += ["-numa", f"dist,src={i},dst={j},val={distance}"]
    for i, row in enumerate(firmware.latencies):
        for j, latency in enumerate(row if nodes[i].cpus else ()):
            pair = f"hmat-lb,initiator={i},target={j},hierarchy=memory,data-type"
            bandwidth = firmware.bandwidths[i][j]
            words += ["-numa", f"{pair}=access-latency,latency={latency}"]
            words += ["-numa", f"{pair}=access-bandwidth,bandwidth={bandwidth}G"]
    return words


def _processor() -> list[str]:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    if os.access("/dev/kvm", os.W_OK) and flags & {"vmx", "svm"}:
        return ["-accel", "kvm", "-cpu", "host"]
    # Emulated; four-level page tables are faster to walk than five-level ones. Without ERMS and
    # FSRM, kernel and C library copy and clear words, not single bytes, each of which is a step.
    # Without SMAP and SMEP, the kernel need not open and close user memory for each access to it.
    # One thread of the host runs all processors in turn. With a thread each, they wait for each
    # other in loops, and each change of shared code interrupts all of them: that takes 1.4 to 2.6
    # times as much of the host's processors.
    off = ("la57", "erms", "fsrm", "smap", "smep")
    model = ",".join(["max", *(f"{feature}=off" for feature in off)])
    return ["-accel", "tcg,thread=single", "-cpu", model]


def _storage(root: Path, work: Path, folder: Path) -> list[str]:
    words = ["-serial", f"file:{folder / 'console'}"]
    for tag, socket in (("root", root), ("work", work)):
        words += ["-chardev", f"socket,id={tag},path={socket}"]
        words += ["-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}"]
    return words


def _boot(kernel: Path) -> list[str]:
    # Pages stay where the first touch or the program puts them, and have 4 KiB by default.
    policy = "numa_balancing=disable transparent_hugepage=madvise"
    # On a busy host, the kernel's test of the timer may see no interrupt in time, and it panics.
    speed = "quiet mitigations=off no_timer_check panic=-1"
    root = f"root=root rootfstype=virtiofs ro init={_INIT}"
    append = f"console=ttyS0 {speed} {policy} {root}"
    return ["-no-reboot", "-kernel", str(kernel), "-append", append]
