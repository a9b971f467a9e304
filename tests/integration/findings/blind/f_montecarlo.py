# SPDX-License-Identifier: Apache-2.0
# Monte Carlo prices of Asian options with NumPy: four threads simulate their own blocks of paths.
# threading (main is thread 0); all arrays have a row per thread, which this thread sets and uses.
# label: spots = partitioned
# Why: each thread sets and updates only its own row, which has 1 MiB.
# label: totals = partitioned
# Why: each thread sets and updates only its own row.
# label: shocks = partitioned
# Why: each thread fills its own row with random numbers and reads it.
# label: run = no NUMA problem
# Why: every thread works on memory that it touched first, and all have the same number of paths
# and steps.
import os
import threading

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads besides our four

import numpy as np

THREADS = 4
PATHS = 131072
STEPS = 16
VOLATILITY = 0.2
RATE = 0.03


def simulate(index: int, spots: np.ndarray, totals: np.ndarray, shocks: np.ndarray) -> None:  # type: ignore[type-arg]
    spot, total, shock = spots[index], totals[index], shocks[index]
    generator = np.random.Generator(np.random.PCG64(1000 + index))
    spot[:] = 100.0
    total[:] = 0.0
    interval = 1.0 / STEPS
    drift = (RATE - 0.5 * VOLATILITY**2) * interval
    for _ in range(STEPS):
        generator.standard_normal(out=shock)
        np.multiply(shock, VOLATILITY * np.sqrt(interval), out=shock)
        np.add(shock, drift, out=shock)
        np.exp(shock, out=shock)
        np.multiply(spot, shock, out=spot)
        np.add(total, spot, out=total)
    # The pay-off of a call on the mean.
    np.multiply(total, 1.0 / STEPS, out=total)
    np.subtract(total, 100.0, out=total)
    np.maximum(total, 0.0, out=total)


def main() -> int:
    spots = np.empty((THREADS, PATHS))
    totals = np.empty((THREADS, PATHS))
    shocks = np.empty((THREADS, PATHS))
    threads = [
        threading.Thread(target=simulate, args=(index, spots, totals, shocks))
        for index in range(1, THREADS)
    ]
    for thread in threads:
        thread.start()
    simulate(0, spots, totals, shocks)
    for thread in threads:
        thread.join()
    price = float(np.exp(-RATE) * np.mean([np.mean(row) for row in totals]))
    print(f"price {price:.4f}")
    # The exact price with a continuous mean is 5.29; with 16 dates it is a little higher.
    return int(not 5.2 < price < 5.8)


if __name__ == "__main__":
    raise SystemExit(main())
