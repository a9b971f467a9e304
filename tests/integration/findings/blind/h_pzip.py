# SPDX-License-Identifier: Apache-2.0
# label: run = no NUMA problem
# Why: The input is written once by main and each block of it read once or twice in a row by one
# compute-bound zlib call; placement does not decide anything.
# action: run = none
# Labels of what needs no action, added after the first look:
# label: packed = partitioned
# Why: A worker writes each result; main only sums them up.
# action: packed = none
# harm: data = local | divide
"""Parallel block compressor in the manner of pigz, with plain threads.

zlib releases the GIL while it works, so threads really run side by side.
usage: pzip.py [megabytes] [threads]
"""

import hashlib
import queue
import sys
import threading
import zlib

BLOCK = 128 * 1024


def make_input(megabytes: float) -> bytes:
    """A log file in memory: repeated lines with a changing part."""
    lines = []
    size = 0
    i = 0
    want = int(megabytes * 1024 * 1024)
    seed = hashlib.sha256(b"pzip").hexdigest()
    while size < want:
        block = "".join(
            f"2024-03-{1 + (i + k) % 28:02} host{(i + k) % 16:02} "
            f"GET /item/{(i + k) * 7919 % 100003}"
            f"?sid={seed[k * 3 % 40 : k * 3 % 40 + 12]} 200 {(i * 31 + k * 17) % 5000}\n"
            for k in range(64)
        )
        data = block.encode() * 8
        lines.append(data)
        size += len(data)
        i += 64
    return b"".join(lines)[:want]


class Compressor:
    def __init__(self, data: bytes, nthreads: int, level: int = 1) -> None:
        self.view = memoryview(data)
        self.level = level
        self.jobs: queue.Queue[int | None] = queue.Queue()
        self.results: dict[int, tuple[int, int, bytes]] = {}
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.worker, args=(t,)) for t in range(nthreads)]
        self.done_by = [0] * nthreads

    def worker(self, t: int) -> None:
        while True:
            job = self.jobs.get()
            if job is None:
                return
            start = job * BLOCK
            chunk = self.view[start : start + BLOCK]
            packed = zlib.compress(chunk, self.level)
            crc = zlib.crc32(chunk)
            with self.lock:
                self.results[job] = (crc, len(chunk), packed)
            self.done_by[t] += 1

    def run(self) -> list[tuple[int, int, bytes]]:
        nblocks = (len(self.view) + BLOCK - 1) // BLOCK
        for th in self.threads:
            th.start()
        for b in range(nblocks):
            self.jobs.put(b)
        for _ in self.threads:
            self.jobs.put(None)
        for th in self.threads:
            th.join()
        return [self.results[b] for b in range(nblocks)]


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 6
    nthreads = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    data = make_input(megabytes)
    comp = Compressor(data, nthreads)
    blocks = comp.run()
    packed = sum(len(p) for _, _, p in blocks)
    check = 0
    for crc, _, p in blocks:
        check = zlib.crc32(p, check ^ crc)
    # one block is unpacked again as a self test
    assert zlib.crc32(zlib.decompress(blocks[0][2])) == blocks[0][0]
    print(f"input {len(data)} packed {packed} blocks {len(blocks)} checksum {check:08x}")


if __name__ == "__main__":
    main()
