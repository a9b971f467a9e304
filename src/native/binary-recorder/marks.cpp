// SPDX-License-Identifier: Apache-2.0
//
// Marks in the code of the program. include/numascape/phase.h inserts an instruction without
// effect, with a displacement that no compiler generates. A mark therefore needs no symbol and no
// library.
#include "dr_api.h"
#include "numascape/phase.h"
#include "phases.h"
#include "recorder.h"

namespace numascape {

reg_id_t mark_register(instr_t* instruction) {
    if (!options.marks || instr_get_opcode(instruction) != OP_nop_modrm) {
        return DR_REG_NULL;
    }
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        const opnd_t operand = instr_get_src(instruction, i);
        if (opnd_is_near_base_disp(operand) && opnd_get_disp(operand) == NUMASCAPE_PHASE_MARK &&
            opnd_get_index(operand) == DR_REG_NULL && reg_is_64bit(opnd_get_base(operand))) {
            return opnd_get_base(operand);
        }
    }
    return DR_REG_NULL;
}

}  // namespace numascape
