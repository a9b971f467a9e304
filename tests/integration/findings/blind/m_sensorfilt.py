# SPDX-License-Identifier: Apache-2.0
# Every worker allocates, fills, uses and frees its own arrays.
# label: run = no NUMA problem
# action: run = none
# label: sig = partitioned
# label: t = partitioned
# label: smooth = partitioned
# label: env = partitioned
# harm: sig = spread | local
# harm: t = spread | local
# harm: smooth = spread | local
# harm: env = spread | local
"""Clean and summarise many channels of a (synthetic) vibration recording.

usage: sensorfilt.py [samples per channel] [threads]

Every worker makes, filters and summarises its own channels, and hands back
only the small summary.
"""

import sys
import threading

import numpy as np

CHANNELS = 16


class Worker(threading.Thread):
    def __init__(self, channels, samples):
        super().__init__()
        self.channels = channels
        self.samples = samples
        self.summary = {}

    def run(self):
        for ch in self.channels:
            self.summary[ch] = self.process(ch)

    def process(self, ch):
        rng = np.random.default_rng(1000 + ch)
        n = self.samples
        sig = rng.standard_normal(n)
        t = np.arange(n, dtype=np.float64)
        t *= 2.0 * np.pi * (5 + ch) / 4096.0
        sig += 3.0 * np.sin(t)

        # take out the mean, clip outliers, 5-point smoothing
        sig -= sig.mean()
        sd = sig.std()
        np.clip(sig, -4 * sd, 4 * sd, out=sig)
        smooth = sig[:-4] + sig[4:]
        smooth += 2.0 * (sig[1:-3] + sig[3:-1])
        smooth += 3.0 * sig[2:-2]
        smooth /= 9.0

        env = np.abs(smooth)
        rms = float(np.sqrt(np.mean(smooth * smooth)))
        crest = float(env.max() / rms)
        crossings = int(np.count_nonzero(np.signbit(smooth[1:]) != np.signbit(smooth[:-1])))
        return rms, crest, crossings


def main():
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 150_000
    nthreads = int(sys.argv[2]) if len(sys.argv) > 2 else 4

    bounds = [CHANNELS * t // nthreads for t in range(nthreads + 1)]
    workers = [Worker(range(bounds[t], bounds[t + 1]), samples) for t in range(nthreads)]
    for w in workers:
        w.start()
    merged = {}
    for w in workers:
        w.join()
        merged.update(w.summary)

    total = 0.0
    crossings = 0
    worst = 0.0
    for ch in sorted(merged):
        rms, crest, zc = merged[ch]
        total += rms
        crossings += zc
        worst = max(worst, crest)
    print(f"checksum {total:.6f} crossings {crossings} crest {worst:.4f}")


if __name__ == "__main__":
    main()
