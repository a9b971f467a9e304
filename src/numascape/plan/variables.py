# SPDX-License-Identifier: Apache-2.0
"""The variables of the environment that a plan may set."""

from __future__ import annotations

from typing import Final

# A plan is not trusted, and some variables make programs load libraries (LD_PRELOAD,
# OMP_TOOL_LIBRARIES), so this is a list of names and not a pattern.
VARIABLES: Final = frozenset(
    (
        "OMP_NUM_THREADS",
        "OMP_THREAD_LIMIT",
        "OMP_DYNAMIC",
        "OMP_NESTED",
        "OMP_MAX_ACTIVE_LEVELS",
        "OMP_PROC_BIND",
        "OMP_PLACES",
        "OMP_SCHEDULE",
        "OMP_STACKSIZE",
        "OMP_WAIT_POLICY",
        "OMP_NUM_TEAMS",
        "OMP_TEAMS_THREAD_LIMIT",
        "GOMP_CPU_AFFINITY",
        "GOMP_SPINCOUNT",
        "GOMP_STACKSIZE",
        "KMP_AFFINITY",
        "KMP_BLOCKTIME",
        "KMP_HW_SUBSET",
        "KMP_LIBRARY",
        "KMP_STACKSIZE",
        "MALLOC_ARENA_MAX",
        "MALLOC_MMAP_MAX_",
        "MALLOC_MMAP_THRESHOLD_",
        "MALLOC_TOP_PAD_",
        "MALLOC_TRIM_THRESHOLD_",
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "RAYON_NUM_THREADS",
    )
)
