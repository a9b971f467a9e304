# SPDX-License-Identifier: Apache-2.0
"""Selects the parts of a process' memory that are to be moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError
from numascape.live.mapping_names import file_name
from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.policies import MovePolicy, policy_of_rule
from numascape.plan.plan import Plan, StructureRule


@dataclass(frozen=True)
class Selection:
    """Parts, each with its policy, and the names of rules that fit nothing in this process."""

    chosen: tuple[tuple[Part, MovePolicy], ...]
    unmet: tuple[str, ...] = ()


def select_all(parts: Sequence[Part], mappings: Sequence[Mapping], policy: MovePolicy) -> Selection:
    """All memory but the code and sections of executables and libraries, which are small."""
    return Selection(
        tuple(
            (part, policy)
            for part in parts
            if part.kind != "section"
            and "x" not in mappings[part.mapping].permissions
            and not mappings[part.mapping].path.startswith("[v")  # the kernel's
        )
    )


def select_structures(parts: Sequence[Part], names: Sequence[str], policy: MovePolicy) -> Selection:
    """The parts with these names (globs). Raises NumascapeError if a name fits none."""
    return Selection(tuple((part, policy) for part in parts_named(parts, names)))


def parts_named(parts: Sequence[Part], names: Sequence[str]) -> list[Part]:
    """The parts with these names (globs), ascending. Raises NumascapeError if a name fits none."""
    chosen: dict[tuple[int, int], Part] = {}
    for name in names:
        fitting = [part for part in parts if part.name == name]
        fitting = fitting or [part for part in parts if fnmatchcase(part.name, name)]
        if not fitting:
            raise NumascapeError(
                f"the process has no structure {name!r}: `numascape pages --detail` lists them"
            )
        chosen |= {(part.start, part.end): part for part in fitting}
    return [part for _, part in sorted(chosen.items())]


def select_file(
    parts: Sequence[Part],
    mappings: Sequence[Mapping],
    path: Path,
    tensors: str | None,
    policy: MovePolicy,
) -> Selection:
    """The parts of a mapped file, or those of its tensors whose names fit a glob.

    Raises NumascapeError if the process does not map it, or if no tensor fits.
    """
    inode = _inode(path)
    of_file = [
        part
        for part in parts
        if mappings[part.mapping].is_file
        and (mappings[part.mapping].path == str(path) or mappings[part.mapping].inode == inode)
    ]
    if not of_file:
        raise NumascapeError(f"the process does not map {path}: `numascape pages` lists its files")
    if tensors is not None:
        of_file = [part for part in of_file if _is_named(part, tensors)]
        if not of_file:
            raise NumascapeError(
                f"no tensor of {path} is called {tensors!r}: `numascape pages --detail` lists them"
            )
    return Selection(tuple((part, policy) for part in of_file))


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def _is_named(part: Part, pattern: str) -> bool:
    layer = f"layer {part.layer}"
    return part.kind == "tensor" and (fnmatchcase(part.name, pattern) or pattern == layer)


# A recording calls each mapping so, and gives a file its last name; its tensors have their own.
_RECORDED: Final = "mapping"
_OF_FILES: Final = {"file", "tensor", "column", "shared memory"}


def select_planned(parts: Sequence[Part], plan: Plan) -> Selection:
    """The parts for which a plan has a rule; the first rule that fits counts."""
    chosen, met = [], set()
    for part in parts:
        for number, rule in enumerate(plan.structures):
            if _fits(part, rule):
                met.add(number)
                policy = policy_of_rule(rule)
                if policy is not None:
                    chosen.append((part, replace(policy, whole=_whole(parts, part, rule))))
                break
    unmet = [rule.name for number, rule in enumerate(plan.structures) if number not in met]
    return Selection(tuple(chosen), tuple(unmet))


def _fits(part: Part, rule: StructureRule) -> bool:
    """Whether it is the rule's structure; lines are compared only if the variable's is known."""
    kinds = {"", part.kind, *([_RECORDED] if part.kind in _OF_FILES else [])}
    if rule.kind not in kinds or not (part.name == rule.name or _is_of_file(part, rule)):
        return False
    file, _, line = part.source.rpartition(":")
    if not line.isdecimal():
        return True
    same_file = not rule.file or file_name(rule.file) == file_name(file)
    return same_file and rule.line in {0, int(line)}


def _is_of_file(part: Part, rule: StructureRule) -> bool:
    """Whether the rule is for all of the file that the part belongs to."""
    names = {part.file, file_name(part.file)} - {""}
    return part.kind in _OF_FILES and rule.name in names


def _whole(parts: Sequence[Part], part: Part, rule: StructureRule) -> tuple[int, int] | None:
    """The addresses that a rule divides if it is for a file of several parts; else None."""
    if part.name == rule.name or not _is_of_file(part, rule):
        return None
    same = [one for one in parts if one.mapping == part.mapping]
    return same[0].start, same[-1].end
