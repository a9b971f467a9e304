# SPDX-License-Identifier: Apache-2.0
"""The verb `predict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numascape import terminal
from numascape.commands._jobs import open_trace
from numascape.commands._options import MachineOption
from numascape.commands._written import say_written
from numascape.errors import NumascapeError
from numascape.quantities import percent

if TYPE_CHECKING:
    from numascape.machine import Machine
    from numascape.plan import Plan
    from numascape.prediction import Prediction
    from numascape.prediction.layout import NodeArray
    from numascape.prediction.scenarios import PolicyName, Scenarios
    from numascape.report.prediction import Predicted
    from numascape.trace import Trace


_NAMED = 4
"""Number of copied structures that are listed by name."""


def predict(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="The trace, NAME.numascape.", show_default=False)
    ],
    machine: MachineOption = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="POLICY",
            help="observed, first-touch, interleave, weighted-interleave, balancing, replicate (a "
            "copy of read-only structures on each node), or the file of a plan (.toml). Can be "
            "repeated. Default: all of these except plans.",
            show_default=False,
        ),
    ] = None,
    threads_map: Annotated[
        str,
        typer.Option(
            "--threads-map",
            metavar="MAP",
            help="Where threads run: compact (neighbours together), scatter (nodes in turn), "
            "numbered (by CPU number), anywhere, or a file with a node for each thread. A plan has "
            "its own map.",
        ),
    ] = "compact",
    phase: Annotated[
        str | None,
        typer.Option(
            "--phase", metavar="PHASE", help="Only this phase (name or number).", show_default=False
        ),
    ] = None,
    calibrate: Annotated[
        float | None,
        typer.Option(
            "--calibrate",
            metavar="SECONDS",
            help="The time of the observed run on the machine, measured without a recorder.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the page of the policies (.html), or draw times and traffic (.svg, .png, "
            ".pdf).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Predict the time of a run with other placements of its pages and threads.

    Times are predictions by a model of the machine's memory (docs/prediction.md), relative to the
    observed run. The interval is the range of times when the assumptions of the model are varied.
    Predictions are better for a trace that was recorded with `--traffic`. The rows `fix 1`, `fix 2`
    are the fixes of the findings that `numascape advise` prints, in the same order.

    Example: `numascape predict run.numascape --machine xeon-x7550 --policy interleave`
    """
    from numascape.machine import open_machine
    from numascape.prediction.scenarios import Scenarios
    from numascape.trace.counting import check_knows_threads
    from numascape.trace.selection import find_phase

    if calibrate is not None and not 0 < calibrate < float("inf"):
        raise NumascapeError(f"--calibrate {calibrate:g}: must be more than 0 seconds")
    names, plans = _policies(policy)
    opened = open_trace(trace)
    check_knows_threads(opened, "a prediction")
    place = open_machine(machine)
    scenarios = Scenarios(
        opened,
        place,
        _threads(threads_map, opened, place),
        seconds=calibrate,
        phases=None if phase is None else [find_phase(opened, phase)],
        with_pages=output is not None,
    )
    conclusion = ""
    with terminal.working("Predicting"):
        found = scenarios.predict(names, plans)
        if not policy and phase is None:
            fixes, conclusion = _fixes(opened, place, scenarios)
            found += fixes
    if policy and "replicate" in names and not scenarios.copied:
        raise NumascapeError(
            f"{trace} has nothing to replicate: it has no structure that several threads read and "
            "that is not written after it is filled"
        )
    if as_json:
        print(json.dumps({**_document(found, place, opened), "verdict": conclusion}, indent=1))
    else:
        _print(found, place, opened, found if policy else _first_and_best(found))
        _print_copies(found, scenarios.copied, opened)
        if conclusion:
            terminal.output().print(terminal.printable(conclusion), soft_wrap=True)
    if output is not None:
        from numascape.report.prediction import Predicted

        _write(output, Predicted(opened, place, found, conclusion, _assumptions(found, opened)))


def _write(file: Path, predicted: Predicted) -> None:
    """The page, or a picture for a paper, by the end of the file's name."""
    if file.suffix.lower() == ".html":
        from numascape.report.prediction import render_prediction

        say_written(file, render_prediction(predicted, file))
        return
    from numascape.figures.prediction_picture import save_predictions

    save_predictions(predicted.found, predicted.machine.name, file)
    terminal.say(f"wrote {file}")


def _fixes(trace: Trace, machine: Machine, scenarios: Scenarios) -> tuple[list[Prediction], str]:
    """The predictions of the fixes of the findings, and the conclusion; as `advise` has them."""
    from numascape.analysis.source_files import readable_sources
    from numascape.findings import examine, findings_of
    from numascape.findings.verdict import fixes_of, verdict

    run = examine(trace, machine, readable_sources(trace.info, None))
    found = findings_of(run)
    fixes = fixes_of(run, found, scenarios.tuning, with_pages=scenarios.with_pages)
    return fixes, verdict(run, found)


def _policies(given: list[str] | None) -> tuple[list[PolicyName], dict[str, Plan]]:
    """The policies, and the plans by the names of their files."""
    from numascape.prediction.scenarios import POLICY_NAMES

    by_name = {str(name): name for name in POLICY_NAMES}
    names: list[PolicyName] = []
    plans: dict[str, Plan] = {}
    for text in given or list(POLICY_NAMES):
        if text in by_name:
            names.append(by_name[text])
        elif text.endswith(".toml") or Path(text).exists():
            from numascape.plan.document import read_plan

            plans[text] = read_plan(Path(text))
        else:
            raise NumascapeError(
                f"there is no policy {text[:60]!r}: choose {', '.join(POLICY_NAMES)}, or the file "
                "of a plan"
            )
    return names, plans


def _threads(text: str, trace: Trace, machine: Machine) -> NodeArray:
    from numascape.prediction.layout import LAYOUTS, laid_out, read_thread_map

    count = trace.threads.height
    if text in LAYOUTS:
        return laid_out(count, machine, LAYOUTS[text])
    path = Path(text)
    if not path.is_file():
        raise NumascapeError(
            f"--threads-map {text[:60]!r} is neither a file nor one of {', '.join(LAYOUTS)}"
        )
    return read_thread_map(path, count)


def _first_and_best(found: list[Prediction]) -> list[Prediction]:
    best = min(found, key=lambda prediction: prediction.relative)
    return [found[0]] if best.relative == found[0].relative else [found[0], best]


def _print(
    found: list[Prediction], machine: Machine, trace: Trace, with_traffic: list[Prediction]
) -> None:
    from numascape.console.tables import table_of

    console = terminal.output()
    console.print(
        f"predicted for {terminal.printable(trace.path.name)} on "
        f"{terminal.printable(machine.name)}, relative to the run as observed"
    )
    rows = [
        [
            terminal.printable(p.label),
            f"{p.relative:.2f}",
            f"{p.low:.2f} to {p.high:.2f}",
            f"{p.seconds:.3g}",
            percent(p.remote_share),
            p.limit,
        ]
        for p in found
    ]
    headings = ["policy", "time", "interval", "seconds", "remote", "limited by"]
    console.print(table_of(headings, rows, console.width, text=["policy", "limited by"]))
    for p in with_traffic:
        console.print(f"traffic in GB, {terminal.printable(p.label)}: from CPUs of node, to memory")
        cells = [[str(n), *(f"{v / 1e9:.3g}" for v in row)]
                 for n, row in zip(p.nodes, p.traffic, strict=True) if row.any()]  # fmt: skip
        console.print(table_of(["", *map(str, p.nodes)], cells, console.width))
    for assumption in _assumptions(found, trace):
        console.print(f"assumed: {terminal.printable(assumption)}", soft_wrap=True)


def _print_copies(found: list[Prediction], copied: list[int], trace: Trace) -> None:
    """Print the structures that the policy `replicate` copies, and the memory of the copies."""
    from numascape.quantities import bytes_text

    for p in found:
        if p.label == "replicate":
            names = [str(trace.structures.item(number, "name")) for number in copied]
            listed = ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
            terminal.output().print(
                f"replicate: a copy of {terminal.printable(listed)} on each node costs "
                f"{bytes_text(p.extra_bytes)} more memory",
                soft_wrap=True,
            )


def _assumptions(found: list[Prediction], trace: Trace) -> list[str]:
    """The values of the machine and of the program that are assumed and not measured."""
    lines = list(found[0].assumed) if found else []
    if "memory_lines" not in trace.accesses.columns:
        lines.append("lines from memory: estimated from accesses (record with --traffic)")
    return lines


def _document(found: list[Prediction], machine: Machine, trace: Trace) -> dict[str, Any]:
    return {
        "kind": "prediction",
        "trace": str(trace.path),
        "machine": machine.name,
        "assumed": _assumptions(found, trace),
        "predictions": [
            {
                "policy": p.label,
                "seconds": p.seconds,
                "relative": p.relative,
                "low": p.low,
                "high": p.high,
                "limit": p.limit,
                "limit_kind": p.limit_kind,
                "remote_share": p.remote_share,
                "remote_accesses": p.remote_accesses,
                "nodes": list(p.nodes),
                "traffic_bytes": p.traffic.tolist(),
                "extra_bytes": p.extra_bytes,
                "phases": [
                    {"name": x.name, "seconds": x.seconds, "limit": x.limit} for x in p.phases
                ],
            }
            for p in found
        ],
    }
