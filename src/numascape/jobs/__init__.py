# SPDX-License-Identifier: Apache-2.0
"""Jobs: the parts of all ranks are summed up one by one, and the sums are merged.

part.py sums up a part, tables.py merges, engines.py runs both on this machine, on Dask or with MPI.
The result does not depend on the engine, and not on the order or the grouping of the merges.
"""
