# SPDX-License-Identifier: Apache-2.0
"""The verb `machine cores`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from numascape import terminal
from numascape.commands._options import NoProgressOption, output_to
from numascape.commands._written import check_folders


def cores(
    output: Annotated[
        Path | None, output_to("Write the matrix as CSV. Default: standard output.")
    ] = None,
    quiet: NoProgressOption = False,
) -> None:
    """Measure the latency of a cache line between each pair of cores of this host, in ns.

    It is half a round trip of a line that two cores write in turn. `balance --level-costs FILE`
    takes the matrix. With 64 cores, this takes about a minute, and longer if other programs run.

    Example: `numascape machine cores -o latencies.csv`
    """  # fmt: skip
    from numascape.atomic import replacing_file
    from numascape.machine.core_latencies import core_latencies_csv, measure_core_latencies
    from numascape.machine.sources import read_host

    check_folders(output)
    with terminal.amounts(quiet) as show:
        measured = measure_core_latencies(
            read_host(), lambda at, total: show("Measuring", at, total)
        )
    text = core_latencies_csv(measured)
    if output is None:
        print(text, end="")
        return
    with replacing_file(output) as beside:
        beside.write_text(text)
    terminal.say(f"wrote {output}; use it with: numascape balance --level-costs {output}")
