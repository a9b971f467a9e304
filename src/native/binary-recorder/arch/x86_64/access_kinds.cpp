// SPDX-License-Identifier: Apache-2.0
#include "access_kinds.h"

#include "masked_operands.h"

namespace numascape {
namespace {

bool is_repeated_block_string(int opcode) {
    return opcode == OP_rep_movs || opcode == OP_rep_stos || opcode == OP_rep_lods;
}

// bt and similar instructions: a bit number from a register may reach beyond the memory operand.
bool tests_bit_by_register(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    return (opcode == OP_bt || opcode == OP_bts || opcode == OP_btr || opcode == OP_btc) &&
           opnd_is_reg(bit_number(instruction));
}

// xsave and similar instructions: how much they access depends on registers.
bool saves_state(int opcode) {
    switch (opcode) {
        case OP_xsave32:
        case OP_xsave64:
        case OP_xsaveopt32:
        case OP_xsaveopt64:
        case OP_xsavec32:
        case OP_xsavec64:
        case OP_xrstor32:
        case OP_xrstor64:
            return true;
        default:
            return false;
    }
}

// A gather or scatter that only fills a cache.
bool prefetches_lanes(int opcode) {
    switch (opcode) {
        case OP_vgatherpf0dpd:
        case OP_vgatherpf0dps:
        case OP_vgatherpf0qpd:
        case OP_vgatherpf0qps:
        case OP_vgatherpf1dpd:
        case OP_vgatherpf1dps:
        case OP_vgatherpf1qpd:
        case OP_vgatherpf1qps:
        case OP_vscatterpf0dpd:
        case OP_vscatterpf0dps:
        case OP_vscatterpf0qpd:
        case OP_vscatterpf0qps:
        case OP_vscatterpf1dpd:
        case OP_vscatterpf1dps:
        case OP_vscatterpf1qpd:
        case OP_vscatterpf1qps:
            return true;
        default:
            return false;
    }
}

}  // namespace

bool touches_data(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    return (instr_reads_memory(instruction) || instr_writes_memory(instruction)) &&
           !instr_is_prefetch(instruction) && !prefetches_lanes(opcode) && opcode != OP_clflush &&
           opcode != OP_clflushopt && opcode != OP_clwb && opcode != OP_cldemote;
}

opnd_t bit_number(instr_t* instruction) {
    const opnd_t first = instr_get_src(instruction, 0);
    return opnd_is_memory_reference(first) ? instr_get_src(instruction, 1) : first;
}

SpecialAccess special_access(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    if (is_repeated_block_string(opcode)) {
        return SpecialAccess::kRepeatedString;
    }
    if (tests_bit_by_register(instruction)) {
        return SpecialAccess::kBitTest;
    }
    if (instr_is_gather(instruction) || instr_is_scatter(instruction)) {
        return SpecialAccess::kGathered;
    }
    if (is_masked(instruction)) {
        return SpecialAccess::kMasked;
    }
    if (saves_state(opcode)) {
        return SpecialAccess::kSavedState;
    }
    return SpecialAccess::kNone;
}

}  // namespace numascape
