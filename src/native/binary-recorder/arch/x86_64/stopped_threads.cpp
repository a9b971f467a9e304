// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO looks for places at which it can determine the registers of a thread. It is wrong at
// some:
// - In a trace, a return or an indirect jump is compared with its previous target. The register rax
//   is saved, set to that address, and saved again elsewhere for the comparison. DynamoRIO
//   mistakes the second copy for the program's value, so the program would continue with a wrong
//   rax.
// - In the code around a clean call, it reads the registers from the memory in which the call saves
//   them. Before the call has saved them, this memory holds the registers of an earlier call.
// - In code that was replaced in the meantime, it mistakes the entry of indirect jumps for the
//   start, where rax and rcx are still saved.
#include "stopped_threads.h"

#include "recorder.h"

namespace numascape {
namespace {

constexpr unsigned kRegisters = DR_REG_STOP_64 - DR_REG_START_64 + 1;
constexpr int kNowhere = -1;

// The offset of a word of DynamoRIO in the storage of the thread; kNowhere if the operand is not
// such a word. `ours`: where our words begin.
int storage_offset(opnd_t operand, int ours) {
    const bool is_storage =
        opnd_is_far_base_disp(operand) && opnd_get_segment(operand) == DR_SEG_GS &&
        opnd_get_base(operand) == DR_REG_NULL && opnd_get_index(operand) == DR_REG_NULL;
    const int offset = is_storage ? opnd_get_disp(operand) : kNowhere;
    const bool is_ours = offset >= ours && offset < ours + static_cast<int>(ThreadSlot::kCount) * 8;
    return is_ours ? kNowhere : offset;
}

// The place at which a register was saved first, and whether it was saved a second time.
struct Saved {
    int offset = kNowhere;
    bool twice = false;
};

void note_save_or_restore(instr_t* instruction, int ours, Saved (&saved)[kRegisters]) {
    const int opcode = instr_get_opcode(instruction);
    if (opcode != OP_mov_st && opcode != OP_mov_ld) {
        return;
    }
    const bool saves = opcode == OP_mov_st;
    const opnd_t from = instr_get_src(instruction, 0);
    const opnd_t to = instr_get_dst(instruction, 0);
    const opnd_t reg = saves ? from : to;
    const int offset = storage_offset(saves ? to : from, ours);
    if (offset == kNowhere || !opnd_is_reg(reg) || !reg_is_64bit(opnd_get_reg(reg))) {
        return;
    }
    Saved& known = saved[opnd_get_reg(reg) - DR_REG_START_64];
    if (saves && known.offset == kNowhere) {
        known.offset = offset;
    } else if (saves) {
        known.twice = true;
    } else if (offset == known.offset) {
        known = {};
    }
}

bool in_clean_call(const dr_restore_state_info_t& info) {
    bool inside = false;
    byte* at = info.fragment_info.cache_start_pc;
    void* drcontext = dr_get_current_drcontext();
    instrlist_t* code = info.fragment_info.ilist;
    for (instr_t* i = code == nullptr ? nullptr : instrlist_first(code); i != nullptr;
         i = instr_get_next(i)) {
        if (instr_is_label(i)) {
            const auto note = reinterpret_cast<ptr_uint_t>(instr_get_note(i));
            inside = (inside || note == DR_NOTE_CALL_SEQUENCE_START) &&
                     note != DR_NOTE_CALL_SEQUENCE_END;
            continue;
        }
        at += instr_length(drcontext, i);
        if (at > info.raw_mcontext->pc) {
            break;
        }
    }
    return inside;
}

}  // namespace

bool registers_known(const dr_restore_state_info_t& info) {
    return info.raw_mcontext->pc >= info.fragment_info.cache_start_pc && !in_clean_call(info);
}

void restore_saved_twice(void* drcontext, const dr_restore_state_info_t& info,
                         const byte* storage) {
    const int ours = opnd_get_disp(thread_slot(drcontext, ThreadSlot::kTable));
    Saved saved[kRegisters];
    instr_t instruction;
    instr_init(drcontext, &instruction);
    byte* at = info.fragment_info.cache_start_pc;
    while (at != nullptr && at < info.raw_mcontext->pc) {
        instr_reset(drcontext, &instruction);
        at = decode(drcontext, at, &instruction);
        note_save_or_restore(&instruction, ours, saved);
    }
    instr_free(drcontext, &instruction);
    for (unsigned i = 0; i < kRegisters; ++i) {
        if (saved[i].twice) {
            reg_set_value(static_cast<reg_id_t>(DR_REG_START_64 + i), info.mcontext,
                          *reinterpret_cast<const reg_t*>(storage + saved[i].offset));
        }
    }
}

}  // namespace numascape
