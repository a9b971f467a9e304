// SPDX-License-Identifier: Apache-2.0
//
// The code behind the inlined counting: reached by a jump with its arguments in thread slots,
// returns by a jump. It keeps every register and never touches the program's stack (below rsp may
// be a leaf function's data). The C++ it calls is compiled for general registers only
// (-mgeneral-regs-only), so vector registers need no saving.
#include <atomic>

#include "dr_api.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

app_pc touch_code = nullptr;
app_pc count_code = nullptr;

void touch_first(uint64_t slot_offset, const GroupInfo* group, ThreadRecorder* recorder) {
    if (recorder->table != nullptr) {
        shard.touch(*recorder, static_cast<uint32_t>(slot_offset >> 4), group->access[0].pc);
    }
}

void count_each(uint64_t low, const GroupInfo* group, ThreadRecorder* recorder) {
    for (unsigned i = 0; i < group->accesses; ++i) {
        const GroupAccess& access = group->access[i];
        shard.count(*recorder, low + access.offset, access.bytes, access.write ? 0 : 1,
                    access.write ? 1 : 0, access.pc);
    }
}

app_pc generate(void* drcontext, void* function) {
    // Call-clobbered registers of the System V ABI; the callee keeps the others.
    const reg_id_t saved[] = {DR_REG_RAX, DR_REG_RCX, DR_REG_RDX, DR_REG_RSI, DR_REG_RDI,
                              DR_REG_R8,  DR_REG_R9,  DR_REG_R10, DR_REG_R11};
    instrlist_t* code = instrlist_create(drcontext);
    const auto add = [&](instr_t* instruction) { instrlist_meta_append(code, instruction); };
    const auto slot = [&](ThreadSlot which) { return thread_slot(drcontext, which); };
    const auto reg = [](reg_id_t which) { return opnd_create_reg(which); };
    const auto immediate = [](const void* value) {
        return OPND_CREATE_INT64(reinterpret_cast<int64_t>(value));
    };
    add(INSTR_CREATE_mov_st(drcontext, slot(ThreadSlot::kStackPointer), reg(DR_REG_RSP)));
    add(INSTR_CREATE_mov_ld(drcontext, reg(DR_REG_RSP), slot(ThreadSlot::kOwnStack)));
    for (reg_id_t r : saved) {
        add(INSTR_CREATE_push(drcontext, reg(r)));
    }
    add(INSTR_CREATE_pushf(drcontext));  // ten words: the call leaves rsp 16-byte aligned
    add(INSTR_CREATE_cld(drcontext));
    add(INSTR_CREATE_mov_ld(drcontext, reg(DR_REG_RDI), slot(ThreadSlot::kArgument)));
    add(INSTR_CREATE_mov_ld(drcontext, reg(DR_REG_RSI), slot(ThreadSlot::kGroup)));
    add(INSTR_CREATE_mov_ld(drcontext, reg(DR_REG_RDX), slot(ThreadSlot::kRecorder)));
    add(INSTR_CREATE_mov_imm(drcontext, reg(DR_REG_RAX), immediate(function)));
    add(INSTR_CREATE_call_ind(drcontext, reg(DR_REG_RAX)));
    add(INSTR_CREATE_popf(drcontext));
    for (int i = static_cast<int>(sizeof saved / sizeof *saved) - 1; i >= 0; --i) {
        add(INSTR_CREATE_pop(drcontext, reg(saved[i])));
    }
    add(INSTR_CREATE_mov_ld(drcontext, reg(DR_REG_RSP), slot(ThreadSlot::kStackPointer)));
    add(INSTR_CREATE_jmp_ind(drcontext, slot(ThreadSlot::kReturn)));

    auto* memory = static_cast<app_pc>(
        dr_nonheap_alloc(dr_page_size(), DR_MEMPROT_READ | DR_MEMPROT_WRITE | DR_MEMPROT_EXEC));
    const app_pc end = instrlist_encode(drcontext, code, memory, false);
    DR_ASSERT(end != nullptr && end <= memory + dr_page_size());
    instrlist_clear_and_destroy(drcontext, code);
    dr_memory_protect(memory, dr_page_size(), DR_MEMPROT_READ | DR_MEMPROT_EXEC);
    return memory;
}

}  // namespace

void out_of_line_init(void* drcontext) {
    touch_code = generate(drcontext, reinterpret_cast<void*>(&touch_first));
    count_code = generate(drcontext, reinterpret_cast<void*>(&count_each));
}

app_pc out_of_line_touch() {
    return touch_code;
}
app_pc out_of_line_count() {
    return count_code;
}

void* permanent(size_t bytes) {
    static SpinLock lock;
    static char* next = nullptr;
    static size_t left = 0;
    constexpr size_t kBlock = 1 << 20;
    bytes = (bytes + 15) & ~size_t{15};
    SpinGuard guard(lock);
    if (bytes > left) {
        void* block = os::map_sparse(kBlock);
        DR_ASSERT(!os::failed(block) && bytes <= kBlock);
        next = static_cast<char*>(block);
        left = kBlock;
    }
    void* result = next;
    next += bytes;
    left -= bytes;
    return result;
}

}  // namespace numascape
