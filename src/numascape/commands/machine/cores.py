# SPDX-License-Identifier: Apache-2.0
"""The verb `machine cores`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from numascape import terminal
from numascape.commands._options import NoProgressOption, output_to
from numascape.commands._written import check_folders
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.machine import Machine


def cores(
    output: Annotated[
        Path | None,
        output_to(
            "Write the matrix as CSV, or (.json) the machine with it. Default: standard output."
        ),
    ] = None,
    quiet: NoProgressOption = False,
) -> None:
    """Measure the latency of a cache line between each pair of cores of this host, in ns.

    It is half a round trip of a line that two cores write in turn. `balance --level-costs FILE`
    takes the matrix. If FILE.json is a description of this machine, such as that of `machine
    probe`, the matrix is added to it. With 64 cores, this takes about a minute, and longer if
    other programs run.

    Example: `numascape machine cores -o latencies.csv`
    """  # fmt: skip
    from numascape.atomic import replacing_file
    from numascape.machine.core_latencies import (
        core_latencies_csv,
        measure_core_latencies,
        with_core_latencies,
    )
    from numascape.machine.document import read_machine, write_machine
    from numascape.machine.sources import read_host

    check_folders(output)
    host = read_host()
    described = host
    if output is not None and output.suffix.lower() == ".json" and output.exists():
        described = _same_machine(read_machine(output), host, output)
    with terminal.amounts(quiet) as show:
        measured = measure_core_latencies(host, lambda at, total: show("Measuring", at, total))
    if output is None:
        print(core_latencies_csv(measured), end="")
    elif output.suffix.lower() == ".json":
        today = time.strftime("%Y-%m-%d")
        write_machine(with_core_latencies(described, measured, today), output)
        terminal.say(
            f"wrote {output}; use it with: numascape balance -m {output} --level-costs measured"
        )
    else:
        with replacing_file(output) as beside:
            beside.write_text(core_latencies_csv(measured))
        terminal.say(f"wrote {output}; use it with: numascape balance --level-costs {output}")


def _same_machine(described: Machine, host: Machine, file: Path) -> Machine:
    """The description, if its nodes and CPUs are those of this host. Raises NumascapeError."""
    if [node.cpus for node in described.nodes] != [node.cpus for node in host.nodes]:
        raise NumascapeError(f"{file} describes a machine with other CPUs than this host's")
    return described
