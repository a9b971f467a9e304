# SPDX-License-Identifier: Apache-2.0
"""A file of `perf record -d` or `perf mem record`, read by perf itself."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.machine.description import Machine, MachineNode
from numascape.machine.kernel_lists import parse_cpu_list
from numascape.samples.events import Recording, Sample
from numascape.samples.perf_chains import with_calls
from numascape.samples.perf_text import FIELDS, Parsed, parse
from numascape.trace.info import PERF, Counts, Host

_NEEDED = ("TID", "TIME", "ADDR", "IP")
_CHAIN = "CALLCHAIN"


def read_perf_data(path: Path) -> Recording:
    """Read the file with Debian's or the kernel's own `perf`.

    Raises NumascapeError if there is no perf, if the file is not from perf, and if its samples have
    no addresses.
    """
    if not path.exists():
        raise NumascapeError(f"there is no file {path}")
    if not path.is_file():
        raise NumascapeError(f"{path} is not a recording of perf: it is not a regular file")
    types = _sample_types(path)
    fields = [name for name in FIELDS if name in types]
    wanted = ",".join(name for field in fields for name in FIELDS[field])
    options = ["--show-mmap-events", "--show-task-events", "--ns"]
    if _CHAIN in types:
        wanted += ",dso"  # where the addresses of a chain are
        options.append("--no-inline")
    else:
        options.append("--hide-call-graph")  # some events may have chains
    text = _perf("script", path, "-F", f"{wanted},event", *options)
    named = frozenset(name for field in fields for name in FIELDS[field])
    parsed = parse(text.splitlines(), named)
    header = _perf("script", path, "--header-only", "-I").splitlines()
    machine = machine_of_header(header)
    return Recording(
        events=with_calls(parsed),
        command=_command(_value(header, "cmdline")),
        captured=_value(header, "captured on"),
        host=_host(header, machine),
        machine=machine,
        recorder=PERF,
        counts=counts_of(parsed),
        unseen=_unseen(parsed),
        blocks=memory_blocks(header),
    )


def counts_of(parsed: Parsed) -> Counts:
    """Page faults alone show the first touches of pages, but no later accesses."""
    events = {event.event for event in parsed.events if isinstance(event, Sample)}
    return "first touches" if events and all("fault" in name for name in events) else "samples"


def _unseen(parsed: Parsed) -> list[str]:
    sentences = [
        "Accesses are sampled by the processor or the kernel. All other accesses are missing.",
        "Allocations are unknown. The heap is shown as one structure, and so is all other memory "
        "without a name.",
    ]
    samples = (event for event in parsed.events if isinstance(event, Sample))
    if unknown := sum(sample.kind == "unknown" for sample in samples):
        sentences.append(
            f"{unknown} samples do not say whether they read or wrote. They count as reads."
        )
    if parsed.not_understood:
        sentences.append(
            f"{parsed.not_understood} lines of the output of perf were not understood."
        )
    return sentences


def _perf(verb: str, path: Path, *options: str) -> str:
    perf = shutil.which("perf")
    if perf is None:
        raise NumascapeError("perf is not installed: install Debian's linux-perf")
    # The file may belong to another user, which perf refuses without -f.
    command = [perf, verb, "-f", "-i", str(path.absolute()), *options]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").split("\n")
        reason = next((line.strip() for line in lines if line.strip()), "no reason given")
        raise NumascapeError(f"perf cannot read {path}: {reason[:200]}")
    return done.stdout.decode(errors="replace")


def _sample_types(path: Path) -> set[str]:
    """What the samples of all events have, by the names in FIELDS, and _CHAIN."""
    described = _perf("evlist", path, "-v")
    types = [set(found.split("|")) for found in re.findall(r"sample_type: ([A-Z_|]+)", described)]
    if not types:
        raise NumascapeError(f"{path} has no samples")
    common = set.intersection(*types)
    if "WEIGHT_STRUCT" in common:
        common.add("WEIGHT")
    if missing := [name for name in _NEEDED if name not in common]:
        what = "addresses" if "ADDR" in missing else " and ".join(missing)
        raise NumascapeError(
            f"the samples in {path} have no {what}: record with perf mem record, or perf record -d"
        )
    return common


def _value(header: list[str], name: str) -> str:
    found = re.compile(rf"# {re.escape(name)} *: (.*)$")
    return next((match[1].strip() for line in header if (match := found.match(line))), "")


def _command(line: str) -> list[str]:
    """Perf's own command line."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def machine_of_header(header: list[str]) -> Machine:
    """The nodes that the file's header lists; one node without CPUs if it lists none."""
    memory: dict[int, int] = {}
    cpus: dict[int, tuple[int, ...]] = {}
    for line in header:
        if found := re.match(r"# node(\d{1,4}) meminfo +: total = (\d{1,15}) kB", line):
            memory[int(found[1])] = int(found[2]) << 10
        elif found := re.match(r"# node(\d{1,4}) cpu list : ([\d,-]*)$", line):
            try:
                cpus[int(found[1])] = tuple(parse_cpu_list(found[2]))
            except ValueError:
                cpus[int(found[1])] = ()
    nodes = tuple(
        MachineNode(node, cpus.get(node, ()), memory.get(node, 0))
        for node in sorted(memory.keys() | cpus.keys())
    )
    return Machine(_value(header, "hostname") or "unknown", nodes or (MachineNode(0, (), 0),))


def _host(header: list[str], machine: Machine) -> Host:
    total = re.match(r"(\d{1,15}) kB", _value(header, "total memory"))
    online = _value(header, "nrcpus online")
    return Host(
        name=machine.name,
        kernel=f"Linux {_value(header, 'os release')}".strip(),
        cpus=int(online) if re.fullmatch(r"\d{1,6}", online) else 0,
        nodes=len(machine.nodes),
        memory_bytes=int(total[1]) << 10 if total else 0,
    )


def memory_blocks(header: list[str]) -> dict[int, list[tuple[int, int]]]:
    """The physical memory of each node, from the header's list of memory blocks."""
    blocks: dict[int, list[tuple[int, int]]] = {}
    size = 0
    for line in header:
        if found := re.match(r"# memory nodes \(nr \d+, block size 0x([0-9a-f]{1,12})\)", line):
            size = int(found[1], 16)
        elif size and (found := re.match(r"# +(\d{1,4}) \[[^\]]*\]: ([\d,-]+)$", line)):
            for part in found[2].split(","):
                first, _, last = part.partition("-")
                if first.isdecimal() and (last or first).isdecimal():
                    span = (int(first) * size, (int(last or first) + 1) * size)
                    blocks.setdefault(int(found[1]), []).append(span)
    return blocks
