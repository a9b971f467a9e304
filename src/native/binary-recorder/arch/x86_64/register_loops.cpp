// SPDX-License-Identifier: Apache-2.0
//
// Decodes the code from the block on, up to a jump back to the block or to a place before it. Then
// decodes the code from that place to the block. If there is a call, an indirect jump or an access,
// this is not such a loop.
#include "register_loops.h"

#include "access_kinds.h"
#include "pages.h"

namespace numascape {
namespace {

constexpr uint32_t kMaxInstructions = 64;  // of a loop
constexpr uint32_t kMaxBytes = 16;         // one more than the longest instruction

// Decodes one instruction of the program. Null: it cannot be read.
app_pc decode_at(void* drcontext, app_pc at, app_pc start, instr_t* into) {
    instr_reset(drcontext, into);
    const auto first = reinterpret_cast<uint64_t>(at);
    const bool readable = first >> kPageShift == reinterpret_cast<uint64_t>(start) >> kPageShift &&
                          first % kPageBytes + kMaxBytes <= kPageBytes;
    if (readable) {
        return decode(drcontext, at, into);
    }
    byte copy[kMaxBytes];
    size_t got = 0;
    if (!dr_safe_read(at, sizeof copy, copy, &got)) {
        return nullptr;
    }
    return decode_from_copy(drcontext, copy, at, into);
}

bool stays_in_registers(instr_t* instruction) {
    return !touches_data(instruction) && !instr_is_call(instruction) &&
           !instr_is_return(instruction) && !instr_is_mbr(instruction) &&
           !instr_is_syscall(instruction) && !instr_is_interrupt(instruction);
}

// No instruction from `at` up to `end` accesses memory.
bool only_registers(void* drcontext, app_pc at, app_pc end, instr_t* into) {
    for (uint32_t i = 0; i < kMaxInstructions && at < end; ++i) {
        const app_pc next = decode_at(drcontext, at, end, into);
        if (next == nullptr || !stays_in_registers(into)) {
            return false;
        }
        at = next;
    }
    return at == end;
}

}  // namespace

bool in_register_loop(void* drcontext, app_pc start) {
    instr_t instruction;
    instr_init(drcontext, &instruction);
    bool found = false;
    app_pc at = start;
    for (uint32_t i = 0; i < kMaxInstructions; ++i) {
        at = decode_at(drcontext, at, start, &instruction);
        if (at == nullptr || !stays_in_registers(&instruction)) {
            break;
        }
        if (!instr_is_cbr(&instruction) && !instr_is_ubr(&instruction)) {
            continue;
        }
        const app_pc target = instr_get_branch_target_pc(&instruction);
        if (target <= start) {
            found = only_registers(drcontext, target, start, &instruction);
            break;
        }
    }
    instr_free(drcontext, &instruction);
    return found;
}

}  // namespace numascape
