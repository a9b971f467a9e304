# SPDX-License-Identifier: Apache-2.0
"""Which source lines use which structure; see src/native/source-lines/line_counts.h."""

import polars as pl

from numascape._native import Table

class StructureSamples:
    """Samples of structures, which are counted once."""

def structure_samples(
    samples: pl.DataFrame,
    samples_of_owners: pl.DataFrame,
    shared_samples: pl.DataFrame,
    shares: pl.DataFrame,
    structures: pl.DataFrame,
) -> StructureSamples:
    """Samples of structures.

    `samples`: site, phase, structure, weight, whole. `samples_of_owners`: site, phase, owner,
    weight, whole. `shared_samples`: site, phase, group, weight. `shares`: group, owner, share.
    `structures`: structure of each owner, or 2^32 - 1 if it has none, and its samples do not count.
    """

def count_lines(
    accesses: pl.DataFrame, samples: StructureSamples, totals: pl.DataFrame, nowhere: int
) -> Table:
    """The accesses of source lines to structures, in order of structure, phase and place.

    `accesses`: site, phase, place, reads, writes, executions. `totals`: structure, phase, reads,
    writes.

    The result: structure, phase, place, reads, writes, estimated.
    """
