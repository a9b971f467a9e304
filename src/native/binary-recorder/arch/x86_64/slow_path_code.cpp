// SPDX-License-Identifier: Apache-2.0
#include "slow_path_code.h"

namespace numascape {
namespace {

app_pc generated = nullptr;  // one page

}  // namespace

SlowPathCode::SlowPathCode(void* drcontext) : drcontext_(drcontext) {
    memory_ = static_cast<app_pc>(
        dr_nonheap_alloc(dr_page_size(), DR_MEMPROT_READ | DR_MEMPROT_WRITE | DR_MEMPROT_EXEC));
    next_ = memory_;
    generated = memory_;
}

SlowPathCode::~SlowPathCode() {
    dr_memory_protect(memory_, dr_page_size(), DR_MEMPROT_READ | DR_MEMPROT_EXEC);
}

app_pc SlowPathCode::code(Handler with_carry, Handler without, const reg_id_t* saved,
                          size_t saved_count) {
    list_ = instrlist_create(drcontext_);
    add(INSTR_CREATE_mov_st(drcontext_, slot(ThreadSlot::kStackPointer), reg(DR_REG_RSP)));
    load(DR_REG_RSP, ThreadSlot::kOwnStack);
    for (size_t i = 0; i < saved_count; ++i) {
        add(INSTR_CREATE_push(drcontext_, reg(saved[i])));
    }
    add(INSTR_CREATE_pushf(drcontext_));  // an even number of words: rsp stays aligned
    instr_t* chosen = INSTR_CREATE_label(drcontext_);
    load_address(reinterpret_cast<void*>(with_carry));
    if (with_carry != without) {
        add(INSTR_CREATE_jcc(drcontext_, OP_jb, opnd_create_instr(chosen)));
        load_address(reinterpret_cast<void*>(without));
    }
    add(chosen);
    add(INSTR_CREATE_cld(drcontext_));
    load(DR_REG_RDI, ThreadSlot::kArgument);
    load(DR_REG_RSI, ThreadSlot::kInfo);
    load(DR_REG_RDX, ThreadSlot::kRecorder);
    add(INSTR_CREATE_mov_ld(drcontext_, reg(DR_REG_RCX), reg(DR_REG_RSP)));
    load(DR_REG_R8, ThreadSlot::kSecond);
    load(DR_REG_R9, ThreadSlot::kVector);
    add(INSTR_CREATE_call_ind(drcontext_, reg(DR_REG_RAX)));
    // popf costs more than all other instructions here. Only the direction flag must be
    // restored, which programs rarely set.
    instr_t* forward = INSTR_CREATE_label(drcontext_);
    add(INSTR_CREATE_test(drcontext_, opnd_create_base_disp(DR_REG_RSP, DR_REG_NULL, 0, 0, OPSZ_4),
                          OPND_CREATE_INT32(kDirectionFlag)));
    add(INSTR_CREATE_jcc(drcontext_, OP_jz, opnd_create_instr(forward)));
    add(INSTR_CREATE_std(drcontext_));
    add(forward);
    add(INSTR_CREATE_lea(drcontext_, reg(DR_REG_RSP),
                         opnd_create_base_disp(DR_REG_RSP, DR_REG_NULL, 0, 8, OPSZ_lea)));
    for (size_t i = saved_count; i > 0; --i) {
        add(INSTR_CREATE_pop(drcontext_, reg(saved[i - 1])));
    }
    load(DR_REG_RSP, ThreadSlot::kStackPointer);
    add(INSTR_CREATE_jmp_ind(drcontext_, slot(ThreadSlot::kReturn)));
    const app_pc start = next_;
    next_ = instrlist_encode(drcontext_, list_, next_, true);
    DR_ASSERT(next_ != nullptr && next_ <= memory_ + dr_page_size());
    instrlist_clear_and_destroy(drcontext_, list_);
    return start;
}

bool is_slow_path_code(byte* pc) {
    return pc >= generated && pc < generated + dr_page_size();
}

}  // namespace numascape
