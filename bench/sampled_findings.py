# SPDX-License-Identifier: Apache-2.0
"""Compares the findings from samples with those of the exact recorder, program by program."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import numascape
from bench.tables import ResultTable
from integration.findings.labelled import Label, as_labels, findings_in, record, sources

console = Console(stderr=True)

UNDECIDED = "too few samples"
"""The kind of a finding that says that samples cannot show what the exact recorder may show."""
BOUNDS = (0, 50, 200, 1000)
"""Programs are counted by their number of samples: at least this many."""
SWEEPS = 2000
"""How often our own programs go over their data: most of them then run for 0.2 s to 1 s."""


@dataclass(frozen=True)
class LightRecording:
    """How programs are recorded with less than all accesses; `name` is that of a folder."""

    name: str
    title: str
    options: tuple[str, ...]

    @classmethod
    def of_samples(cls, recorder: str, frequency: int) -> "LightRecording":
        """A recorder of samples."""
        return cls(
            f"{recorder}-{frequency}",
            f"{recorder}, {frequency} samples in a second of CPU time",
            ("--recorder", recorder, "--frequency", str(frequency)),
        )

    @classmethod
    def of_share(cls, share: float) -> "LightRecording":
        """Bursts of this share of the work."""
        return cls(f"share-{share:g}", f"--sample {share:g}", ("--sample", f"{share:g}"))


@dataclass(frozen=True)
class Compared:
    """The findings about a program: from exact counts, and from so many `samples`."""

    program: str
    samples: int
    exact: frozenset[Label]
    sampled: frozenset[Label]

    @property
    def same(self) -> frozenset[Label]:
        """The findings that both have."""
        return self.exact & self.sampled

    @property
    def wrong(self) -> frozenset[Label]:
        """What only the samples assert."""
        return frozenset(f for f in self.sampled - self.exact if f[1] != UNDECIDED)

    @property
    def undecided(self) -> frozenset[Label]:
        """The exact findings about what the samples say that they cannot show."""
        open_ = {name for name, kind in self.sampled if kind == UNDECIDED}
        missing = self.exact - self.sampled
        return missing if "run" in open_ else frozenset(f for f in missing if f[0] in open_)

    @property
    def missed(self) -> frozenset[Label]:
        """The exact findings that the samples miss without a word."""
        return self.exact - self.sampled - self.undecided


def compare(programs: Path, traces: Path, folder: Path, way: LightRecording) -> list[Compared]:
    """Record all programs of a folder with both recorders, and compare their findings.

    A program that cannot be recorded in the time that a recording may take is left out, and named.
    """
    exact, sampled = traces / "exact", traces / way.name
    exact.mkdir(parents=True, exist_ok=True)
    sampled.mkdir(exist_ok=True)

    def compared(source: Path) -> Compared | None:
        try:
            by_samples = record(source, programs, sampled, list(way.options))
            by_counts = record(source, programs, exact)
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            console.print(f"{source.name} is left out: {failure}", markup=False)
            return None
        totals = numascape.open(by_samples).info.totals
        return Compared(
            source.name,
            totals.reads + totals.writes,
            as_labels(findings_in(by_counts)),
            as_labels(findings_in(by_samples)),
        )

    with ThreadPoolExecutor(2) as pool:
        return [one for one in pool.map(compared, sources(folder)) if one is not None]


def table_of_samples(results: Sequence[Compared], way: LightRecording) -> ResultTable:
    """How many findings are the same, wrong, said to be unknown, and missed, by samples."""
    rows = [
        _row(f"{low} samples or more" if low == BOUNDS[-1] else f"{low} to {high - 1} samples", own)
        for low, high in zip(BOUNDS, (*BOUNDS[1:], 1 << 62), strict=True)
        if (own := [result for result in results if low <= result.samples < high])
    ]
    return ResultTable(
        way.title,
        [
            "programs with",
            "programs",
            "findings of the exact recorder",
            "same",
            "said to be unknown",
            "missed",
            "wrong",
            "same, of the findings from samples, %",
            "same, of all, %",
        ],
        [*rows, _row("all", results)],
        "A finding is a pair of a structure and a kind; the run as a whole counts as a structure. "
        "Wrong: only the samples assert it. Said to be unknown: the samples say that they are too "
        f"few. Our own programs go over their data {SWEEPS} times, so that they run long enough.",
    )


def _row(name: str, results: Sequence[Compared]) -> list[str | float | None]:
    same, unknown, missed, wrong = (
        sum(map(len, sets))
        for sets in (
            [one.same for one in results],
            [one.undecided for one in results],
            [one.missed for one in results],
            [one.wrong for one in results],
        )
    )
    every = same + unknown + missed
    counts: list[str | float | None] = [
        str(number) for number in (len(results), every, same, unknown, missed, wrong)
    ]
    said = same + wrong
    shares = [100 * same / said if said else None, 100 * same / every if every else None]
    return [name, *counts, *shares]


def table_of_kinds(results: Iterable[Compared], title: str) -> ResultTable:
    """The same by the kind of the finding."""
    sums: dict[str, Counter[str]] = {}
    for one in results:
        for name, labels in (
            ("same", one.same),
            ("unknown", one.undecided),
            ("missed", one.missed),
            ("wrong", one.wrong),
        ):
            for _, kind in labels:
                sums.setdefault(kind, Counter())[name] += 1
    columns = ("same", "unknown", "missed", "wrong")
    rows: list[list[str | float | None]] = [
        [kind, *(str(sums[kind][column]) for column in columns)] for kind in sorted(sums)
    ]
    return ResultTable(title, ["kind", *columns], rows)
