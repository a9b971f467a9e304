// SPDX-License-Identifier: Apache-2.0
#include "mark_instruction.h"

namespace numascape {

// `nopl displacement(base)`.
reg_id_t base_of_mark(instr_t* instruction, int displacement) {
    if (instr_get_opcode(instruction) != OP_nop_modrm) {
        return DR_REG_NULL;
    }
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        const opnd_t operand = instr_get_src(instruction, i);
        if (opnd_is_near_base_disp(operand) && opnd_get_disp(operand) == displacement &&
            opnd_get_index(operand) == DR_REG_NULL && reg_is_64bit(opnd_get_base(operand))) {
            return opnd_get_base(operand);
        }
    }
    return DR_REG_NULL;
}

}  // namespace numascape
