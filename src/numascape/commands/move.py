# SPDX-License-Identifier: Apache-2.0
"""The verb `move`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numascape import terminal
from numascape.commands._options import JsonOption, NoProgressOption, ProcessOption, output_to
from numascape.commands._targets import one_target
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.live.affinity import ThreadResults
    from numascape.live.moving import Account
    from numascape.live.plans import Move, Scope
    from numascape.live.targets import TargetProcess


def move(
    pid: ProcessOption = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            show_default=False,
            help="interleave, spread (equal parts in order), bind:N, or local (the nodes of the "
            "threads); interleave:0,2 and spread:0,2 name nodes.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="PLAN", help="Move as a plan says.", show_default=False),
    ] = None,
    undo: Annotated[
        Path | None,
        typer.Option(
            "--undo",
            metavar="FILE",
            help="Move back the pages and threads that an earlier move noted in this file.",
            show_default=False,
        ),
    ] = None,
    structure: Annotated[
        list[str] | None,
        typer.Option(
            "--structure",
            metavar="NAME",
            show_default=False,
            help="Only structures of this name (with * and ?), as `pages --detail` shows them.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="PATH", help="Only this mapped file.", show_default=False),
    ] = None,
    tensor: Annotated[
        str | None,
        typer.Option(
            "--tensor",
            metavar="PATTERN",
            show_default=False,
            help='With --file: only these tensors (with * and ?), or a layer: "layer 3".',
        ),
    ] = None,
    threads: Annotated[
        bool, typer.Option("--threads", help="Bind the threads to the CPUs of the nodes, too.")
    ] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="Also move pages that other processes map; needs CAP_SYS_NICE, which root has. "
            "With --structure, all of a shared segment moves.",
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate", min=0.001, metavar="MB/S", help="Move at most this much.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be moved.")
    ] = False,
    output: Annotated[
        Path | None,
        output_to(
            "The file for --undo. Default: NAME-PID.undo or FILE.undo, with a number if it exists."
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: NoProgressOption = False,
) -> None:
    """Move the pages and threads of a running process to other nodes.

    The process continues to run: pages move in steps of about 20 ms. Afterwards, the kernel is
    asked on which nodes the pages are. Pages that cannot be moved are listed with the reason.
    Ctrl-C ends the move after the present step. Before anything moves, an undo file is written:
    `--undo` moves everything back.

    Exit status: 0 if all pages and threads are in place, 1 if not, 130 if interrupted, 2 for an
    error.

    Example: `numascape move --pid llama-server --policy interleave --file model.gguf`
    """
    from numascape.live.plans import Scope

    scope = Scope(tuple(structure or ()), file, tensor, threads)
    _check(pid, policy, plan, undo, scope)
    _check_scope(scope, policy)
    with _wanted(pid, policy, plan, undo, scope, shared) as found:
        wanted = replace(found, shared=shared or found.shared)
        if dry_run:
            _print_plan(wanted, as_json)
            return
        if undo is None and (wanted.pages.sets or wanted.threads):
            _write_undo(wanted, output)
        account, results = _move_and_account(wanted, rate, quiet)
    _print_account(wanted, account, results, as_json)
    if account.ending == "interrupted":
        raise typer.Exit(130)
    if account.ending or account.failed or (results is not None and results.failed):
        raise typer.Exit(1)


def _check(
    pid: str | None, policy: str | None, plan: Path | None, undo: Path | None, scope: Scope
) -> None:
    if sum(option is not None for option in (policy, plan, undo)) != 1:
        raise NumascapeError("give one of --policy, --plan and --undo")
    if undo is None and pid is None and scope.file is None:
        raise NumascapeError("no process given: use numascape move --pid PROCESS")
    if pid is None and scope.threads and undo is None:
        raise NumascapeError("--threads needs --pid")
    if undo is not None and pid is not None:
        raise NumascapeError("--undo takes the process from its file: leave out --pid")


def _check_scope(scope: Scope, policy: str | None) -> None:
    if policy is None and (scope.structures or scope.file is not None):
        raise NumascapeError("--structure and --file need --policy")
    if scope.structures and scope.file is not None:
        raise NumascapeError("give either --structure or --file")
    if scope.tensors is not None and scope.file is None:
        raise NumascapeError("--tensor needs --file")


@contextmanager
def _wanted(
    pid: str | None,
    policy: str | None,
    plan: Path | None,
    undo: Path | None,
    scope: Scope,
    shared: bool,
) -> Iterator[Move]:
    from numascape.live.plans import move_by_plan

    if undo is not None:
        from numascape.live.undo import read_undo
        from numascape.live.undoing import moved_back

        with moved_back(read_undo(undo)) as move:
            yield move
    elif pid is None and scope.file is not None:
        from numascape.live.file_cache import cache_move

        with cache_move(scope.file, scope.tensors, policy or "") as move:
            yield move
    elif plan is not None:
        from numascape.plan.document import read_plan

        yield move_by_plan(one_target(pid or ""), read_plan(plan), scope.threads)
    else:
        with _of_process(one_target(pid or ""), policy or "", scope, shared) as move:
            yield move


@contextmanager
def _of_process(target: TargetProcess, policy: str, scope: Scope, shared: bool) -> Iterator[Move]:
    from numascape.live.plans import move_by_policy
    from numascape.live.segments import segments_move, segments_of

    are_all_wanted = shared and scope.structures and not scope.threads
    segments = segments_of(target, scope.structures) if are_all_wanted else []
    if segments:
        with segments_move(target, segments, policy) as move:
            yield move
    else:
        yield move_by_policy(target, policy, scope)


def _write_undo(wanted: Move, output: Path | None) -> None:
    from numascape.live.execution import save_undo

    path = save_undo(wanted, output)
    terminal.say(f"wrote {path}; move everything back with:")
    terminal.suggest("move", "--undo", str(path))


def _move_and_account(
    wanted: Move, rate: float | None, quiet: bool
) -> tuple[Account, ThreadResults | None]:
    from numascape.live.execution import apply_move
    from numascape.signals import signals_noted

    with signals_noted() as noted, terminal.amounts(quiet) as show:
        return apply_move(
            wanted,
            None if rate is None else rate * 1e6,
            lambda: noted.came,
            lambda done: show("moving", done, wanted.pages.total),
        )


def _print_plan(wanted: Move, as_json: bool) -> None:
    from numascape.console.moves import planned_lines

    if as_json:
        print(json.dumps(_planned(wanted), indent=1))
        return
    console = terminal.output()
    for line in planned_lines(wanted):
        console.print(terminal.printable(line), soft_wrap=True)


def _planned(wanted: Move) -> dict[str, Any]:
    from numascape.live.moving import by_pair

    return {
        "format": "numascape move",
        "version": 1,
        "pid": (wanted.owner or wanted.target).pid if wanted.file is None else None,
        "file": None if wanted.file is None else str(wanted.file),
        "to_move": wanted.pages.total,
        "in_place": wanted.pages.in_place,
        "by_nodes": [
            {"from": before, "to": to, "bytes": total}
            for before, to, total in by_pair(wanted.pages.sets)
        ],
        "threads": [{"tid": one.tid, "cpus": list(one.wanted)} for one in wanted.threads],
        "not_found": list(wanted.unmet),
    }


def _print_account(
    wanted: Move, account: Account, results: ThreadResults | None, as_json: bool
) -> None:
    from numascape.console.moves import account_lines
    from numascape.live.document import account_document

    if not as_json:
        console = terminal.output()
        for line in account_lines(wanted, account, results):
            console.print(terminal.printable(line), soft_wrap=True)
        return
    document = _planned(wanted) | account_document(account, results)
    document["seconds"] = account.seconds
    print(json.dumps(document, indent=1))
