# SPDX-License-Identifier: Apache-2.0
"""Samples become a trace: each address is named, and samples are counted by page and thread."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.conversion.call_paths import NO_CALLER, CallPaths, sum_path_accesses
from numascape.conversion.module_pages import module_name
from numascape.conversion.structures import StructureIdentity, StructureTable
from numascape.errors import NumascapeError
from numascape.installation import installed_version
from numascape.machine.description import cpu_nodes
from numascape.naming.frames import is_library_frame
from numascape.recording.program import started_as
from numascape.samples.events import UNKNOWN_CALLERS, RangeMapped, Recording, Sample
from numascape.samples.file_parts import FileParts
from numascape.samples.images import Image, images_of
from numascape.samples.memory import Variables
from numascape.samples.time_slices import slice_of, sliced_phases
from numascape.trace.format import PAGE_BYTES
from numascape.trace.info import Process, Recorder, Times, Totals, TraceInfo
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

_MAX_PAGES = 1 << 31
_LARGEST_STACK = 64 << 20
_KERNEL = 1 << 63  # on each architecture, a program's addresses have at most 56 bits
_UNKNOWN = "memory outside all mappings seen"
_OF_THE_KERNEL = "the kernel's memory"


@dataclass(frozen=True)
class _Where:
    """A structure, the start of an instance, and the page of the sample in it."""

    structure: StructureIdentity
    start: int
    size: int
    page: int


class _Names:
    """Names the addresses of one image."""

    def __init__(self, image: Image, process: int, main_thread: int, paths: CallPaths) -> None:
        self._process = process
        self._paths = paths
        self._known_paths: dict[tuple[tuple[int, ...], int], int] = {}
        self._main_thread = main_thread
        self._modules = image.modules.modules
        self._symbols = image.modules.symbols()
        self._variables = Variables(self._symbols.globals())
        self._file_parts = FileParts()
        self._places: dict[int, tuple[str, str, int]] = {}

    def where(self, sample: Sample, mapping: RangeMapped | None) -> _Where:
        address = sample.address
        variable = self._variables.at(address)
        if variable is not None:
            named = StructureIdentity(
                self._process,
                variable.name,
                "global",
                module_name(variable.module),
                variable.function,
                variable.file,
                variable.line,
            )
            return _located(named, variable.address, variable.size, address)
        if mapping is None:
            return self._outside(address)
        module = self._modules.get(mapping.path)
        if module is not None:
            name = f"{module_name(module.path)} (code and unnamed data)"
            named = StructureIdentity(self._process, name, "mapping", module=module.path)
            return _located(named, module.start, module.end - module.start, address)
        part = self._file_parts.at(mapping, address)
        if part is not None:
            named = StructureIdentity(self._process, part.name, "mapping", module=mapping.path)
            start = max(0, mapping.start - mapping.offset + part.start)
            return _located(named, start, part.end - part.start, address)
        size = mapping.end - mapping.start
        return _located(self._of_mapping(mapping), mapping.start, size, address)

    def _of_mapping(self, mapping: RangeMapped) -> StructureIdentity:
        path = mapping.path
        if path == "[stack]":
            return StructureIdentity(self._process, f"Stack#{self._main_thread}", "stack")
        if path == "[heap]":
            return StructureIdentity(self._process, "heap", "heap", named=False)
        if path.startswith("["):
            return StructureIdentity(self._process, path, "mapping")
        if not path or path.startswith(("//", "/dev/zero")):
            return StructureIdentity(self._process, "anonymous mapping", "mapping", named=False)
        return StructureIdentity(self._process, module_name(path), "mapping", module=path)

    def _outside(self, address: int) -> _Where:
        name = _OF_THE_KERNEL if address >= _KERNEL else _UNKNOWN
        named = StructureIdentity(self._process, name, "mapping", named=False)
        start = address // _LARGEST_STACK * _LARGEST_STACK
        return _located(named, start, _LARGEST_STACK, address)

    def place(self, pc: int) -> tuple[str, str, int]:
        """Function, file and line; the innermost that is not a library's."""
        if pc >= _KERNEL:
            return "the kernel, in a system call", "", 0
        if pc not in self._places:
            frames = self._symbols.frames(pc)
            own = next((f for f in frames if f.line and not is_library_frame(f)), frames[0])
            self._places[pc] = (own.function, own.file, own.line) if own.module else ("", "", 0)
        return self._places[pc]

    def path(self, sample: Sample) -> int | None:
        """The call path of the sample, if its callers were recorded."""
        if sample.calls is None:
            return None
        key = sample.calls, sample.pc
        if key not in self._known_paths:
            path = NO_CALLER
            for call in reversed(sample.calls):
                path = (
                    self._paths.unknown()
                    if call == UNKNOWN_CALLERS
                    else self._paths.inside(path, self._symbols.frames(call))
                )
            self._known_paths[key] = (
                self._paths.kernel(path)
                if sample.pc >= _KERNEL
                else self._paths.inside(path, self._symbols.frames(sample.pc))
            )
        return self._known_paths[key]


def _located(structure: StructureIdentity, start: int, size: int, address: int) -> _Where:
    page = address // PAGE_BYTES - start // PAGE_BYTES
    if not 0 <= page < _MAX_PAGES:
        start, size, page = address // PAGE_BYTES * PAGE_BYTES, PAGE_BYTES, 0
    return _Where(structure, start, size, page)


_SAMPLE_SCHEMA = pl.Schema(
    {
        "structure": pl.UInt32(),
        "start": pl.UInt64(),
        "size": pl.UInt64(),
        "page": pl.UInt32(),
        "thread": pl.UInt32(),
        "time_ns": pl.UInt64(),
        "reads": pl.UInt64(),
        "writes": pl.UInt64(),
        "function": pl.String(),
        "file": pl.String(),
        "line": pl.UInt32(),
        "source": pl.String(),
        "timed": pl.UInt64(),
        "latency": pl.UInt64(),
        "node": pl.Int32(),
        "fault": pl.Boolean(),
        "path": pl.UInt32(),
    }
)


def convert_samples(recording: Recording) -> tuple[dict[str, pl.DataFrame], TraceInfo]:
    """The tables and the description of the trace; NumascapeError if there are no samples."""
    images = images_of(recording)
    if not images:
        raise NumascapeError("the recording has no sample with an address")
    begin = min(sample.time_ns for image in images for sample, _ in image.samples)
    table, paths = StructureTable(), CallPaths()
    rows: list[tuple[Any, ...]] = []
    threads: list[dict[str, Any]] = []
    nodes = cpu_nodes(recording.machine)
    for process, image in enumerate(images):
        numbers = _number_threads(image, process, begin, nodes, threads)
        names = _Names(image, process, numbers.get(image.pid, min(numbers.values())), paths)
        for sample, mapping in image.samples:
            where = names.where(sample, mapping)
            rows.append(
                (
                    *(table.number(where.structure), where.start, where.size, where.page),
                    *(numbers[sample.tid], sample.time_ns - begin),
                    *((0, 1) if sample.kind == "write" else (1, 0)),
                    *(*names.place(sample.pc), sample.source),
                    *((0, 0) if sample.latency is None else (1, sample.latency)),
                    *(_node(recording, sample), "fault" in sample.event, names.path(sample)),
                )
            )
    samples = pl.DataFrame(rows, schema=_SAMPLE_SCHEMA, orient="row")
    known_threads = pl.DataFrame(threads, schema=SCHEMAS["threads"])
    tables = _tables(samples, table, known_threads, recording.slice_ns)
    if paths:
        tables["call_paths"] = paths.table()
    if recording.counts == "first touches":
        for name in ("accesses", "source_lines", "path_accesses"):
            tables[name] = tables[name].clear()
    return tables, _info(recording, images, tables, samples)


def _number_threads(
    image: Image,
    process: int,
    begin: int,
    nodes: dict[int, int],
    threads: list[dict[str, Any]],
) -> dict[int, int]:
    """Append the image's threads, in order of creation; return their numbers by kernel id."""
    ordered = sorted(image.threads.values(), key=lambda t: (t.tid != image.pid, t.created, t.tid))
    numbers = {}
    for thread in ordered:
        numbers[thread.tid] = len(threads)
        created = max(0, thread.created - begin)
        threads.append(
            {
                "thread": len(threads),
                "process": process,
                "os_tid": thread.tid,
                "name": thread.name,
                "created_ns": created,
                "ended_ns": max(created, thread.ended - begin),
                "cpus": sorted(thread.cpus),
                "nodes": sorted({nodes[cpu] for cpu in thread.cpus if cpu in nodes}),
            }
        )
    return numbers


def _node(recording: Recording, sample: Sample) -> int:
    """The node of the sample's page, or -1 if unknown."""
    if sample.physical is not None:
        for node, spans in recording.blocks.items():
            if any(first <= sample.physical < end for first, end in spans):
                return node
    return -1 if sample.node is None else sample.node


def _tables(
    samples: pl.DataFrame, table: StructureTable, threads: pl.DataFrame, slice_ns: int | None
) -> dict[str, pl.DataFrame]:
    samples = samples.with_columns(
        instance=(pl.col("start").rank("dense").over("structure") - 1).cast(pl.UInt32()),
        phase=slice_of(pl.col("time_ns"), slice_ns),
    )
    phases = sliced_phases(max(threads["ended_ns"].to_list(), default=0), slice_ns)
    samples = phases.renumbered(samples, 0)
    first = samples.filter("fault").sort("time_ns", maintain_order=True)
    first = first.unique(PAGE, keep="first", maintain_order=True)
    counted = pl.col("reads", "writes").sum()
    # A page fault is not a sample of accesses: it only counts if there are no other samples.
    accesses = samples if samples["fault"].all() else samples.filter(~pl.col("fault"))
    tables = {
        "structures": _structures(samples, table),
        "accesses": accesses.group_by(*PAGE, "thread", "phase").agg(counted).sort(*PAGE, "thread"),
        "first_touch": first.with_columns(order=pl.int_range(pl.len(), dtype=pl.UInt64())),
        "threads": threads,
        "placement": samples.filter(pl.col("node") >= 0).group_by(PAGE).agg(pl.col("node").last()),
        "phases": phases.phases,
        "phase_spans": phases.spans,
        "source_lines": accesses.group_by("structure", "phase", "function", "file", "line").agg(
            counted
        ),
        "path_accesses": sum_path_accesses([accesses.filter(pl.col("path").is_not_null())]),
        "instances": samples.group_by("structure", "instance").agg(
            pl.col("start").first().alias("address"), pl.col("size").max()
        ),
        "data_sources": samples.filter((pl.col("source") != "") | (pl.col("timed") > 0))
        .group_by("structure", "thread", "source")
        .agg(counted, pl.col("timed").sum(), pl.col("latency").sum())
        .sort("structure", "thread", "source"),
    }
    ordered = {name: frame.select(SCHEMAS[name].names()) for name, frame in tables.items()}
    if first.height and first["path"].null_count() == 0:
        ordered["first_touch"] = tables["first_touch"].select(
            *SCHEMAS["first_touch"].names(), *OPTIONAL_COLUMNS["first_touch"]
        )
    return ordered


def _structures(samples: pl.DataFrame, table: StructureTable) -> pl.DataFrame:
    extents = samples.group_by("structure").agg(
        pl.col("size").max(),
        seen=pl.col("page").max() + 1,
        instances=pl.col("instance").max() + 1,
        pages=(
            (pl.col("start") % PAGE_BYTES + pl.col("size") + PAGE_BYTES - 1) // PAGE_BYTES
        ).max(),
    )
    extents = extents.sort("structure").with_columns(
        pages=pl.max_horizontal("seen", pl.col("pages").clip(0, _MAX_PAGES)).cast(pl.UInt32())
    )
    described = [dataclasses.asdict(structure) for structure in table.structures]
    frame = pl.DataFrame(described).with_row_index("structure").drop("call_stack")
    return frame.join(extents, on="structure").with_columns(
        # A build of Polars may number rows with 64 bits.
        pl.col("structure", "process", "line", "instances").cast(pl.UInt32()),
        call_stack=pl.lit([], dtype=pl.List(pl.String())),
    )


def _info(
    recording: Recording,
    images: list[Image],
    tables: dict[str, pl.DataFrame],
    samples: pl.DataFrame,
) -> TraceInfo:
    named = samples.join(tables["structures"].filter("named"), on="structure", how="semi").height
    places = samples.select(pl.struct("structure", "start", "page").n_unique()).item()
    program, arguments = _command(recording.command, images[0].program)
    return TraceInfo(
        program=program,
        arguments=arguments,
        recorder=Recorder(
            recording.recorder,
            installed_version(),
            recording.options,
            recording.counts,
            recording.moments,
        ),
        host=recording.host,
        machine=recording.machine,
        page_size=PAGE_BYTES,
        started=recording.captured,
        times=Times(max(samples["time_ns"].to_list()) / 1e9, recording.cpu_s),
        exit_status=None,
        processes=tuple(
            Process(number, image.pid, image.program) for number, image in enumerate(images)
        ),
        totals=Totals(
            int(tables["accesses"]["reads"].sum()),
            int(tables["accesses"]["writes"].sum()),
            places,
            len(tables["threads"]),
        ),
        attributed_share=named / samples.height,
        unseen=tuple(recording.unseen),
    )


def _command(command: list[str], executable: str) -> tuple[str, tuple[str, ...]]:
    """The program, and its arguments in perf's own command line, if it contains the program."""
    for number, word in enumerate(command[1:], 1):
        program = started_as(executable, word)
        if program != executable or module_name(word) == module_name(executable):
            return program, tuple(command[number + 1 :])
    return executable, ()
