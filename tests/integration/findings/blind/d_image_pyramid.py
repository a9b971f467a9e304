# SPDX-License-Identifier: Apache-2.0
# Image pyramids with a strip of the picture per thread. Each thread allocates its strip and the two
# smaller levels, fills them, and works on them in several rounds; the ufuncs let go of the
# interpreter lock. The threads only share a list for their results.
# label: run = no NUMA problem
# label: strip = partitioned
# action: strip = none
# label: half = partitioned
# action: half = none
# label: quarter = partitioned
# action: quarter = none
import sys
import threading

import numpy as np

SIDE = 1024
ROUNDS = 10


def shrink(source, target):
    """Averages 2 x 2 pixels, without arrays in between."""
    np.add(source[::2, ::2], source[1::2, ::2], out=target)
    np.add(target, source[::2, 1::2], out=target)
    np.add(target, source[1::2, 1::2], out=target)
    np.multiply(target, np.float32(0.25), out=target)


def work(number, brightest):
    strip = np.empty((SIDE, SIDE), dtype=np.float32)
    half = np.empty((SIDE // 2, SIDE // 2), dtype=np.float32)
    quarter = np.empty((SIDE // 4, SIDE // 4), dtype=np.float32)
    np.random.default_rng(number).random(dtype=np.float32, out=strip)
    for _ in range(ROUNDS):
        shrink(strip, half)
        shrink(half, quarter)
        # Sharpen: what the level below lost is made stronger.
        for y in range(2):
            for x in range(2):
                part = strip[y::2, x::2]
                np.subtract(part, half, out=part)
                np.multiply(part, np.float32(1.05), out=part)
                np.add(part, half, out=part)
        np.maximum(quarter, np.float32(0.1), out=quarter)
    brightest[number] = float(quarter.max())


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    brightest = [0.0] * count
    threads = [threading.Thread(target=work, args=(number, brightest)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"brightest {max(brightest):.4f}")


main()
