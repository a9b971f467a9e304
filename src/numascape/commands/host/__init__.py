# SPDX-License-Identifier: Apache-2.0
"""The verb `host`: its own verbs are in the files beside this one."""

from __future__ import annotations

import typer

from numascape.commands.host.check import check
from numascape.commands.host.drop import drop
from numascape.commands.host.experiment import experiment
from numascape.commands.host.files import files
from numascape.commands.host.show import show
from numascape.commands.host.sweep import sweep

app = typer.Typer(
    name="host",
    help="Show what fills the memory of this host's nodes (page cache, tmpfs), and free it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(show)
app.command()(check)
app.command()(files)
app.command()(drop)
app.command()(sweep)
app.command()(experiment)
