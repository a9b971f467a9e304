# SPDX-License-Identifier: Apache-2.0
"""The verb `machine probe`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._options import NoProgressOption, output_to, spread_of
from numascape.commands._written import check_folders

if TYPE_CHECKING:
    from numascape.machine.probing import Probe


def probe(
    output: Annotated[
        Path | None, output_to("Write the machine as JSON. Default: only print it.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure less: under a minute on two sockets.")
    ] = False,
    spread: Annotated[
        float,
        spread_of("Refuse results that are uncertain by more than this share (95 % confidence)."),
    ] = 0.1,
    quiet: NoProgressOption = False,
) -> None:
    """Measure the memory of this host: latency and bandwidth between all nodes, and the caches.

    Threads are bound to CPUs and memory to nodes. The kernel confirms on which node the memory is.
    Notes say what disturbs the measurement. Results that are too uncertain are refused.

    Example: `numascape machine probe --quick -o machine.json`
    """
    from numascape.commands.machine.show import print_machine
    from numascape.machine.conditions import conditions
    from numascape.machine.document import write_machine
    from numascape.machine.probing import Probe, ProbeRequest
    from numascape.machine.sources import read_host

    check_folders(output)
    for sentence in conditions(Path("/")):
        terminal.say(f"note: {sentence}")
    probed = Probe(read_host(), ProbeRequest(quick, spread, time.strftime("%Y-%m-%d")))
    steps = list(probed.steps())
    for step in terminal.track(steps, len(steps), "Measuring", quiet):
        step.run()
    _say_how_it_went(probed)
    machine = probed.result()
    if output is None:
        print_machine(machine, terminal.output())
        return
    write_machine(machine, output)
    terminal.say(f"wrote {output}; next:")
    terminal.suggest("machine", "show", "--machine", str(output))


def _say_how_it_went(probed: Probe) -> None:
    if not probed.huge:
        terminal.say("note: memory was in small pages, so latencies include address translation")
    if probed.interrupted:
        terminal.say(
            f"note: {probed.interrupted} samples were interrupted by other programs and repeated"
        )
