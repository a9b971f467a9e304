// SPDX-License-Identifier: Apache-2.0
//
// Follows the registers through a block, to know before each instruction which of them differ by
// constants.
#pragma once

#include <cstdint>

#include "access_groups.h"
#include "dr_api.h"

namespace numascape {

// The content of a register: an unknown value plus `offset`. Registers with the same number `value`
// have the same unknown value.
struct Symbolic {
    uint32_t value;
    int64_t offset;
};

class SymbolicRegisters {
  public:
    SymbolicRegisters() {
        for (Symbolic& s : state_) {
            s = {next_++, 0};
        }
    }
    Symbolic get(uint32_t bit) const { return state_[bit]; }
    // Changes the registers as the instruction does.
    void step(instr_t* instruction);

  private:
    bool follow(instr_t* instruction);
    bool follow_stack(instr_t* instruction);
    void forget(reg_id_t reg);

    Symbolic state_[16];
    uint32_t next_ = 1;
};

}  // namespace numascape
