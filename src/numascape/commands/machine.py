# SPDX-License-Identifier: Apache-2.0
"""The verb `machine`: its own verbs are in the files machine_*.py."""

from __future__ import annotations

import typer

from numascape.commands.machine_bench import bench
from numascape.commands.machine_export import export
from numascape.commands.machine_probe import probe
from numascape.commands.machine_show import show

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
