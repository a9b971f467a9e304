// SPDX-License-Identifier: Apache-2.0
#include "symbolic_registers.h"

namespace numascape {
namespace {

bool as_general(opnd_t operand, uint32_t& bit) {
    return opnd_is_reg(operand) && general_register(opnd_get_reg(operand), bit);
}

}  // namespace

void SymbolicRegisters::forget(reg_id_t reg) {
    uint32_t bit = 0;
    if (reg_is_gpr(reg) && general_register(reg_to_pointer_sized(reg), bit)) {
        state_[bit] = {next_++, 0};
    }
}

// Follows an instruction that is an addition or a copy. False if it is another one.
bool SymbolicRegisters::follow(instr_t* instruction) {
    uint32_t to = 0;
    uint32_t from = 0;
    switch (instr_get_opcode(instruction)) {
        case OP_add:
        case OP_sub: {
            const opnd_t amount = instr_get_src(instruction, 0);
            if (!as_general(instr_get_dst(instruction, 0), to) || !opnd_is_immed_int(amount)) {
                return false;
            }
            const int64_t value = opnd_get_immed_int(amount);
            state_[to].offset += instr_get_opcode(instruction) == OP_add ? value : -value;
            return true;
        }
        case OP_inc:
        case OP_dec:
            if (!as_general(instr_get_dst(instruction, 0), to)) {
                return false;
            }
            state_[to].offset += instr_get_opcode(instruction) == OP_inc ? 1 : -1;
            return true;
        case OP_lea: {
            const opnd_t address = instr_get_src(instruction, 0);
            if (!as_general(instr_get_dst(instruction, 0), to) ||
                !opnd_is_near_base_disp(address) || opnd_get_index(address) != DR_REG_NULL ||
                !general_register(opnd_get_base(address), from)) {
                return false;
            }
            state_[to] = {state_[from].value, state_[from].offset + opnd_get_disp(address)};
            return true;
        }
        case OP_mov_ld:
        case OP_mov_st:
            if (!as_general(instr_get_dst(instruction, 0), to) ||
                !as_general(instr_get_src(instruction, 0), from)) {
                return false;
            }
            state_[to] = state_[from];
            return true;
        default:
            return follow_stack(instruction);
    }
}

// Follows an instruction that moves the stack pointer by a word. False if it is another one.
bool SymbolicRegisters::follow_stack(instr_t* instruction) {
    uint32_t stack_pointer = 0;
    general_register(DR_REG_XSP, stack_pointer);
    switch (instr_get_opcode(instruction)) {
        case OP_push:
        case OP_push_imm:
        case OP_call:
        case OP_call_ind:
            if (opnd_get_size(instr_get_dst(instruction, 1)) != OPSZ_8) {
                return false;
            }
            state_[stack_pointer].offset -= 8;
            return true;
        case OP_pop: {
            uint32_t to = 0;
            if (!as_general(instr_get_dst(instruction, 0), to)) {
                return false;
            }
            state_[stack_pointer].offset += 8;
            forget(opnd_get_reg(instr_get_dst(instruction, 0)));
            return true;
        }
        default:
            return false;
    }
}

void SymbolicRegisters::step(instr_t* instruction) {
    if (instr_is_label(instruction) || follow(instruction)) {
        return;
    }
    for (int i = 0; i < instr_num_dsts(instruction); ++i) {
        const opnd_t dst = instr_get_dst(instruction, i);
        if (opnd_is_reg(dst)) {
            forget(opnd_get_reg(dst));
        }
    }
}

}  // namespace numascape
