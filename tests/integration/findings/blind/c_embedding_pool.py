# SPDX-License-Identifier: Apache-2.0
# Gathers and sums embeddings for a recommendation model, with one task for each of four workers.
# The embedding table is small, and all workers read it at random. It is tiled from a few
# prototypes by the main thread. Each worker makes its own request ids, and gathers batches into
# its own buffer, so that there is little to fix.
# label: table = shared, read-mostly
# action: table = copy or spread | none
# harm: table = divide
# label: ids = partitioned
# action: ids = none
# label: batch = partitioned
# action: batch = none
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

WORKERS = 4
WIDTH = 16
BATCH = 1 << 16
REQUESTS = 1 << 19
ROUNDS = 2


def serve(table, worker, start):
    start.wait()
    ids = np.random.default_rng(worker).integers(0, len(table), size=REQUESTS)
    batch = np.empty((BATCH, WIDTH), dtype=np.float32)
    pooled = np.zeros(WIDTH)
    for _ in range(ROUNDS):
        for first in range(0, REQUESTS, BATCH):
            np.take(table, ids[first : first + BATCH], axis=0, out=batch, mode="clip")
            pooled += batch[::64].sum(axis=0)
    return pooled


def main():
    prototypes = np.random.default_rng(1).random((256, WIDTH), dtype=np.float32)
    table = np.tile(prototypes, (64, 1))
    start = Barrier(WORKERS)
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        results = list(pool.map(lambda worker: serve(table, worker, start), range(WORKERS)))
    print(f"pooled: {np.sum(results) / (WORKERS * ROUNDS * REQUESTS / 64):.5f}")


if __name__ == "__main__":
    main()
