# SPDX-License-Identifier: Apache-2.0
# Estimates pi in 24 batches, which an executor with four threads takes as they become free. A batch
# draws its own two arrays of 2 MiB, in the thread that uses them, and returns one number: dealt out
# by time, but each array has one user, which touched it first. Nothing is to be fixed.
# label: x = partitioned
# action: x = none
# label: y = partitioned
# action: y = none
# label: run = no NUMA problem
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

POINTS = 1 << 18
BATCHES = 24


def points_outside(batch: int) -> float:
    generator = np.random.default_rng(batch)
    x = generator.random(POINTS)
    y = generator.random(POINTS)
    np.multiply(x, x, out=x)
    np.multiply(y, y, out=y)
    np.add(x, y, out=x)
    np.floor(x, out=x)
    return float(x.sum())


with ThreadPoolExecutor(int(os.environ.get("THREADS", "4"))) as executor:
    outside = sum(executor.map(points_outside, range(BATCHES)))
print(f"pi {4 * (1 - outside / (BATCHES * POINTS)):.6f}")
