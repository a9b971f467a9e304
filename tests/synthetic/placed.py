# SPDX-License-Identifier: Apache-2.0
"""Patterns whose pages and threads are on chosen nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from synthetic.pattern import Pattern


class Placed(Pattern):
    """A pattern whose pages lie on given nodes and whose threads were seen on given nodes."""

    node_of_page: npt.NDArray[np.int64] | None = None
    nodes_of_threads: list[list[int]] | None = None

    def tables(self) -> dict[str, pl.DataFrame]:
        tables = super().tables()
        if self.node_of_page is not None:
            pages = tables["placement"]
            nodes = self.node_of_page[pages["page"].to_numpy()]
            tables["placement"] = pages.with_columns(node=pl.Series(nodes, dtype=pl.Int32))
        if self.nodes_of_threads is not None:
            seen = pl.Series("nodes", self.nodes_of_threads, dtype=pl.List(pl.UInt32))
            tables["threads"] = tables["threads"].with_columns(seen)
        return tables
