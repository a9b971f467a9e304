// SPDX-License-Identifier: Apache-2.0
#include "dr_api.h"
#include "dynamorio_registers.h"
#include "recorder.h"

namespace numascape {
namespace {

reg_id_t slot_segment = DR_REG_NULL;
uint slot_offset = 0;

}  // namespace

void thread_slots_init() {
    dr_raw_tls_calloc(&slot_segment, &slot_offset, static_cast<uint>(ThreadSlot::kCount), 0);
    DR_ASSERT_MSG(slot_segment == kStorageRegister, "thread-local storage is elsewhere");
}

void thread_slots_exit() {
    dr_raw_tls_cfree(slot_offset, static_cast<uint>(ThreadSlot::kCount));
}

opnd_t thread_slot(void* drcontext, ThreadSlot slot) {
    return dr_raw_tls_opnd(drcontext, slot_segment, slot_offset + static_cast<unsigned>(slot) * 8);
}

void load_thread_slot(void* drcontext, instrlist_t* block, instr_t* where, ThreadSlot slot,
                      reg_id_t into) {
    dr_insert_read_raw_tls(drcontext, block, where, slot_segment,
                           slot_offset + static_cast<unsigned>(slot) * 8, into);
}

// Uses kStorageRegister, because asking for the address of the storage costs a system call.
void write_thread_slot(ThreadSlot slot, const void* value) {
    const uint64_t at = slot_offset + static_cast<unsigned>(slot) * 8;
    write_storage(at, reinterpret_cast<uint64_t>(value));
}

void* const* thread_slots() {
    return reinterpret_cast<void* const*>(static_cast<byte*>(dr_get_dr_segment_base(slot_segment)) +
                                          slot_offset);
}

void* read_thread_slot(ThreadSlot slot) {
    const uint64_t at = slot_offset + static_cast<unsigned>(slot) * 8;
    return reinterpret_cast<void*>(read_storage(at));
}

ThreadRecorder* self() {
    return static_cast<ThreadRecorder*>(read_thread_slot(ThreadSlot::kRecorder));
}

}  // namespace numascape
