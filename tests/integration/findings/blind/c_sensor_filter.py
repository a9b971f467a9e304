# SPDX-License-Identifier: Apache-2.0
# Removes drift from the samples of a sensor in place, with four threads. The main thread draws the
# samples from one random generator, and only allocates the work array. Each thread filters its own
# contiguous slice of both arrays in 16 rounds. NumPy works without the interpreter lock.
# label: samples = serial first touch
# action: samples = local | spread
# label: work = partitioned
# action: work = none
# harm: work = spread
import threading

import numpy as np

THREADS = 4
SAMPLES = 1 << 21
ROUNDS = 16


def filter_slice(samples, work, first, last):
    part = samples[first:last]
    scratch = work[first:last]
    for round_number in range(ROUNDS):
        np.multiply(part, 0.01 * (round_number + 1), out=scratch)
        np.subtract(part, scratch, out=part)


def main():
    generator = np.random.default_rng(7)
    samples = generator.random(SAMPLES)
    work = np.empty(SAMPLES)
    size = SAMPLES // THREADS
    threads = [
        threading.Thread(target=filter_slice, args=(samples, work, t * size, (t + 1) * size))
        for t in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"mean of the sample: {samples[:: SAMPLES // 256].mean():.6f}")


if __name__ == "__main__":
    main()
