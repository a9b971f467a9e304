# SPDX-License-Identifier: Apache-2.0
# Main fills the matrix by rows, the threads work on columns of it, and then on rows of the result.
# label: x = page-level false sharing
# action: x = spread | divide | pad
# harm: x = local
# label: z = pages change users
# action: z = divide | spread
# harm: z = copy
# label: scores = partitioned
# action: scores = none
"""Standardise the columns of a feature matrix, then project the rows on a few directions.

usage: colnorm.py [rows] [threads]
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

FEATURES = 64
DIRECTIONS = 3


def load_matrix(rows):
    """Stands for reading a file: rows come one block after the other."""
    rng = np.random.default_rng(7)
    x = np.empty((rows, FEATURES))
    block = 4096
    for lo in range(0, rows, block):
        hi = min(rows, lo + block)
        x[lo:hi] = rng.random((hi - lo, FEATURES))
        x[lo:hi] += np.arange(FEATURES) * 0.01
    return x


def standardise(x, z, mean, std, lo, hi):
    """columns lo..hi"""
    part = x[:, lo:hi]
    mean[lo:hi] = part.mean(axis=0)
    np.subtract(part, mean[lo:hi], out=z[:, lo:hi])
    std[lo:hi] = np.sqrt(np.mean(np.square(z[:, lo:hi]), axis=0))
    z[:, lo:hi] /= std[lo:hi]


def project(z, directions, scores, lo, hi):
    """rows lo..hi"""
    rows = z[lo:hi]
    for k, d in enumerate(directions):
        scores[lo:hi, k] = (rows * d).sum(axis=1)


def ranges(n, parts):
    return [(n * t // parts, n * (t + 1) // parts) for t in range(parts)]


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
    nthreads = int(sys.argv[2]) if len(sys.argv) > 2 else 4

    x = load_matrix(rows)
    z = np.empty_like(x)
    mean = np.zeros(FEATURES)
    std = np.zeros(FEATURES)
    scores = np.zeros((rows, DIRECTIONS))
    directions = [np.cos(np.arange(FEATURES) * (k + 1) * 0.1) for k in range(DIRECTIONS)]

    with ThreadPoolExecutor(nthreads) as pool:
        jobs = [
            pool.submit(standardise, x, z, mean, std, lo, hi)
            for lo, hi in ranges(FEATURES, nthreads)
        ]
        for j in jobs:
            j.result()
        jobs = [
            pool.submit(project, z, directions, scores, lo, hi) for lo, hi in ranges(rows, nthreads)
        ]
        for j in jobs:
            j.result()

    print(f"checksum {np.abs(scores).sum():.6e} mean {mean.mean():.6f} std {std.mean():.6f}")


if __name__ == "__main__":
    main()
