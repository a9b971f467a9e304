// SPDX-License-Identifier: Apache-2.0
//
// Units of work: what the code of a program does, whether it is counted or not, and however fast it
// is. An execution of a block that may be the last one of a loop is a unit. A loop of one block has
// 16 units at each 16th iteration, if a register tells the iterations.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "scratch.h"

namespace numascape {

struct WorkUnit {
    uint32_t units;  // of one execution; 0: none
    reg_id_t reg;    // not null: only if these bits of this register are zero
    uint32_t mask;
};

// The units of the block that begins at `start`. Blocks that are built from the same code have the
// same.
WorkUnit find_work_unit(instrlist_t* block, app_pc start);
// At the start of the block: takes the units from the thread's slot kUnits, and calls `ran_out`
// with `start` and the number of units if fewer are left.
void insert_work_unit(const Emitter& emit, const WorkUnit& unit, app_pc start,
                      void (*ran_out)(app_pc start, uint64_t units));

// Before an instruction of a block that counts: if a cost is held (burst_cost.h), counts it in the
// thread's slot kIndirect if it is an indirect jump, call or return. DynamoRIO looks up the targets
// of these.
void count_indirect_jump(const Emitter& emit);

}  // namespace numascape
