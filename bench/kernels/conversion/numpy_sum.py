# SPDX-License-Identifier: Apache-2.0
"""A small program whose libraries are large."""

import numpy as np

grid = np.zeros((300, 300))
field = np.ones((300, 300))
for _ in range(5):
    grid += field @ field
print(grid.sum())
