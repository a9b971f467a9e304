# SPDX-License-Identifier: Apache-2.0
"""The verb `machine`: its own verbs are in the files beside this one."""

from __future__ import annotations

import typer

from numascape.commands.machine.bench import bench
from numascape.commands.machine.cores import cores
from numascape.commands.machine.export import export
from numascape.commands.machine.probe import probe
from numascape.commands.machine.show import show

app = typer.Typer(
    name="machine",
    help="Show, measure and export machines: NUMA nodes, caches, latencies, bandwidths.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(show)
app.command()(export)
app.command()(probe)
app.command()(bench)
app.command()(cores)
