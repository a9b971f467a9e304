# SPDX-License-Identifier: Apache-2.0
"""Findings in the terminal: kind, cause, fix, gain."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from numascape.console.tables import name
from numascape.findings.find import describe_not_judged
from numascape.findings.finding import Finding, Kind
from numascape.findings.groups import Group, group_findings, stake_of
from numascape.findings.subject import Run
from numascape.findings.verdict import verdict
from numascape.findings.wording import found_text, number_text, threads_text
from numascape.quantities import counted, percent
from numascape.terminal import printable
from numascape.trace.counting import only_touches, samples_are_faults

_NO_GAINS = (
    "The shares above are shares of accesses, not of time. Add --machine NAME to predict the gain "
    "on a machine with CPUs on several nodes."
)
CONCLUSIONS = (Kind.NO_PROBLEM, Kind.NO_SINGLE_CAUSE, Kind.TOO_FEW_SAMPLES)
"""Kinds that say why a run as a whole has no finding with a fix."""
_NAMES = 4
_MAX_FINDINGS = 3
_WIDEST = 100
INDENT = 3
"""Columns by which the text of a finding is indented."""


def print_findings(console: Console, run: Run, found: Sequence[Finding], *, every: bool) -> None:
    """Print the findings about a run; `every`: with all evidence."""
    groups = group_findings(run, found)
    to_do = [group for group in groups if group.first.to_do]
    _print_heading(console, run, to_do)
    _print_not_judged(console, run)
    for number, group in enumerate(to_do, 1):
        console.print()
        _print_group(console, group, number, every=every)
    concluded = [group for group in groups if _is_conclusion(group)]
    handed = [g for g in groups if g.kind is Kind.PRODUCER_CONSUMER]
    unknown = [g for g in groups if g.kind is Kind.TOO_FEW_SAMPLES and g not in concluded]
    told = [*concluded, *handed, *unknown]
    well = [group for group in groups if not group.first.to_do and group not in told]
    for group in concluded:
        console.print()
        for sentence in (group.first.why, *group.first.advice):
            print_indented(console, Text(printable(sentence)), 0)
    for group in [*handed, *unknown]:
        console.print()
        heading = Text.assemble((f"{group.kind.value}: ", "bold"), (_names(group), "cyan"))
        print_indented(console, heading, 0)
        for sentence in (group.first.why, *group.first.advice):
            print_indented(console, _spoken(sentence), INDENT)
    if well:
        console.print()
        console.print(Text("No action needed", "bold"))
        for group in well:
            line = Text.assemble(f"{group.kind.value}: ", (_names(group), "cyan"))
            print_indented(console, line, INDENT)
            if every:
                for sentence in group.first.advice:
                    print_indented(console, _spoken(sentence), 2 * INDENT)
    if to_do and run.nodes is None and not only_touches(run.trace):
        console.print()
        print_indented(console, Text(_NO_GAINS, "dim"), 0)


def _is_conclusion(group: Group) -> bool:
    """Whether it says of the whole run that there is nothing to fix, or that nothing is known."""
    return group.kind in CONCLUSIONS and group.first.structure is None


def conclusions(run: Run, found: Sequence[Finding], path: str) -> list[str]:
    """The findings of the trace at `path` in a few lines, or why there is none."""
    groups = group_findings(run, found)
    to_do = [group for group in groups if group.first.to_do]
    if not to_do:
        return [group.first.why for group in groups if group.first.structure is None][:1]
    first, *others = to_do
    conclusion = verdict(run, found) or f"{' '.join(stake_of(first))}."
    lines = [f"{found_text(len(to_do), first.kind.value, _names_or_run(first))} {conclusion}"]
    lines += [
        f"  {group.kind.value}: {_names_or_run(group)}" for group in others[: _MAX_FINDINGS - 1]
    ]
    if more := len(to_do) - len(lines):
        lines.append(f"  and {more} more")
    return [*lines, causes_and_fixes(path)]


def print_conclusions(console: Console, lines: Sequence[str]) -> None:
    """Print the lines about findings that come before a run or a job."""
    for line in lines:
        text = printable(line)
        print_indented(console, Text(text.lstrip(), "bold"), len(text) - len(text.lstrip()))
    if lines:
        console.print()


def causes_and_fixes(path: str) -> str:
    """The line with the command that prints the findings of the trace at `path` in full."""
    return f"Causes and fixes: numascape advise {shlex.quote(path)}"


def _print_not_judged(console: Console, run: Run) -> None:
    sentence = describe_not_judged(run.trace)
    if sentence:
        console.print()
        print_indented(console, _spoken(sentence), 0)


def _print_heading(console: Console, run: Run, to_do: Sequence[Group]) -> None:
    info = run.trace.info
    machine = run.machine
    nodes = len(machine.nodes)
    program = info.program.rpartition("/")[2]
    threads = f"{counted(run.trace.threads.height, 'thread')}, " if info.recorder.by_thread else ""
    console.print(
        Text.assemble(
            (printable(program), "bold"),
            f": {threads}on {printable(machine.name)} ({nodes} node{'' if nodes == 1 else 's'})",
        ),
        soft_wrap=True,
    )
    if run.trace.info.recorder.counts == "samples":
        console.print(_basis(run))
    if to_do:
        noun = "finding" if len(to_do) == 1 else "findings"
        order = "most pages first" if only_touches(run.trace) else "largest gain first"
        conclusion = verdict(run, [finding for group in to_do for finding in group.findings])
        line = f"{len(to_do)} {noun}, {order}." + (f" {conclusion}" if conclusion else "")
        print_indented(console, Text(printable(line)), 0)


def _print_group(console: Console, group: Group, number: int, *, every: bool) -> None:
    first = group.first
    what = _names_or_run(group)
    share, label = stake_of(group)
    heading = Text.assemble(
        (f"{number}  ", "bold"), (group.kind.value, "bold yellow"), "  ", (what, "bold cyan")
    )
    console.print(heading, soft_wrap=not console.is_terminal)
    print_indented(console, Text.assemble((share, "bold"), f" {printable(label)}"), INDENT)
    print_indented(console, labelled("Cause", first.why), INDENT)
    for sentence in first.advice:
        print_indented(console, labelled("Fix", sentence), INDENT)
    if every:
        for evidence in first.evidence:
            value = number_text(evidence.value, evidence.unit)
            print_indented(console, Text(f"{evidence.what}: {value}", "dim"), 2 * INDENT)
        if first.threads:
            print_indented(console, Text(threads_text(first.threads), "dim"), 2 * INDENT)
    seen = f"Confidence: {percent(first.confidence)}. Figure in the report: {first.figure.value}"
    print_indented(console, Text(seen, "dim"), INDENT)


def labelled(label: str, sentence: str) -> Text:
    """The sentence behind a dim label."""
    return Text.assemble((f"{label}: ", "dim"), _spoken(sentence))


def _spoken(sentence: str) -> Text:
    """The sentence, with the text between backticks shown as code."""
    text = Text()
    for i, part in enumerate(printable(sentence).split("`")):
        text.append(part, "green" if i % 2 else "")
    return text


def print_indented(console: Console, text: Text, columns: int) -> None:
    """Print a paragraph that begins this many columns from the left."""
    if not console.is_terminal:
        # In a file or pipe a sentence is one line.
        console.print(Text(" " * columns) + text, soft_wrap=True)
        return
    console.print(Padding(text, (0, 0, 0, columns)), width=min(console.width, _WIDEST))


def _names_or_run(group: Group) -> str:
    return _names(group) if group.first.structure is not None else "the whole run"


def _names(group: Group) -> str:
    names: list[str] = []
    for finding in group.findings:
        if finding.structure is not None and finding.name not in names:
            names.append(finding.name)
    shown = ", ".join(name(one) for one in names[:_NAMES])
    return shown + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")


def _basis(run: Run) -> str:
    """What the counts of a trace of samples are."""
    if samples_are_faults(run.trace.info.recorder):
        faults = counted(run.accesses, "page fault")
        return f"based on {faults}, which do not show how much the memory is used afterwards"
    return f"based on {counted(run.accesses, 'sample')} of accesses, so every share is an estimate"
