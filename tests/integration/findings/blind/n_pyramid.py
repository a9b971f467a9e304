# SPDX-License-Identifier: Apache-2.0
# Main makes the base and the scratch arrays. Each worker has fixed strips of rows.
# label: base = serial first touch
# action: base = local
# label: levels = partitioned
# action: levels = none
# harm: levels = spread
# label: scratch = serial first touch
# action: scratch = local
# harm: scratch = spread
"""Image pyramid over a few frames, strips of rows per worker."""

import os
import sys
import threading

import numpy as np

N = 2048
FRAMES = 8
DEPTH = 4


def strip(rows, i, n):
    return rows * i // n, rows * (i + 1) // n


def worker(i, n, base, levels, scratch, barrier):
    lo, hi = strip(N, i, n)
    mine = base[lo:hi]
    for frame in range(FRAMES):
        np.multiply(mine, 0.97, out=mine)
        np.add(mine, 0.01 * frame, out=mine)
        barrier.wait()
        for d in range(1, DEPTH + 1):
            src, dst = levels[d - 1], levels[d]
            lo, hi = strip(dst.shape[0], i, n)
            a, b = (
                s[: (hi - lo) * dst.shape[1]].reshape(hi - lo, dst.shape[1]) for s in scratch[i]
            )
            top, bot = src[2 * lo : 2 * hi : 2], src[2 * lo + 1 : 2 * hi : 2]
            np.add(top[:, 0::2], top[:, 1::2], out=a)
            np.add(bot[:, 0::2], bot[:, 1::2], out=b)
            np.add(a, b, out=a)
            np.multiply(a, 0.25, out=dst[lo:hi])
            barrier.wait()


def main():
    n = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OMP_NUM_THREADS", "4"))
    rng = np.random.default_rng(5)
    base = rng.random((N, N), dtype=np.float32)
    levels = [base]
    for d in range(1, DEPTH + 1):
        levels.append(np.empty((N >> d, N >> d), dtype=np.float32))  # noqa: PERF401
    size = (N // 2 // n + 1) * (N // 2)
    scratch = [(np.ones(size, dtype=np.float32), np.ones(size, dtype=np.float32)) for _ in range(n)]
    barrier = threading.Barrier(n)
    ts = [
        threading.Thread(target=worker, args=(i, n, base, levels, scratch, barrier))
        for i in range(n)
    ]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    top = levels[-1]
    print(f"top mean {top.mean():.6f} sum {top.sum(dtype=np.float64):.4f}")


main()
