# SPDX-License-Identifier: Apache-2.0
"""Task graphs from files of several programs. The files are not trusted: everything is checked."""

from numascape.balance.formats.lbaf_mapping import write_lbaf_mapping
from numascape.balance.formats.reading import FORMATS, format_of, read_graph
from numascape.balance.formats.writing import check_mapping_name, write_graph, write_mapping

__all__ = [
    "FORMATS",
    "check_mapping_name",
    "format_of",
    "read_graph",
    "write_graph",
    "write_lbaf_mapping",
    "write_mapping",
]
