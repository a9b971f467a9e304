# SPDX-License-Identifier: Apache-2.0
"""The verb `run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._options import ProgramArgument
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.placement.verifying import Verification


def run(
    program: ProgramArgument = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Bind threads and place memory as this plan says.", metavar="FILE"),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="With --plan: the number of threads of the program; sets OMP_NUM_THREADS.",
            min=1,
            max=1 << 15,
            metavar="N",
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="With --plan: at the end, print where pages and threads were."
        ),
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option(help="With --plan: write these results to a file as JSON.", metavar="FILE"),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="First free clean page cache on the nodes.")
    ] = False,
    local_strict: Annotated[
        bool,
        typer.Option(
            "--local-strict",
            help="Use only memory of the nodes whose CPUs the program may use; the kernel frees "
            "page cache for it.",
        ),
    ] = False,
) -> None:
    """Run an unchanged program under a plan, or keep its memory local by freeing page cache.

    The program has its usual output, input and exit status.

    Example: `numascape run --plan plan.toml --verify -- ./program 1000`
    """
    from numascape.host.programs import nodes_of_cpus, replace_this_process
    from numascape.host.state import read_state
    from numascape.host.sweeping import sweep as sweep_nodes

    if not program:
        raise NumascapeError("no program given: use numascape run [OPTIONS] -- PROGRAM")
    if plan is None and (verify or threads is not None or json is not None):
        raise NumascapeError("--threads, --verify and --json need --plan FILE")
    state = read_state(Path("/"))
    nodes = nodes_of_cpus(state)
    if sweep:
        sweep_nodes(nodes, None, 0.0, True, lambda *_: None)
    if local_strict and len(nodes) > 1:
        terminal.say(
            f"note: the program may use CPUs of {len(nodes)} nodes, so it may use the memory of "
            "all of them; to keep the memory of each thread local, start one process per node "
            "(numactl --cpunodebind, MPI), or use --sweep"
        )
    strict = nodes if local_strict else []
    if plan is None:
        replace_this_process(program, strict)
    raise typer.Exit(_run_under_plan(plan, program, strict, threads, verify, json))


def _run_under_plan(
    path: Path,
    program: list[str],
    nodes: list[int],
    threads: int | None,
    verify: bool,
    json: Path | None,
) -> int:
    from numascape.host.programs import bound_to
    from numascape.placement.planned_run import end_as, run_with_plan
    from numascape.plan.document import read_plan

    plan = read_plan(path)
    if plan.says_nothing:
        terminal.say(f"note: {path} is an empty plan: the program runs as without a plan")
    planned = run_with_plan(
        plan,
        str(path),
        program,
        threads=threads,
        verifies=verify or json is not None,
        launcher=bound_to(nodes),
    )
    if planned.verification is not None:
        _tell(planned.verification, verify, json)
    return end_as(planned.status)


def _tell(found: Verification, verify: bool, path: Path | None) -> None:
    """Print to standard error, because standard output belongs to the program."""
    import json

    from numascape.atomic import replacing_file
    from numascape.console.placement import as_plain_data, print_verification

    if verify:
        with terminal.as_far_as_possible():
            print_verification(found, terminal.messages())
    if path is not None:
        with replacing_file(path) as beside:
            beside.write_text(json.dumps(as_plain_data(found), indent=1) + "\n")
