# SPDX-License-Identifier: Apache-2.0
# Heat diffusion on a square with NumPy, in four slabs of rows, with two grids in turn.
# threading (main is thread 0) with a barrier; every ufunc writes into a given array.
# label: u = serial first touch
# Why: main sets the start temperatures alone, and then each thread uses only its own slab.
# action: u = local
# harm: u = copy
# label: v = partitioned
# Why: it is allocated untouched, and the slabs' own threads write it first.
# label: lap = partitioned
# Why: each thread makes its own array for the Laplacian, and nobody else uses it.
import os
import threading

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads besides our four

import numpy as np

N = 1024
THREADS = 4
STEPS = 30
RATE = 0.2


def start() -> np.ndarray:  # type: ignore[type-arg]
    u = np.empty((N, N))
    axis = np.arange(N)
    for row in range(N):
        np.sin(np.pi * axis / (N - 1), out=u[row])
        u[row] *= np.sin(np.pi * row / (N - 1))
    return u


def advance(old: np.ndarray, new: np.ndarray, lap: np.ndarray, first: int, last: int) -> None:  # type: ignore[type-arg]
    inner = old[first:last, 1:-1]
    np.add(old[first - 1 : last - 1, 1:-1], old[first + 1 : last + 1, 1:-1], out=lap)
    np.add(lap, old[first:last, :-2], out=lap)
    np.add(lap, old[first:last, 2:], out=lap)
    np.multiply(lap, RATE, out=lap)
    target = new[first:last, 1:-1]
    np.multiply(inner, 1 - 4 * RATE, out=target)
    np.add(target, lap, out=target)


def slab(index: int, u: np.ndarray, v: np.ndarray, barrier: threading.Barrier) -> None:  # type: ignore[type-arg]
    rows = N // THREADS
    begin, end = index * rows, (index + 1) * rows
    first, last = max(begin, 1), min(end, N - 1)
    lap = np.empty((last - first, N - 2))
    # The borders keep their temperature in both grids.
    v[begin:end, 0] = u[begin:end, 0]
    v[begin:end, -1] = u[begin:end, -1]
    if index == 0:
        v[0] = u[0]
    if index == THREADS - 1:
        v[-1] = u[-1]
    barrier.wait()
    old, new = u, v
    for _ in range(STEPS):
        advance(old, new, lap, first, last)
        barrier.wait()
        old, new = new, old


def main() -> int:
    u = start()
    v = np.empty((N, N))
    barrier = threading.Barrier(THREADS)
    threads = [
        threading.Thread(target=slab, args=(index, u, v, barrier)) for index in range(1, THREADS)
    ]
    for thread in threads:
        thread.start()
    slab(0, u, v, barrier)
    for thread in threads:
        thread.join()
    # The start is an eigenvector of the scheme; an even number of steps ends in u.
    factor = 1 - 4 * RATE * (1 - np.cos(np.pi / (N - 1)))
    middle = np.sin(np.pi * 500 / (N - 1)) * np.sin(np.pi * 300 / (N - 1))
    wanted = factor**STEPS * middle
    print(f"found {u[500, 300]:.12f}, wanted {wanted:.12f}")
    return int(abs(u[500, 300] - wanted) > 1e-9)


if __name__ == "__main__":
    raise SystemExit(main())
