# SPDX-License-Identifier: Apache-2.0
"""The labelled programs: compares their actual findings with the planted ones.

A label is a line `// label: STRUCTURE = FINDING` in a program's source (`run` stands for the run as
a whole; `!` and `#` begin comments too). If there are several findings with bars between them, any
of them is right. A program's labels are complete: a finding that is not among them is wrong. A line
`// action: STRUCTURE = ACTION` names the fixes that are right, with bars between them, and
`// harm: STRUCTURE = ACTION` a fix that must not be advised. A line `// minor: STRUCTURE = FINDING`
names findings that are true but hardly matter, with bars between them: they count neither as right
nor as wrong, and not as missed. A line `// called: STRUCTURE = NAME` gives other names of the same
memory, with bars between them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numascape
from integration.loaded_command import run_loaded
from numascape.analysis.source_files import readable_sources
from numascape.findings import Finding, Kind, find
from numascape.findings.finding import Fix, Remedy
from numascape.machine import Machine
from numascape.naming.destination import without_subscripts
from numascape.trace import Trace

PROGRAMS = Path(__file__).parent / "programs"
BLIND = Path(__file__).parent / "blind"
THREADS = 4
_LINE = re.compile(
    r"^\s*(?://|!|#) (label|minor|action|harm|called): (.+?) = (.+?)\s*$", re.MULTILINE
)
_WORD = re.compile(r"\b(?:label|minor|action|harm|called): ")
IN_PARALLEL = "parallelise the existing loop"
"""The action of a fix that tells to run a loop of the program in parallel."""

Label = tuple[str, str]
"""A structure and its finding, or several findings with bars between them: any of them is right."""
Actions = dict[str, frozenset[str]]
"""Actions by the name of their structure."""
_NOTHING: frozenset[str] = frozenset()
_ACTIONS = {
    Remedy.USERS: "local",
    Remedy.INTERLEAVED: "spread",
    Remedy.COPIED: "copy",
    Remedy.DIVIDED: "divide",
    Remedy.EVEN_PARTS: "even parts",
    Remedy.BALANCED: "balance",
}
_BY_KIND = {
    Kind.PAGE_FALSE_SHARING: "pad",
    Kind.LINE_FALSE_SHARING: "pad",
    Kind.LINE_TRUE_SHARING: "divide",
}
"""Fixes of lines tell to pad or to align the parts of threads, or to let each thread work alone."""


@dataclass(frozen=True)
class Outcome:
    """The planted and the actual findings of a program: pairs of structure and finding.

    Planted and minor findings can have alternatives. `minor` findings are true, but may be left
    out. `right` and `harmful` are the labels of actions. `advised` has the first advice for each
    structure, and `told` has all advice.
    """

    program: str
    planted: frozenset[Label]
    found: frozenset[Label]
    right: Actions = field(default_factory=dict)
    harmful: Actions = field(default_factory=dict)
    advised: Actions = field(default_factory=dict)
    told: Actions = field(default_factory=dict)
    minor: frozenset[Label] = frozenset()

    @property
    def wrong(self) -> frozenset[Label]:
        """The findings that are no label."""
        return self.found - self._acceptable

    @property
    def right_labels(self) -> frozenset[Label]:
        """The labels of which at least one alternative is found."""
        return frozenset(label for label in self.planted if alternatives([label]) & self.found)

    @property
    def missed(self) -> frozenset[Label]:
        """The labels that are not found."""
        return self.planted - self.right_labels

    @property
    def _acceptable(self) -> frozenset[Label]:
        return alternatives(self.planted | self.minor)

    @property
    def judged(self) -> frozenset[str]:
        """The structures with a true finding and a label for their action."""
        true = self._acceptable & self.found
        return frozenset(name for name, _ in true if name in self.right)

    @property
    def followed(self) -> frozenset[str]:
        """The judged structures whose first advice is right."""
        return frozenset(n for n in self.judged if self.advised.get(n, _NOTHING) & self.right[n])

    @property
    def harmed(self) -> frozenset[str]:
        """The structures for which a harmful fix is advised."""
        return frozenset(n for n, harm in self.harmful.items() if self.told.get(n, _NOTHING) & harm)

    @property
    def held_back(self) -> bool:
        """Whether the program was held back when thresholds were chosen; a third of them were."""
        return zlib.crc32(self.program.encode()) % 3 == 0


@dataclass(frozen=True)
class Score:
    """How many findings were right, wrong, and missed.

    `judged` structures have a right finding and a label for the fix, `followed` of them the right
    first advice, and `harmed` structures a harmful one.
    """

    right: int
    wrong: int
    missed: int
    judged: int = 0
    followed: int = 0
    harmed: int = 0

    @property
    def precision(self) -> float:
        """The share of the actual findings that were planted (the precision)."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """The share of the planted findings that were found (the recall)."""
        return self.right / max(1, self.right + self.missed)

    @property
    def action(self) -> float:
        """The share of structures with a known right fix whose first advice is this fix."""
        return self.followed / max(1, self.judged)


def sources(folder: Path = PROGRAMS) -> list[Path]:
    """The programs' sources; those in Rust only if its compiler is installed."""
    suffixes = {".c", ".cpp", ".f90", ".py"} | ({".rs"} if shutil.which("rustc") else set())
    return sorted(path for path in folder.iterdir() if path.suffix in suffixes)


def _lines(source: Path) -> list[tuple[str, str, str]]:
    """The labels of a source, each in its parts."""
    text = source.read_text()
    found = _LINE.findall(text)
    if len(found) != len(_WORD.findall(text)):
        raise ValueError(f"{source.name} has a label that is not alone on its line.")
    return found


def names_in(source: Path) -> frozenset[str]:
    """The names of structures in all labels of a source, also in labels of harmful fixes."""
    return frozenset(_plain(name) for _, name, _ in _lines(source))


def labels(source: Path, word: str = "label") -> frozenset[Label]:
    """The labels, or with the word `minor` those that are true but hardly matter."""
    return frozenset((_plain(name), text) for what, name, text in _lines(source) if what == word)


def alternatives(several: Iterable[Label]) -> frozenset[Label]:
    """Each finding that one of the labels calls right."""
    return frozenset((name, kind) for name, kinds in several for kind in kinds.split(" | "))


def words_in(source: Path) -> dict[str, list[str]]:
    """The names in labels, by these names and by the author's other names of the same memory."""
    words = {name: [name] for name in names_in(source)}
    for what, name, text in _lines(source):
        for other in text.split(" | ") if what == "called" else ():
            words.setdefault(_plain(other), []).append(_plain(name))
    return words


def labelled_actions(source: Path, word: str) -> Actions:
    """The actions in lines that begin with `word`, `action` or `harm`."""
    actions: dict[str, set[str]] = {}
    for what, name, text in _lines(source):
        if what == word:
            # "copy or spread" says that either is right.
            alternatives = re.split(r"\s*\|\s*|\s+or\s+", text)
            actions.setdefault(_plain(name), set()).update(alternatives)
    return {name: frozenset(chosen) for name, chosen in actions.items()}


def _plain(name: str) -> str:
    """The structure's name in one spelling: an element is its array; `->`, `%`, `::` are a dot."""
    return re.sub(r"->|%|::", ".", without_subscripts(name))


def build(folder: Path, programs: Path = PROGRAMS, sweeps: int | None = None) -> None:
    """Build all programs into `folder`, two at a time.

    Programs with labelled.h go over their data as often as `sweeps` says, if it is given.
    """
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS"}}
    command = ["make", "-s", "-j2", "-C", str(programs), f"BUILD={folder}"]
    command += [f"SWEEPS={sweeps}"] if sweeps is not None else []
    subprocess.run(command, check=True, env=environment, capture_output=True, text=True)


def record(source: Path, programs: Path, traces: Path, options: Sequence[str] = ()) -> Path:
    """Record the program of a source once, with these options of the command.

    If there is a trace of it in `traces`, it is used.
    """
    trace = traces / f"{source.name}.numascape"
    if not trace.exists():
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(THREADS),
            "OMP_DYNAMIC": "false",
            "OMP_WAIT_POLICY": "passive",
        }
        built = [programs / f"{source.name}.out"]
        program = [Path(sys.executable), source] if source.suffix == ".py" else built
        done = run_loaded(["record", "-q", *options, "-o", trace, "--", *program], environment)
        if done.returncode != 0:
            raise RuntimeError(f"{source.name} was not recorded: {done.stderr}")
    return trace


def opened_trace(path: Path) -> Trace:
    """A recording, as if the kernel's setting of huge pages was unknown.

    So labels of false sharing of 2 MiB pages hold wherever the program was recorded.
    """
    trace = numascape.open(path)
    host = replace(trace.info.host, huge_pages="")
    return replace(trace, info=replace(trace.info, host=host))


def findings_in(path: Path, machine: Machine | None = None) -> list[Finding]:
    trace = opened_trace(path)
    return find(trace, machine, readable_sources(trace.info, None))


def _subject(finding: Finding) -> str:
    return "run" if finding.structure is None else _plain(finding.name)


def as_labels(findings: Iterable[Finding]) -> frozenset[Label]:
    return frozenset((_subject(finding), finding.kind.value) for finding in findings)


def in_words_of(source: Path, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with the names that the author used: `slots` for `shards.slots`.

    A finding about a name of two structures is one of each.
    """
    words = words_in(source)

    def called(finding: Finding) -> list[str]:
        name = _plain(finding.name)
        parts = name.split(".")
        endings = (".".join(parts[start:]) for start in range(len(parts)))
        return next((words[ending] for ending in endings if ending in words), [name])

    return [replace(finding, name=name) for finding in findings for name in called(finding)]


def actions_of(finding: Finding, fix: Fix) -> frozenset[str]:
    """The actions that a fix advises, in the words of the labels."""
    actions = {_ACTIONS[fix.remedy]} if fix.remedy in _ACTIONS else set()
    if finding.kind in _BY_KIND:
        actions.add(_BY_KIND[finding.kind])
    if fix.text.startswith("Put data that different threads write"):
        actions = {"pad"}
    if fix.text.startswith("Initialise it in parallel: `"):
        actions.add(IN_PARALLEL)
    return frozenset(actions)


def advised_actions(findings: Iterable[Finding]) -> tuple[Actions, Actions]:
    """The advice for each structure: by the first fix of its first finding, and by all fixes."""
    first: dict[str, frozenset[str]] = {}
    every: dict[str, frozenset[str]] = {}
    for finding in findings:
        subject = _subject(finding)
        if not finding.to_do:
            first.setdefault(subject, frozenset({"none"}))
            continue
        placing = [fix for fix in finding.fixes if fix.remedy is finding.remedy]
        if placing:
            first.setdefault(subject, actions_of(finding, placing[0]) or frozenset({"none"}))
        told = [actions_of(finding, fix) for fix in finding.fixes]
        every[subject] = every.get(subject, _NOTHING).union(*told)
    return first, every


def outcomes(
    programs: Path,
    traces: Path,
    machine: Machine | None = None,
    folder: Path = PROGRAMS,
    options: Sequence[str] = (),
) -> list[Outcome]:
    """Record every program and look for findings, for `machine` if given, two at a time.

    `folder` has the sources, `programs` what was built from them. `options` are of the recording.
    """

    def outcome(source: Path) -> Outcome:
        planted = labels(source)
        trace = record(source, programs, traces, options)
        found = in_words_of(source, findings_in(trace, machine))
        right, harmful = (labelled_actions(source, word) for word in ("action", "harm"))
        advised, told = advised_actions(found)
        minor = labels(source, "minor")
        return Outcome(source.name, planted, as_labels(found), right, harmful, advised, told, minor)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(outcome, sources(folder)))


def score(results: Iterable[Outcome]) -> Score:
    every = list(results)
    return Score(
        right=sum(len(result.right_labels) for result in every),
        wrong=sum(len(result.wrong) for result in every),
        missed=sum(len(result.missed) for result in every),
        judged=sum(len(result.judged) for result in every),
        followed=sum(len(result.followed) for result in every),
        harmed=sum(len(result.harmed) for result in every),
    )
