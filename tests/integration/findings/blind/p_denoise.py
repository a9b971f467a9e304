# SPDX-License-Identifier: Apache-2.0
# Main fills an image. Strips of it go to any free thread in each pass.
# label: image = serial first touch | pages change users
# action: image = divide | spread
# harm: image = local
# label: work = pages change users | page-level false sharing | shared, written
# action: work = divide | spread | pad
# minor: result = page-level false sharing | shared, written | pages change users
# called: result = out
# action: result = pad | divide
# minor: change = partitioned | cache-resident
# action: change = none
# harm: change = spread
# minor: vert = partitioned | cache-resident
# action: vert = none
# harm: vert = spread
# minor: horiz = partitioned | cache-resident
# action: horiz = none
# harm: horiz = spread
# minor: csum = partitioned | cache-resident
# action: csum = none
# minor: mean = partitioned | cache-resident
# action: mean = none
# minor: centre = partitioned | cache-resident
# action: centre = none
# minor: clean = partitioned
# action: clean = none
"""Anisotropic diffusion of a noisy micrograph followed by local contrast
normalisation, in a thread pool (NumPy releases the GIL)."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

HEIGHT, WIDTH = 1280, 1536
STRIP = 40  # rows per task in the diffusion
BAND = 96  # columns per task in the normalisation
ITERATIONS = 16
KAPPA = 0.15


def make_image():
    rng = np.random.default_rng(11)
    y = np.linspace(0, 9, HEIGHT, dtype=np.float32)[:, None]
    x = np.linspace(0, 12, WIDTH, dtype=np.float32)[None, :]
    clean = 0.5 + 0.3 * np.sin(x * y) + 0.2 * (np.cos(3 * x) > 0)
    image = rng.standard_normal((HEIGHT, WIDTH), dtype=np.float32)
    image *= 0.08
    image += clean
    return image


def flux(d):
    g = d / KAPPA
    g *= g
    g += 1
    return d / g


def diffuse_strip(src, dst, r0):
    r1 = min(r0 + STRIP, HEIGHT)
    lo, hi = max(r0 - 1, 0), min(r1 + 1, HEIGHT)
    block = src[lo:hi]
    change = np.zeros((r1 - r0, WIDTH), dtype=np.float32)

    vert = flux(np.diff(block, axis=0))
    if lo < r0:
        change -= vert[: r1 - r0]
        below = vert[1:]
    else:
        change[1:] -= vert[: r1 - r0 - 1]
        below = vert
    change[: below.shape[0]] += below[: r1 - r0]

    horiz = flux(np.diff(src[r0:r1], axis=1))
    change[:, :-1] += horiz
    change[:, 1:] -= horiz
    change *= 0.2
    np.add(src[r0:r1], change, out=dst[r0:r1])


def normalise_band(img, out, c0):
    """Centre and scale each column by its running mean and spread."""
    c1 = min(c0 + BAND, WIDTH)
    part = img[:, c0:c1]
    half = 24
    csum = np.cumsum(part, axis=0, dtype=np.float64)
    mean = (csum[2 * half :] - csum[: -2 * half]) / (2 * half)
    centre = part[half:-half] - mean
    spread = np.sqrt(np.mean(centre * centre, axis=0)) + 1e-3
    out[half:-half, c0:c1] = centre / spread
    out[:half, c0:c1] = 0
    out[-half:, c0:c1] = 0


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    image = make_image()
    work = np.empty_like(image)
    result = np.empty_like(image)

    t0 = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        src, dst = image, work
        for _ in range(ITERATIONS):
            list(pool.map(lambda r: diffuse_strip(src, dst, r), range(0, HEIGHT, STRIP)))  # noqa: B023
            src, dst = dst, src
        list(pool.map(lambda c: normalise_band(src, result, c), range(0, WIDTH, BAND)))
    t1 = time.perf_counter()
    print(f"denoise: {t1 - t0:.3f} s, checksum {float(np.abs(result).sum(dtype=np.float64)):.4f}")


if __name__ == "__main__":
    main()
