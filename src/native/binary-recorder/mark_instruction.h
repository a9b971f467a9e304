// SPDX-License-Identifier: Apache-2.0
//
// The instruction without effect that include/numascape/phase.h and region.h insert.
#pragma once

#include "dr_api.h"

namespace numascape {

// The base register of the mark; DR_REG_NULL if this is another instruction, or one with another
// displacement.
reg_id_t base_of_mark(instr_t* instruction, int displacement);

}  // namespace numascape
