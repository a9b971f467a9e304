# SPDX-License-Identifier: Apache-2.0
# Heat on a plate of 1024 x 1024 with numpy, in one thread, which makes, touches and uses both
# arrays (8 MiB each). No other thread takes part, so the pages are where they are used.
# label: plate = partitioned
# action: plate = none
# label: following = partitioned
# action: following = none
# label: run = no NUMA problem
import numpy as np

SIDE = 1024
STEPS = 16

plate = np.ones((SIDE, SIDE))
plate[:, 0] = 100.0
plate[0, :] = 50.0
following = plate.copy()
for _ in range(STEPS):
    inner = following[1:-1, 1:-1]
    np.add(plate[:-2, 1:-1], plate[2:, 1:-1], out=inner)
    np.add(inner, plate[1:-1, :-2], out=inner)
    np.add(inner, plate[1:-1, 2:], out=inner)
    np.multiply(inner, 0.25, out=inner)
    plate, following = following, plate
print(f"heat {plate.sum():.6f}")
