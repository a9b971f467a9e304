# SPDX-License-Identifier: Apache-2.0
"""Cleaning of seismograms, one row per station: the mean is removed, and the trace is smoothed.

Main reads all traces into one array. Each thread then works on its own block of rows, in several
rounds; NumPy releases the lock of the interpreter in these loops. The scratch row of a thread is
its own. All pages of the traces are on the node of main, although no two threads use the same row.
"""
# label: traces = serial first touch
# action: traces = local
# label: scratch = partitioned

import sys
import threading

import numpy as np
import numpy.typing as npt

STATIONS = 256
SAMPLES = 16384
ROUNDS = 8


def read_traces() -> npt.NDArray[np.float64]:
    """The traces of all stations, as if from a file."""
    traces = np.empty((STATIONS, SAMPLES))
    time = np.arange(SAMPLES) * 0.01
    for station in range(STATIONS):
        np.multiply(time, 0.05 + 0.001 * station, out=traces[station])
        traces[station] %= 3.0
    return traces


def clean(traces: npt.NDArray[np.float64], first: int, last: int) -> None:
    """Smooth the rows from `first` to before `last`, in place."""
    scratch = np.empty(SAMPLES - 2)
    for _ in range(ROUNDS):
        for station in range(first, last):
            trace = traces[station]
            np.subtract(trace, trace.mean(), out=trace)
            np.add(trace[:-2], trace[2:], out=scratch)
            np.multiply(scratch, 0.25, out=scratch)
            np.multiply(trace, 0.5, out=trace)
            np.add(trace[1:-1], scratch, out=trace[1:-1])


def main() -> None:
    """Clean the traces with the number of threads that the first argument gives."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    traces = read_traces()
    workers = []
    for t in range(threads):
        part = (STATIONS * t // threads, STATIONS * (t + 1) // threads)
        workers.append(threading.Thread(target=clean, args=(traces, *part)))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"energy {float(np.square(traces[::16]).sum()):.6f}")


if __name__ == "__main__":
    main()
