# SPDX-License-Identifier: Apache-2.0
"""See how a program uses memory on a NUMA machine, and learn why that is slow."""

from importlib.metadata import version

__version__ = version("numascape")
