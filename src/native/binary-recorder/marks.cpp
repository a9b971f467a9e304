// SPDX-License-Identifier: Apache-2.0
//
// Marks in the code of the program. include/numascape/phase.h and region.h insert an instruction
// without effect, with a displacement that no compiler generates. A mark therefore needs no symbol
// and no library.
#include "dr_api.h"
#include "dynamorio_registers.h"
#include "mark_instruction.h"
#include "numascape/phase.h"
#include "numascape/region.h"
#include "phases.h"
#include "recorder.h"

namespace numascape {

namespace {

void region_told(uint64_t pc, uint64_t name, uint64_t address, uint64_t bytes) {
    ThreadRecorder* recorder = self();
    if (recorder != nullptr && !detached) {
        memory_regions.told(*recorder, pc, name, address, bytes);
    }
}

reg_id_t phase_name_register(instr_t* instruction) {
    if (!options.marks) {
        return DR_REG_NULL;
    }
    return base_of_mark(instruction, NUMASCAPE_PHASE_MARK);
}

bool is_region_mark(instr_t* instruction) {
    return base_of_mark(instruction, NUMASCAPE_REGION_MARK) == kArgumentRegisters[0];
}

}  // namespace

bool is_mark(instr_t* instruction) {
    return phase_name_register(instruction) != DR_REG_NULL || is_region_mark(instruction);
}

void insert_mark(void* drcontext, instrlist_t* list, instr_t* where) {
    const auto pc = reinterpret_cast<ptr_int_t>(instr_get_app_pc(where));
    const reg_id_t name = phase_name_register(where);
    if (name != DR_REG_NULL) {
        dr_insert_clean_call(drcontext, list, where, reinterpret_cast<void*>(mark_reached), false,
                             2, OPND_CREATE_INTPTR(pc), opnd_create_reg(name));
    } else if (is_region_mark(where)) {
        dr_insert_clean_call(drcontext, list, where, reinterpret_cast<void*>(region_told), false, 4,
                             OPND_CREATE_INTPTR(pc), opnd_create_reg(kArgumentRegisters[0]),
                             opnd_create_reg(kArgumentRegisters[1]),
                             opnd_create_reg(kArgumentRegisters[2]));
    }
}

}  // namespace numascape
