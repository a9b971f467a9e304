// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "access_groups.h"

namespace numascape {

// Fills in `used`, and the DeadRegisters of every group and special access. At the end of the
// block, everything counts as needed.
void compute_liveness(BlockPlan& plan);

}  // namespace numascape
