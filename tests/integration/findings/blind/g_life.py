# SPDX-License-Identifier: Apache-2.0
# The game of life with NumPy on a torus; four threads own bands of rows, with a barrier.
# label: grid = serial first touch
# Why: main draws the first generation alone; each thread then reads and writes its own band.
# action: grid = local
# harm: grid = copy
# label: fresh = partitioned
# Why: allocated untouched; each thread writes its own band first.
# action: fresh = none
# label: count = partitioned
# Why: each thread has its own array of neighbours' counts.
# action: count = none
import os
import threading

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads besides our four

import numpy as np
import numpy.typing as npt

N = 2048
THREADS = 4
GENERATIONS = 16

Grid = npt.NDArray[np.uint8]


def draw() -> Grid:
    grid = np.zeros((N + 2, N + 2), dtype=np.uint8)
    generator = np.random.default_rng(5)
    for row in range(1, N + 1):
        grid[row, 1:-1] = generator.random(N) < 0.3
    return grid


def wrap(grid: Grid, first: int, last: int) -> None:
    grid[first:last, 0] = grid[first:last, -2]
    grid[first:last, -1] = grid[first:last, 1]


def advance(old: Grid, new: Grid, count: Grid, first: int, last: int) -> None:
    count[:] = 0
    for down in (-1, 0, 1):
        for right in (0, 1, 2):
            if (down, right) != (0, 1):
                np.add(count, old[first + down : last + down, right : right + N], out=count)
    mine = old[first:last, 1:-1]
    target = new[first:last, 1:-1]
    # Alive with three neighbours, or with two if it was alive: (count | alive) == 3.
    np.bitwise_or(count, mine, out=count)
    np.equal(count, 3, out=target, casting="unsafe")


def band(index: int, grid: Grid, fresh: Grid, barrier: threading.Barrier) -> None:
    rows = N // THREADS
    first, last = 1 + index * rows, 1 + (index + 1) * rows
    count = np.empty((rows, N), dtype=np.uint8)
    old, new = grid, fresh
    for _ in range(GENERATIONS):
        wrap(old, first, last)
        barrier.wait()
        if index == 0:
            old[0] = old[-2]
            old[-1] = old[1]
        barrier.wait()
        advance(old, new, count, first, last)
        barrier.wait()
        old, new = new, old


def main() -> int:
    grid = draw()
    fresh = np.empty((N + 2, N + 2), dtype=np.uint8)
    barrier = threading.Barrier(THREADS)
    threads = [
        threading.Thread(target=band, args=(index, grid, fresh, barrier))
        for index in range(1, THREADS)
    ]
    for thread in threads:
        thread.start()
    band(0, grid, fresh, barrier)
    for thread in threads:
        thread.join()
    alive = int(grid[1:-1, 1:-1].sum())
    print(f"alive: {alive}")
    return int(not 0 < alive < N * N)


if __name__ == "__main__":
    raise SystemExit(main())
