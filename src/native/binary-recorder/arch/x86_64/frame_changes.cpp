// SPDX-License-Identifier: Apache-2.0
//
// The instructions with which compilers make and remove large frames:
//
//     sub  rsp, BYTES             gcc, clang: the frame's size is constant
//     sub  rsp, REG               gcc: alloca, and arrays whose size is not constant
//     mov  rsp, REG               clang: the same; both: the end of such an array
//     lea  r11, [rsp - BYTES]     gcc, before a loop that takes the frame page by page
//     mov  REG, rsp               clang, before such a loop (-fstack-clash-protection)
//     sub  REG, BYTES
//     add  rsp, BYTES             the end of a frame, as the following
//     leave
//     mov  rsp, rbp
//     lea  rsp, [rbp - BYTES]
//
// The last three end every kind of frame, so they are looked at only in functions with large ones.
#include "frame_changes.h"

#include "shard_format.h"

namespace numascape {
namespace {

constexpr auto kLarge = static_cast<ptr_int_t>(kLargeFrameBytes);

bool is_register(opnd_t operand, reg_id_t reg) {
    return opnd_is_reg(operand) && opnd_get_reg(operand) == reg;
}

bool writes(instr_t* instruction, reg_id_t reg) {
    return instr_num_dsts(instruction) > 0 && is_register(instr_get_dst(instruction, 0), reg);
}

FrameChange change_by(FrameChange::Kind kind, ptr_int_t bytes) {
    return {kind, DR_REG_RSP, static_cast<int32_t>(bytes)};
}

// The operand is added to the stack pointer.
FrameChange by_addition(ptr_int_t bytes) {
    if (bytes <= -kLarge) {
        return change_by(FrameChange::kGrows, bytes);
    }
    return bytes >= kLarge ? change_by(FrameChange::kShrinks, bytes) : FrameChange{};
}

FrameChange by_subtraction(opnd_t operand) {
    if (opnd_is_immed_int(operand)) {
        return by_addition(-opnd_get_immed_int(operand));
    }
    const bool is_whole = opnd_is_reg(operand) && reg_is_64bit(opnd_get_reg(operand));
    return is_whole ? FrameChange{FrameChange::kGrowsByRegister, opnd_get_reg(operand), 0}
                    : FrameChange{};
}

FrameChange by_address(instr_t* instruction) {
    const opnd_t address = instr_get_src(instruction, 0);
    if (!opnd_is_near_base_disp(address) || opnd_get_index(address) != DR_REG_NULL) {
        return {};
    }
    const int bytes = opnd_get_disp(address);
    const bool is_growth = opnd_get_base(address) == DR_REG_RSP && bytes <= -kLarge;
    if (writes(instruction, DR_REG_RSP)) {
        if (opnd_get_base(address) == DR_REG_RSP) {
            return by_addition(bytes);
        }
        return {FrameChange::kEnds, opnd_get_base(address), bytes};
    }
    // Compilers use r11 here: it holds no argument, and the caller does not need its value.
    return is_growth && writes(instruction, DR_REG_R11) ? change_by(FrameChange::kProbes, bytes)
                                                        : FrameChange{};
}

FrameChange by_subtraction_from_copy(instr_t* instruction) {
    const opnd_t bytes = instr_get_src(instruction, 0);
    instr_t* before = instr_get_prev_app(instruction);
    if (!opnd_is_immed_int(bytes) || opnd_get_immed_int(bytes) < kLarge || before == nullptr ||
        !opnd_is_reg(instr_get_dst(instruction, 0))) {
        return {};
    }
    const int opcode = instr_get_opcode(before);
    const bool is_copy = (opcode == OP_mov_ld || opcode == OP_mov_st) &&
                         writes(before, opnd_get_reg(instr_get_dst(instruction, 0))) &&
                         is_register(instr_get_src(before, 0), DR_REG_RSP);
    return is_copy ? change_by(FrameChange::kProbes, -opnd_get_immed_int(bytes)) : FrameChange{};
}

FrameChange by_move(opnd_t from) {
    if (!opnd_is_reg(from) || !reg_is_64bit(opnd_get_reg(from))) {
        return {};
    }
    const bool is_end = opnd_get_reg(from) == DR_REG_RBP;
    return {is_end ? FrameChange::kEnds : FrameChange::kMoves, opnd_get_reg(from), 0};
}

}  // namespace

FrameChange frame_change(instr_t* instruction) {
    switch (instr_get_opcode(instruction)) {
        case OP_sub:
            return writes(instruction, DR_REG_RSP) ? by_subtraction(instr_get_src(instruction, 0))
                                                   : by_subtraction_from_copy(instruction);
        case OP_add: {
            const opnd_t operand = instr_get_src(instruction, 0);
            return writes(instruction, DR_REG_RSP) && opnd_is_immed_int(operand)
                       ? by_addition(opnd_get_immed_int(operand))
                       : FrameChange{};
        }
        case OP_lea:
            return by_address(instruction);
        case OP_leave:
            return {FrameChange::kEnds, DR_REG_RBP, 0};
        case OP_mov_ld:
        case OP_mov_st:
            return writes(instruction, DR_REG_RSP) ? by_move(instr_get_src(instruction, 0))
                                                   : FrameChange{};
        default:
            return {};
    }
}

instr_t* insert_unless_small(const Emitter& emit, reg_id_t bytes) {
    instr_t* done = INSTR_CREATE_label(emit.drcontext);
    emit.add(INSTR_CREATE_cmp(emit.drcontext, emit.reg(bytes),
                              OPND_CREATE_INT32(static_cast<int>(kLarge))));
    emit.add(INSTR_CREATE_jcc(emit.drcontext, OP_jb, emit.label(done)));
    return done;
}

}  // namespace numascape
