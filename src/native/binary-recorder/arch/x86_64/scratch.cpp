// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include "drmgr.h"
#include "dynamorio_registers.h"
#include "phases.h"
#include "recorder.h"
#include "stopped_threads.h"
#include "traffic.h"

namespace numascape {
namespace {

int slots_index = -1;  // thread-local field: the slots of the thread

constexpr unsigned kRoles = static_cast<unsigned>(Role::kCount);

unsigned index(Role role) {
    return static_cast<unsigned>(role);
}
ThreadSlot slot_of(unsigned role) {
    return spill_slot(static_cast<Role>(role));
}
reg_id_t register_at(uint32_t bit) {
    return static_cast<reg_id_t>(DR_REG_START_64 + bit);
}

// The lowest register of the set. The accumulator comes last, because saving flags needs it.
reg_id_t pick(RegisterSet set) {
    const RegisterSet preferred = set & ~kAccumulatorBit;
    if (preferred != 0) {
        return register_at(static_cast<uint32_t>(__builtin_ctz(preferred)));
    }
    return (set & kAccumulatorBit) != 0 ? DR_REG_RAX : DR_REG_NULL;
}

RegisterSet bit_of(reg_id_t reg) {
    return 1u << (reg - DR_REG_START_64);
}

// --- Faults. The saves and restores executed so far are read back from the code itself.

struct SavedState {
    reg_id_t reg[kRoles] = {};  // saved in the role's slot, or null
    bool low_flags_copied = false;
    bool flags_in_accumulator = false;
    bool overflow_restored = false;  // in the copied flags
};

// Compares the displacement, because equal operands may have different encodings.
bool is_slot(void* drcontext, opnd_t operand, unsigned& role) {
    if (!opnd_is_far_base_disp(operand) || opnd_get_segment(operand) != DR_SEG_GS ||
        opnd_get_base(operand) != DR_REG_NULL || opnd_get_index(operand) != DR_REG_NULL) {
        return false;
    }
    for (role = 0; role < kRoles; ++role) {
        if (opnd_get_disp(operand) == opnd_get_disp(thread_slot(drcontext, slot_of(role)))) {
            return true;
        }
    }
    return false;
}

void follow(void* drcontext, instr_t* instruction, SavedState& state) {
    unsigned role = 0;
    const int opcode = instr_get_opcode(instruction);
    if (opcode == OP_mov_st && is_slot(drcontext, instr_get_dst(instruction, 0), role) &&
        opnd_is_reg(instr_get_src(instruction, 0))) {
        state.reg[role] = opnd_get_reg(instr_get_src(instruction, 0));
    } else if (opcode == OP_mov_ld && is_slot(drcontext, instr_get_src(instruction, 0), role)) {
        state.reg[role] = DR_REG_NULL;
    }
    if (opcode == OP_seto && state.low_flags_copied) {
        state.flags_in_accumulator = true;  // neither lahf nor seto changed them
    } else if (opcode == OP_add && state.flags_in_accumulator &&
               opnd_same(instr_get_dst(instruction, 0), opnd_create_reg(DR_REG_AL))) {
        state.overflow_restored = true;
    } else if (opcode == OP_sahf ||
               instr_writes_to_reg(instruction, DR_REG_RAX, DR_QUERY_DEFAULT)) {
        // DynamoRIO does not restore flags that are dead.
        state.flags_in_accumulator = state.overflow_restored = false;
    }
    state.low_flags_copied = opcode == OP_lahf;
}

// lahf and seto leave SF ZF AF PF CF in ah (as in the low byte of the flags), OF in al.
reg_t flags_from(const dr_mcontext_t& raw, bool overflow_restored) {
    constexpr reg_t kLow = 0xd5;
    constexpr reg_t kOverflow = 1 << 11;
    const reg_t flags = (raw.xflags & ~kLow) | ((raw.xax >> 8) & kLow);
    if (overflow_restored) {
        return flags;
    }
    return (raw.xax & 1) != 0 ? flags | kOverflow : flags & ~kOverflow;
}

void restore_registers(void* drcontext, const dr_restore_state_info_t& info) {
    SavedState state;
    instr_t instruction;
    instr_init(drcontext, &instruction);
    byte* at = info.fragment_info.cache_start_pc;
    while (at != nullptr && at < info.raw_mcontext->pc) {
        instr_reset(drcontext, &instruction);
        at = decode(drcontext, at, &instruction);
        follow(drcontext, &instruction, state);
    }
    instr_free(drcontext, &instruction);
    if (state.flags_in_accumulator) {
        info.mcontext->xflags = flags_from(*info.raw_mcontext, state.overflow_restored);
    }
    // The thread may be another than the calling one, because DynamoRIO stops threads and moves
    // them out of old code.
    auto* slots = static_cast<void* const*>(drmgr_get_tls_field(drcontext, slots_index));
    if (slots == nullptr) {
        return;
    }
    const int offset = opnd_get_disp(thread_slot(drcontext, ThreadSlot{}));
    restore_saved_twice(drcontext, info, reinterpret_cast<const byte*>(slots) - offset);
    for (unsigned role = 0; role < kRoles; ++role) {
        if (state.reg[role] != DR_REG_NULL) {
            reg_set_value(state.reg[role], info.mcontext,
                          reinterpret_cast<reg_t>(slots[static_cast<unsigned>(slot_of(role))]));
        }
    }
}

// If the thread is in a stub, makes it return to the program, whether or not the inserted code of
// the block has run.
void leave_return_stub(void* drcontext, dr_mcontext_t& context) {
    if (!in_return_stub(context.pc)) {
        return;
    }
    const bool region = in_region_stub(context.pc);
    const bool before_ret =
        reinterpret_cast<uint64_t>(context.pc) == (region ? region_return_stub() : return_stub());
    context.xsp += before_ret ? 0 : 8;
    context.pc = reinterpret_cast<app_pc>(region ? region_return(drcontext, context.xsp)
                                                 : program_return(drcontext, context.xsp));
}

bool restore_program_state(void* drcontext, bool restore_memory, dr_restore_state_info_t* info) {
    const bool in_cache = info->raw_mcontext_valid && info->fragment_info.cache_start_pc != nullptr;
    // A fault of the thread itself must be handled where it is. Other threads can be stopped again
    // elsewhere.
    if (in_cache && dr_get_current_drcontext() != drcontext && !registers_known(*info)) {
        return false;
    }
    if (in_cache) {
        restore_registers(drcontext, *info);
    }
    leave_return_stub(drcontext, *info->mcontext);
    if (restore_memory && detached) {
        allocations_release(drcontext);
        regions_release(drcontext);
    }
    return true;
}

void thread_started(void* drcontext) {
    drmgr_set_tls_field(drcontext, slots_index, const_cast<void**>(thread_slots()));
}

}  // namespace

ThreadSlot spill_slot(Role role) {
    return static_cast<ThreadSlot>(static_cast<unsigned>(ThreadSlot::kSpilled) + index(role));
}

BlockScratch choose_block_scratch(const BlockPlan& plan, const BlockNeeds& needs) {
    BlockScratch scratch{};
    scratch.number = scratch.head = kNoBlock;
    if (plan.groups + plan.specials == 0) {
        return scratch;
    }
    RegisterSet free = ~plan.used & 0xffff;
    if (needs.flags && (free & kAccumulatorBit) != 0) {
        scratch.reg[index(Role::kFlags)] = DR_REG_RAX;
    }
    free &= ~kAccumulatorBit;
    for (const Role role : {Role::kAddress, Role::kTable, Role::kSecond, Role::kLine}) {
        if ((role == Role::kLine && !traffic()) || (role == Role::kSecond && !needs.second)) {
            continue;
        }
        const reg_id_t reg = pick(free);
        scratch.reg[index(role)] = reg;
        free &= reg != DR_REG_NULL ? ~bit_of(reg) : ~0u;
    }
    return scratch;
}

PlaceScratch::PlaceScratch(const Emitter& emit, BlockScratch& block,
                           const DeadRegisters& dead_registers, RegisterSet excluded)
    : emit_(emit),
      block_(block),
      dead_registers_(dead_registers),
      excluded_(excluded | kStackPointerBit) {
    for (unsigned role = 0; role < kRoles; ++role) {
        local_[role] = DR_REG_NULL;
        local_saved_[role] = false;
        if (block.reg[role] != DR_REG_NULL) {
            excluded_ |= bit_of(block.reg[role]);
        }
    }
    if (!dead_registers_.flags_dead) {
        excluded_ |= kAccumulatorBit;  // for the flags, see save_flags
    }
    if (!block_.saved) {
        for (unsigned role = 0; role < kRoles; ++role) {
            if (block_.reg[role] != DR_REG_NULL) {
                save(static_cast<Role>(role), block_.reg[role]);
            }
        }
        block_.saved = true;
    }
}

void PlaceScratch::save(Role role, reg_id_t reg) {
    emit_.add(INSTR_CREATE_mov_st(
        emit_.drcontext, thread_slot(emit_.drcontext, slot_of(index(role))), Emitter::reg(reg)));
}

void PlaceScratch::reload(Role role, reg_id_t reg) {
    emit_.add(INSTR_CREATE_mov_ld(emit_.drcontext, Emitter::reg(reg),
                                  thread_slot(emit_.drcontext, slot_of(index(role)))));
}

reg_id_t PlaceScratch::take(Role role) {
    const reg_id_t whole = block_.reg[index(role)];
    if (whole != DR_REG_NULL) {
        return whole;
    }
    reg_id_t& local = local_[index(role)];
    if (local == DR_REG_NULL) {
        const RegisterSet allowed = ~excluded_ & 0xffff;
        local = pick(allowed & dead_registers_.dead);
        if (local == DR_REG_NULL) {
            local = pick(allowed);
            save(role, local);
            local_saved_[index(role)] = true;
        }
        excluded_ |= bit_of(local);
    }
    return local;
}

reg_id_t PlaceScratch::take_table() {
    const reg_id_t table = take(Role::kTable);
    const bool whole = block_.reg[index(Role::kTable)] != DR_REG_NULL;
    if (!whole || !block_.table_loaded) {
        load_thread_slot(emit_.drcontext, emit_.block, emit_.where, ThreadSlot::kTable, table);
        block_.table_loaded = whole;
    }
    return table;
}

void PlaceScratch::count_block() {
    if (block_.head != kNoBlock) {
        insert_block_head(emit_, block_.head, take_table());
        block_.head = kNoBlock;
    }
}

void PlaceScratch::save_flags() {
    if (dead_registers_.flags_dead) {
        count_block();
        return;
    }
    flags_saved_ = true;
    if (block_.reg[index(Role::kFlags)] == DR_REG_NULL) {
        local_[index(Role::kFlags)] = DR_REG_RAX;
        if ((dead_registers_.dead & kAccumulatorBit) == 0) {
            save(Role::kFlags, DR_REG_RAX);
            local_saved_[index(Role::kFlags)] = true;
        }
    }
    void* dc = emit_.drcontext;
    emit_.add(INSTR_CREATE_lahf(dc));
    emit_.add(INSTR_CREATE_setcc(dc, OP_seto, opnd_create_reg(DR_REG_AL)));
    count_block();
}

FramePointerAt PlaceScratch::frame_pointer() const {
    for (unsigned role = 0; role < kRoles; ++role) {
        const bool is_local = local_[role] == kFramePointerRegister;
        if (is_local && !local_saved_[role]) {
            return FramePointerAt::kNowhere;
        }
        if (is_local || block_.reg[role] == kFramePointerRegister) {
            return static_cast<FramePointerAt>(static_cast<unsigned>(FramePointerAt::kInSlot) +
                                               role);
        }
    }
    return FramePointerAt::kInRegister;
}

void PlaceScratch::restore(bool last) {
    void* dc = emit_.drcontext;
    if (flags_saved_) {
        // 0x7f + 1 overflows, 0x7f + 0 does not.
        emit_.add(INSTR_CREATE_add(dc, opnd_create_reg(DR_REG_AL), OPND_CREATE_INT8(0x7f)));
        emit_.add(INSTR_CREATE_sahf(dc));
    }
    for (unsigned role = 0; role < kRoles; ++role) {
        if (local_saved_[role]) {
            reload(static_cast<Role>(role), local_[role]);
        }
        if (last && block_.reg[role] != DR_REG_NULL) {
            reload(static_cast<Role>(role), block_.reg[role]);
        }
    }
}

void scratch_init() {
    slots_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_restore_state_ex_event(restore_program_state);
}

}  // namespace numascape
