# SPDX-License-Identifier: Apache-2.0
"""The verb `tune`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._options import JsonOption, NoProgressOption, ProcessOption, output_to
from numascape.commands._targets import one_target
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.tuning.loop import Effects, Outcome, Request
    from numascape.tuning.metric import Metric


class Observer(str, Enum):
    """The recorders that can look at a running process."""

    BINARY = "binary"
    FAULTS = "faults"
    SAMPLES = "samples"


def tune(
    pid: ProcessOption = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long to observe.")
    ] = 10.0,
    apply: Annotated[
        bool, typer.Option("--apply", help="Move the pages and threads. Default: only print them.")
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="COMMAND",
            show_default=False,
            help="With --apply: run this before and after; the last line of its output is a "
            "number, such as transactions per second. If it got worse, everything is moved back.",
        ),
    ] = None,
    lower_is_better: Annotated[
        bool,
        typer.Option(
            "--lower-is-better", help="Smaller values of the metric are better, such as latencies."
        ),
    ] = False,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            min=1,
            max=1000,
            metavar="N",
            help="Run the metric N times before the move and N times after it.",
        ),
    ] = 3,
    recorder: Annotated[
        Observer | None,
        typer.Option(
            help="binary: counts each access; meanwhile, the process is 2 to 3 times slower. "
            "faults: samples of the kernel's NUMA balancing, at about 1 % overhead. samples: "
            "samples of accesses, by the processor or by a clock, at about 1 % as root. Default: "
            "samples if they are permitted, else faults if balancing is on.",
            show_default=False,
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="Also move pages that other processes map; needs CAP_SYS_NICE."
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate", min=0.001, metavar="MB/S", help="Move at most this much.", show_default=False
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            show_default=False,
            help="Keep the recordings here: before.numascape and after.numascape.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_to("The file for `move --undo`. Default: NAME-PID.undo, with a number if needed."),
    ] = None,
    as_json: JsonOption = False,
    quiet: NoProgressOption = False,
) -> None:
    """Observe a running process, and say which of its pages and threads to move, or move them.

    With --apply, the pages and threads are moved while the process runs, and it is observed again.
    `numascape move --undo` moves everything back. Times are predictions.

    Exit status: 0 if all pages and threads are in place, or if there is nothing to do; 1 if some
    are not, or if everything was moved back; 130 if interrupted; 2 for an error.

    Example: `numascape tune --pid llama-server`

    Example: `numascape tune --pid java --apply --metric "./requests-per-second"`
    """
    if pid is None:
        raise NumascapeError("no process given: use numascape tune --pid PROCESS")
    if metric is not None and not apply:
        raise NumascapeError("--metric compares before and after a move: use it with --apply")
    measure = _metric(metric, runs, lower_is_better)
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.live.undo import check_undo_place
    from numascape.tuning.advice import check_several_nodes
    from numascape.tuning.loop import Request
    from numascape.tuning.loop import tune as tune_process
    from numascape.tuning.observing import COSTS, choose_recorder

    target = one_target(pid)
    check_several_nodes(target)
    if apply and output is not None:
        check_undo_place(output)
    chosen = choose_recorder(target) if recorder is None else recorder.value
    if not quiet:
        terminal.say(f"observing {target} for {seconds:g} s: {COSTS[chosen]}")
    with _folder(keep) as folder, _effects(quiet) as effects:
        request = Request(
            target, seconds, chosen, folder, apply, measure,
            None if rate is None else rate * 1e6, shared, output,
        )  # fmt: skip
        outcome = tune_process(request, effects)
    _print(request, outcome, as_json)
    _suggest(request, outcome, pid)
    if status := _status(outcome):
        raise typer.Exit(status)


def _metric(command: str | None, runs: int, lower_is_better: bool) -> Metric | None:
    from numascape.tuning.metric import Metric

    if command is None:
        return None
    return Metric(command, runs, not lower_is_better)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder of the recordings."""
    if keep is not None:
        try:
            keep.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NumascapeError(f"cannot make the folder {keep}: {error.strerror}") from error
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="numascape-") as folder:
        # A process of another user writes its shard into a folder inside.
        Path(folder).chmod(0o711)
        yield Path(folder)


@contextmanager
def _effects(quiet: bool) -> Iterator[Effects]:
    from numascape.signals import signals_noted
    from numascape.tuning.loop import Effects

    def say(message: str) -> None:
        if not quiet:
            terminal.say(message)

    with signals_noted() as noted, terminal.amounts(quiet) as show:
        yield Effects(
            say,
            lambda: noted.came,
            lambda move, done: show("moving", done, move.pages.total),
        )


def _print(request: Request, outcome: Outcome, as_json: bool) -> None:
    from numascape.tuning.document import outcome_document
    from numascape.tuning.printing import outcome_lines

    if as_json:
        print(json.dumps(outcome_document(request, outcome), indent=1))
        return
    console = terminal.output()
    for line in outcome_lines(outcome):
        console.print(terminal.printable(line), soft_wrap=True)


def _suggest(request: Request, outcome: Outcome, pid: str) -> None:
    """The next command."""
    if outcome.ending or outcome.advice is None or outcome.changes_nothing:
        return
    if not request.applies:
        terminal.say("nothing was moved; move it with:")
        terminal.suggest("tune", "--pid", pid, "--apply")


def _status(outcome: Outcome) -> int:
    if outcome.ending == "interrupted":
        return 130
    done = outcome.done
    if outcome.ending or outcome.failure or outcome.taken_back is not None:
        return 1
    if done is not None and (done.account.ending or done.account.failed):
        return 1
    return int(done is not None and done.threads is not None and bool(done.threads.failed))
