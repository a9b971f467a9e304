# SPDX-License-Identifier: Apache-2.0
# Four threads go over their own quarter of two arrays of 8 MiB, 16 times. np.zeros leaves the pages
# of `levels` untouched, so each thread touches its own quarter first. np.linspace writes all of
# `weights` in the main thread. The sum at the end is one pass of the main thread.
# label: levels = partitioned
# action: levels = none
# label: weights = serial first touch
# action: weights = local
import os
import threading

import numpy as np

LENGTH = 1 << 20
PASSES = 16
THREADS = int(os.environ.get("THREADS", "4"))

weights = np.linspace(0.0, 1.0, LENGTH)
levels = np.zeros(LENGTH)


def relax(thread: int) -> None:
    begin = LENGTH * thread // THREADS
    end = LENGTH * (thread + 1) // THREADS
    mine, weight = levels[begin:end], weights[begin:end]
    for _ in range(PASSES):
        np.add(mine, weight, out=mine)
        np.multiply(mine, 0.75, out=mine)
        np.maximum(mine, weight, out=mine)


threads = [threading.Thread(target=relax, args=(t,)) for t in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"level {levels.sum():.6f}")
