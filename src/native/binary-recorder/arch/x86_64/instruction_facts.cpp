// SPDX-License-Identifier: Apache-2.0
#include "instruction_facts.h"

namespace numascape {
namespace {

bool shifts(int opcode) {
    switch (opcode) {
        case OP_rol:
        case OP_ror:
        case OP_rcl:
        case OP_rcr:
        case OP_shl:
        case OP_shr:
        case OP_sar:
        case OP_shld:
        case OP_shrd:
            return true;
        default:
            return false;
    }
}

// The processor takes the number of bits modulo 32 or 64. For rcl and rcr, it also takes it modulo
// the width of the operand plus 1, for the carry flag.
bool may_shift_by_zero(instr_t* instruction) {
    for (int i = 0; i < instr_num_srcs(instruction); ++i) {
        const opnd_t source = instr_get_src(instruction, i);
        if (opnd_is_immed_int(source)) {
            const auto by = static_cast<uint8_t>(opnd_get_immed_int(source));
            return by == 0 || by > 7;
        }
    }
    return true;
}

bool tests_bit(int opcode) {
    return opcode == OP_bt || opcode == OP_bts || opcode == OP_btr || opcode == OP_btc;
}

bool shifts_all_lanes_alike(int opcode) {
    switch (opcode) {
        case OP_vpsllw:
        case OP_vpslld:
        case OP_vpsllq:
        case OP_vpsraw:
        case OP_vpsrad:
        case OP_vpsraq:
        case OP_vpsrlw:
        case OP_vpsrld:
        case OP_vpsrlq:
            return true;
        default:
            return false;
    }
}

bool is_mmx(instr_t* instruction) {
    const opnd_t destination = instr_get_dst(instruction, 0);
    return opnd_is_reg(destination) && reg_is_mmx(opnd_get_reg(destination));
}

}  // namespace

FlagUse flag_use(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    const uint flags = instr_get_arith_flags(instruction, DR_QUERY_INCLUDE_COND_SRCS);
    FlagUse use{flags & EFLAGS_READ_ARITH, EFLAGS_WRITE_TO_READ(flags & EFLAGS_WRITE_ARITH)};
    if (shifts(opcode) && may_shift_by_zero(instruction)) {
        use.writes = 0;
    } else if (tests_bit(opcode)) {
        use.writes &= ~EFLAGS_READ_ZF;
    } else if (opcode == OP_cmc) {
        use.reads |= EFLAGS_READ_CF;
    }
    return use;
}

bool always_writes(instr_t* instruction) {
    const int opcode = instr_get_opcode(instruction);
    return !instr_is_predicated(instruction) && opcode != OP_lar && opcode != OP_lsl;
}

bool may_fault(instr_t* instruction) {
    switch (instr_get_opcode(instruction)) {
        case OP_div:
        case OP_idiv:
        case OP_ud2:
        case OP_int:
        case OP_int3:
            return true;
        default:
            return instr_reads_memory(instruction) || instr_writes_memory(instruction);
    }
}

uint32_t accessed_bytes(instr_t* instruction, opnd_t operand) {
    const int opcode = instr_get_opcode(instruction);
    if (shifts_all_lanes_alike(opcode) && opnd_same(operand, instr_get_src(instruction, 1)) &&
        instr_num_srcs(instruction) == 2) {
        return 16;  // the number of bits
    }
    switch (opcode) {
        case OP_cvttps2pi:
            return 8;
        case OP_movsxd:
            if (opnd_get_size(instr_get_dst(instruction, 0)) == OPSZ_2) {
                return 2;
            }
            break;
        case OP_punpcklbw:
        case OP_punpcklwd:
        case OP_punpckldq:
            if (is_mmx(instruction)) {
                return 4;
            }
            break;
        case OP_unpcklps:
        case OP_unpcklpd:
            return 16;
        case OP_vinsertf32x8:
        case OP_vinsertf64x4:
        case OP_vinserti32x8:
        case OP_vinserti64x4:
            return 32;
        case OP_vmovddup:
            if (opnd_get_size(instr_get_dst(instruction, 0)) == OPSZ_16) {
                return 8;
            }
            break;
        default:
            break;
    }
    return opnd_size_in_bytes(opnd_get_size(operand));
}

bool only_waits(instr_t* instruction) {
    return instr_get_opcode(instruction) == OP_pause;
}

bool reads_destination(instr_t* instruction) {
    switch (instr_get_opcode(instruction)) {
        case OP_movntdqa:
        case OP_vmovntdqa:
        case OP_vexpandps:
        case OP_vexpandpd:
        case OP_vpexpandd:
        case OP_vpexpandq:
            return opnd_is_memory_reference(instr_get_dst(instruction, 0));
        default:
            return false;
    }
}

}  // namespace numascape
