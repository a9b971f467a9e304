# SPDX-License-Identifier: Apache-2.0
"""Estimates how much of a run was spent in code that the compiled recorder does not count."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from pathlib import Path

import polars as pl

from numascape._native import shard as native
from numascape.compiler.elf_notes import is_compiled_for_counting
from numascape.conversion.shards import Shard
from numascape.quantities import share_text
from numascape.trace.counting import FEWEST_SAMPLES, share_error

# The file of CPU clock samples, in the folder of the session's shards.
CLOCK = "clock"
_ELSEWHERE = "code without a file"
_NAMED = 5
_KERNEL = 1 << 47
_WORTH_NAMING = 0.001
# The recorder's own library.
_RUNTIME = "libnumascape_runtime.so"


def samples_by_module(shards: list[Shard]) -> Counter[str]:
    """Count the CPU clock samples in each module, by its path; empty if there are none."""
    found: Counter[str] = Counter()
    for shard in shards:
        clock = shard.path.with_name(CLOCK)
        if not clock.exists():
            continue
        try:
            events = native.read_events(str(clock), shard.header["pid"])["events"]
        except native.ShardError:
            continue  # incomplete, because the disk was full
        pcs = pl.DataFrame(events)["pc"]
        modules = sorted(shard.modules, key=lambda module: module.start)
        starts = [module.start for module in modules]
        for pc in pcs.filter(pcs < _KERNEL).to_list() if modules else ():
            module = modules[max(0, bisect_right(starts, pc) - 1)]
            found[module.path if module.start <= pc < module.end else _ELSEWHERE] += 1
    return found


def describe_uncounted(shards: list[Shard]) -> str:
    """Return the sentence that says which libraries are not counted, and their share of the run."""
    start = (
        "Accesses are not counted in code that was not compiled with numascape-cc, "
        "numascape-c++ or numascape-fc, such as system libraries"
    )
    samples = samples_by_module(shards)
    samples = Counter({path: n for path, n in samples.items() if not path.endswith(_RUNTIME)})
    total = samples.total()
    if total < FEWEST_SAMPLES:
        return f"{start}."
    uncounted = {path: n for path, n in samples.items() if not is_compiled_for_counting(Path(path))}
    share = sum(uncounted.values()) / total
    most = sorted(uncounted.items(), key=lambda item: -item[1])[:_NAMED]
    named = ", ".join(
        f"{Path(path).name} {share_text(n / total)}"
        for path, n in most
        if n / total >= _WORTH_NAMING
    )
    listed = f" ({named})" if named else ""
    return (
        f"{start}. This code took about {share_text(share)} of the CPU time outside the "
        f"kernel{listed}, estimated from {total} samples (± {share_text(share_error(total))})."
    )
