// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "access_groups.h"

namespace numascape {

// Fills in `used`, and the Freedom of every group and special access. At the block's end
// everything is taken to be needed.
void find_freedom(BlockPlan& plan);

}  // namespace numascape
