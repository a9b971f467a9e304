# SPDX-License-Identifier: Apache-2.0
# Main makes the sequence. Each block of it has a new thread in each round.
# label: seq = serial first touch
# action: seq = local
# label: codes = partitioned
# action: codes = none
# harm: codes = spread
# label: partial = partitioned
# action: partial = none
# label: total = partitioned
# action: total = none
"""Count k-mers of a random sequence, one block of the sequence per thread."""

import os
import sys
import threading

import numpy as np

N = 1 << 21


def count(i, n, k, seq, codes, partial):
    last = N - k + 1
    lo, hi = last * i // n, last * (i + 1) // n
    mine = codes[lo:hi]
    mine[:] = seq[lo:hi]
    for j in range(1, k):
        np.left_shift(mine, 2, out=mine)
        np.bitwise_or(mine, seq[lo + j : hi + j], out=mine)
    partial[i] = np.bincount(mine, minlength=4**k)


def main():
    n = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OMP_NUM_THREADS", "4"))
    rng = np.random.default_rng(11)
    seq = rng.integers(0, 4, size=N, dtype=np.uint8)
    codes = np.empty(N, dtype=np.int64)
    for k in (7, 8, 9):
        partial = [None] * n
        ts = [threading.Thread(target=count, args=(i, n, k, seq, codes, partial)) for i in range(n)]
        for t in ts:
            t.start()
        for t in ts:
            t.join()
        total = np.zeros(4**k, dtype=np.int64)
        for p in partial:
            total += p  # type: ignore[arg-type]
        distinct = np.count_nonzero(total)
        print(f"k={k} kmers={total.sum()} most={total.max()} distinct={distinct}")


main()
