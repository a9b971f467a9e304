# SPDX-License-Identifier: Apache-2.0
# Each thread fills and uses records of its own. Nothing is wrong.
# label: run = no NUMA problem
# action: run = none
# minor: shard = partitioned
# called: shard = data
# action: shard = none
# harm: shard = spread
# minor: norms = partitioned | cache-resident
# action: norms = none
# minor: label = partitioned | cache-resident
# action: label = none
# minor: dist = partitioned | cache-resident
# action: dist = none
# minor: model.centroids = cache-resident | shared, read-mostly | shared, written
# action: model.centroids = none
# minor: model.sums = cache-resident | shared, read-mostly | shared, written
# action: model.sums = none
# minor: model.sizes = cache-resident | shared, read-mostly | shared, written
# action: model.sizes = none
"""K-means over sensor records.  Every worker thread loads its own shard
and keeps it for the whole run; only the small centroid table is shared."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import threading
import time

import numpy as np

RECORDS = 240_000
DIM = 16
CLUSTERS = 12
ROUNDS = 14
BLOCK = 6000  # records per distance block


def load_shard(index, count):
    """Stand-in for reading one partition of the record store."""
    rng = np.random.default_rng(100 + index)
    data = rng.standard_normal((count, DIM), dtype=np.float32)
    data *= 0.6
    kind = rng.integers(0, CLUSTERS, count)
    data[:, 0] += 3 * np.cos(kind * 0.5236)
    data[:, 1] += 3 * np.sin(kind * 0.5236)
    return data


class Worker(threading.Thread):
    def __init__(self, index, count, model):
        super().__init__()
        self.index = index
        self.count = count
        self.model = model

    def run(self):
        shard = load_shard(self.index, self.count)
        norms = np.einsum("ij,ij->i", shard, shard)
        label = np.full(self.count, -1, dtype=np.int32)
        dist = np.empty((BLOCK, CLUSTERS), dtype=np.float32)
        for _ in range(ROUNDS):
            self.model.ready.wait()
            centroids = self.model.centroids.copy()
            sums = np.zeros((CLUSTERS, DIM))
            sizes = np.zeros(CLUSTERS, dtype=np.int64)
            inertia = 0.0
            for b in range(0, self.count, BLOCK):
                x = shard[b : b + BLOCK]
                d = dist[: len(x)]
                np.dot(x, centroids.T, out=d)
                d *= -2
                d += (centroids * centroids).sum(axis=1)
                near = d.argmin(axis=1)
                label[b : b + BLOCK] = near
                sizes += np.bincount(near, minlength=CLUSTERS)
                for j in range(DIM):
                    sums[:, j] += np.bincount(near, weights=x[:, j], minlength=CLUSTERS)
                inertia += float((d.min(axis=1) + norms[b : b + BLOCK]).sum(dtype=np.float64))
            self.model.submit(sums, sizes, inertia)
            self.model.done.wait()


class Model:
    def __init__(self, threads):
        rng = np.random.default_rng(5)
        self.centroids = rng.standard_normal((CLUSTERS, DIM)).astype(np.float32)
        self.ready = threading.Barrier(threads + 1)
        self.done = threading.Barrier(threads + 1)
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.sums = np.zeros((CLUSTERS, DIM))
        self.sizes = np.zeros(CLUSTERS, dtype=np.int64)
        self.inertia = 0.0

    def submit(self, sums, sizes, inertia):
        with self.lock:
            self.sums += sums
            self.sizes += sizes
            self.inertia += inertia

    def update(self):
        used = self.sizes > 0
        self.centroids[used] = self.sums[used] / self.sizes[used, None]


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    model = Model(threads)
    bounds = [RECORDS * t // threads for t in range(threads + 1)]
    workers = [Worker(t, bounds[t + 1] - bounds[t], model) for t in range(threads)]
    for w in workers:
        w.start()
    t0 = time.perf_counter()
    for _ in range(ROUNDS):
        model.reset()
        model.ready.wait()
        model.done.wait()
        model.update()
    t1 = time.perf_counter()
    for w in workers:
        w.join()
    print(
        f"kmeans: {t1 - t0:.3f} s, inertia {model.inertia:.1f}, "
        f"checksum {np.abs(model.centroids).sum():.4f}"
    )


if __name__ == "__main__":
    main()
