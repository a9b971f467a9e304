# SPDX-License-Identifier: Apache-2.0
"""Divides the memory of a recorded process by its present mappings, so that all of it has names.

A recorder that attaches does not know the heap blocks that were allocated before: all such memory
is one structure. Their addresses are known, however, and stay the same while the process lives.
Here, each such page belongs to the part of a mapping that contains it: a mapping, a tensor of a
model, a shared segment. A plan can then place these parts, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.trace import Trace
from numascape.trace.derived import DerivedTrace
from numascape.trace.format import PAGE_BYTES
from numascape.trace.schema import SCHEMAS

KEY: Final = ["structure", "instance", "page"]
# Parts that may be placed; the others are code, stacks, and the kernel's own mappings.
_PLACED: Final = {"heap", "mapping", "shared memory", "tensor", "column", "file"}
_LARGEST: Final = 1 << 31  # pages of a structure


@dataclass(frozen=True)
class LivingTrace(DerivedTrace):
    """The trace `whole`, with pages of memory without a name in the `parts` of its process.

    First touches are left out: a page stays where it is, whoever touched it first, and the thread
    that uses it most decides where it belongs. `process` is the number of the process in the trace.
    """

    process: int = field(kw_only=True)
    mappings: tuple[Mapping, ...] = field(kw_only=True)
    parts: tuple[Part, ...] = field(kw_only=True)
    same_pages: ClassVar[bool] = False

    @cached_property
    def structures(self) -> pl.DataFrame:
        """The structures of the trace, and after them those of parts.

        These are of the kind "heap", of which a plan can place every structure.
        """
        old = self.whole.structures
        rows = []
        for number, group in enumerate(self._groups):
            part = self.parts[group[0]]
            largest = max(self.parts[one].end - self.parts[one].start for one in group)
            rows.append(
                {
                    "structure": old.height + number,
                    "process": self.process,
                    "name": part.name,
                    "kind": "heap",
                    "size": largest,
                    "pages": largest // PAGE_BYTES,
                    "instances": len(group),
                    "module": "",
                    "function": "",
                    "file": part.file,
                    "line": 0,
                    "call_stack": [],
                    "named": True,
                }
            )
        schema = {name: old.schema[name] for name in SCHEMAS["structures"]}
        return pl.concat([old, pl.DataFrame(rows, schema=schema)], how="diagonal")

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page, thread and phase."""
        rows = self._moved(self.whole.accesses)
        counts = [name for name in rows.columns if name not in {*KEY, "thread", "phase"}]
        return rows.group_by(*KEY, "thread", "phase", maintain_order=True).agg(pl.col(counts).sum())

    @property
    def first_touch(self) -> pl.DataFrame:
        """An empty table: first touches are left out."""
        return self.whole.first_touch.clear()

    @cached_property
    def placement(self) -> pl.DataFrame:
        """For each page, its node."""
        return self._moved(self.whole.placement).unique(KEY, keep="last", maintain_order=True)

    @cached_property
    def instances(self) -> pl.DataFrame:
        """The start address of each instance."""
        # The objects of shared memory are left out: the trace is of one process.
        old = self.whole.instances.select(SCHEMAS["instances"].names())
        first = self.whole.structures.height
        rows = []
        for number, group in enumerate(self._groups):
            for instance, at in enumerate(group):
                part = self.parts[at]
                rows.append((first + number, instance, part.start, part.end - part.start))
        return pl.concat([old, pl.DataFrame(rows, schema=old.schema, orient="row")])

    @cached_property
    def _groups(self) -> list[list[int]]:
        """The numbers of the parts of each new structure: those of one name, by address."""
        used = np.unique(self._part_of["part"].to_numpy())
        found: dict[tuple[str, str, str], list[int]] = {}
        for number in used.tolist():
            part = self.parts[number]
            found.setdefault((part.name, part.kind, part.file), []).append(number)
        return list(found.values())

    @cached_property
    def _part_of(self) -> pl.DataFrame:
        """For each page of memory without a name: KEY, the part in which it lies, its address."""
        structures = self.whole.structures.filter(
            (pl.col("process") == self.process)
            & pl.col("kind").is_in(["heap", "mapping"])
            & (~pl.col("named") | ((pl.col("kind") == "mapping") & (pl.col("function") == "")))
        )
        used = pl.concat([self.whole.accesses.select(KEY), self.whole.placement.select(KEY)])
        pages = (
            used.unique()
            .join(structures, on="structure", how="semi")
            .join(self.whole.instances, on=["structure", "instance"])
            .select(*KEY, address=(pl.col("address") // PAGE_BYTES + pl.col("page")) * PAGE_BYTES)
            .sort(KEY)
        )
        starts, ends = (
            np.array([getattr(part, name) for part in self.parts], np.uint64)
            for name in ("start", "end")
        )
        at = pages["address"].to_numpy()
        number = np.searchsorted(starts, at, side="right").astype(np.int64) - 1
        inside = (number >= 0) & (at < ends[number]) & self._may_be_placed[number]
        return pages.with_columns(part=pl.Series(number)).filter(pl.Series(inside))

    @cached_property
    def _may_be_placed(self) -> npt.NDArray[np.bool_]:
        return np.array(
            [
                part.kind in _PLACED
                and "x" not in self.mappings[part.mapping].permissions
                and part.end - part.start < _LARGEST * PAGE_BYTES
                for part in self.parts
            ],
            np.bool_,
        )

    @cached_property
    def _places(self) -> pl.DataFrame:
        """By page as recorded (KEY): the structure, instance and page in the parts."""
        first = self.whole.structures.height
        structure, instance = (np.zeros(len(self.parts), np.uint32) for _ in range(2))
        start = np.zeros(len(self.parts), np.uint64)
        for number, group in enumerate(self._groups):
            for at, part in enumerate(group):
                structure[part], instance[part] = first + number, at
                start[part] = self.parts[part].start
        of = self._part_of["part"].to_numpy()
        page = (self._part_of["address"].to_numpy() - start[of]) // np.uint64(PAGE_BYTES)
        return self._part_of.select(KEY).with_columns(
            to=pl.Series(structure[of], dtype=pl.UInt32),
            to_instance=pl.Series(instance[of], dtype=pl.UInt32),
            to_page=pl.Series(page, dtype=pl.UInt64).cast(pl.UInt32),
        )

    def _moved(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the structures, instances and pages of parts."""
        columns = rows.columns
        return (
            rows.join(self._places, on=KEY, how="left", maintain_order="left")
            .with_columns(
                structure=pl.coalesce("to", "structure"),
                instance=pl.coalesce("to_instance", "instance"),
                page=pl.coalesce("to_page", "page"),
            )
            .select(columns)
        )


def living_trace(
    trace: Trace, pid: int, mappings: Sequence[Mapping], parts: Sequence[Part]
) -> LivingTrace:
    """The trace of a running process, by the parts of its memory."""
    own = [one.process for one in trace.info.processes if one.pid == pid]
    number = own[-1] if own else 0
    return LivingTrace(
        trace.path,
        trace.info,
        whole=trace,
        process=number,
        mappings=tuple(mappings),
        parts=tuple(parts),
    )
