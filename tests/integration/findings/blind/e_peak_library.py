# SPDX-License-Identifier: Apache-2.0
"""Identification of chemicals: each measured spectrum is compared with a library of known ones.

Main loads the library. Each thread has its own measurements, and compares each of them with the
whole library, block by block. Differences are in a small array of the thread, which stays in the
cache. So all threads read all pages of the library, and nobody writes them.
"""
# label: library = shared, read-mostly
# action: library = copy or spread
# harm: library = local
# label: difference = cache-resident
# label: distances = partitioned

import sys
import threading

import numpy as np
import numpy.typing as npt

KNOWN = 8192
PEAKS = 256
BLOCK = 64
MEASURED = 24


def load_library() -> npt.NDArray[np.float32]:
    """The spectra of all known chemicals, as if from a file."""
    library = np.empty((KNOWN, PEAKS), dtype=np.float32)
    peaks = np.arange(PEAKS, dtype=np.float32)
    for chemical in range(KNOWN):
        np.add(peaks, chemical % 97, out=library[chemical])
        library[chemical] %= 13.0 + chemical % 5
    return library


def identify(library: npt.NDArray[np.float32], first: int, last: int, best: list[int]) -> None:
    """Find the chemicals that are nearest to the measurements from `first` to before `last`."""
    difference = np.empty((BLOCK, PEAKS), dtype=np.float32)
    distances = np.empty(KNOWN, dtype=np.float32)
    for measured in range(first, last):
        spectrum = (np.arange(PEAKS, dtype=np.float32) * 1.01 + measured * 3) % 14.0
        spectrum = spectrum.astype(np.float32)
        for start in range(0, KNOWN, BLOCK):
            np.subtract(library[start : start + BLOCK], spectrum, out=difference)
            np.abs(difference, out=difference)
            np.sum(difference, axis=1, out=distances[start : start + BLOCK])
        best[measured] = int(distances.argmin())


def main() -> None:
    """Identify the measurements with the number of threads that the first argument gives."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    library = load_library()
    best = [0] * MEASURED
    workers = []
    for t in range(threads):
        part = (MEASURED * t // threads, MEASURED * (t + 1) // threads)
        workers.append(threading.Thread(target=identify, args=(library, *part, best)))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"sum of the best {sum(best)}")


if __name__ == "__main__":
    main()
