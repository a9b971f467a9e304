// SPDX-License-Identifier: Apache-2.0
//
// Heap blocks. The allocation functions of every module are hooked at their first instruction. To
// see what they return, the return address of the outermost call is replaced by that of a stub,
// which restores it.
//
// The hooks run on the slow path (slow_paths.cpp), in the thread of the program and on our own
// stack. They call no function of DynamoRIO, because the vector registers of the program are still
// in place.
#include "allocations.h"

#include "drmgr.h"
#include "heap_blocks.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

HeapBlocks heap(shard, memory_regions);

// A replaced return address, and its place on the stack.
struct HijackedReturn {
    uint64_t stack_pointer;
    uint64_t return_address;
};

// The allocator call of a thread. Hooked functions call each other (operator new calls malloc): the
// outermost call is the program's.
struct CallInProgress {
    bool active;
    Hooked kind;
    uint64_t stack_pointer;  // at its first instruction
    uint64_t bytes;
    uint64_t out_pointer;
    uint64_t stack_id;
    uint64_t mapped_start;  // mapping made by the allocator during the call
    uint64_t mapped_end;
    // There is usually one. There are more if a signal handler allocates on its own stack at the
    // same time.
    uint32_t hijacked_count;
    HijackedReturn hijacked[kMaxHijackedReturns];
};

int call_index = -1;
std::atomic<bool> stopping{false};  // no more return addresses are hijacked

CallInProgress* this_call() {
    return static_cast<CallInProgress*>(read_thread_slot(ThreadSlot::kCall));
}

CallInProgress* call_of(void* drcontext) {
    return static_cast<CallInProgress*>(drmgr_get_tls_field(drcontext, call_index));
}

// Restores the return addresses on the stack of the calling thread.
void restore_return(CallInProgress& call) {
    for (uint32_t i = 0; i < call.hijacked_count; ++i) {
        uint64_t* word = return_address_at(call.hijacked[i].stack_pointer);
        if (*word == return_stub()) {
            *word = call.hijacked[i].return_address;
        }
    }
    call.hijacked_count = 0;
    call.active = false;
}

void thread_started(void* drcontext) {
    auto* call = static_cast<CallInProgress*>(dr_thread_alloc(drcontext, sizeof(CallInProgress)));
    *call = {};
    drmgr_set_tls_field(drcontext, call_index, call);
    write_thread_slot(ThreadSlot::kCall, call);
}

void thread_ended(void* drcontext) {
    CallInProgress* call = call_of(drcontext);
    dr_thread_free(drcontext, call, sizeof(CallInProgress));
    drmgr_set_tls_field(drcontext, call_index, nullptr);
}

// The return address that was replaced at `stack_pointer`; null if there is none.
HijackedReturn* find_hijacked(CallInProgress& call, uint64_t stack_pointer) {
    for (uint32_t i = call.hijacked_count; i > 0; --i) {
        if (call.hijacked[i - 1].stack_pointer == stack_pointer) {
            return &call.hijacked[i - 1];
        }
    }
    return nullptr;
}

void read_arguments(CallInProgress& call, const ProgramRegisters& registers) {
    switch (call.kind) {
        case Hooked::kMalloc:
            call.bytes = registers.argument(0);
            break;
        case Hooked::kCalloc:
            call.bytes = registers.argument(0) * registers.argument(1);
            break;
        case Hooked::kRealloc:
        case Hooked::kAligned:
            call.bytes = registers.argument(1);
            break;
        case Hooked::kReallocArray:
            call.bytes = registers.argument(1) * registers.argument(2);
            break;
        case Hooked::kPosixMemalign:
            call.out_pointer = registers.argument(0);
            call.bytes = registers.argument(2);
            break;
        default:
            break;
    }
}

bool frees_argument(Hooked kind) {
    return kind == Hooked::kRealloc || kind == Hooked::kReallocArray;
}

}  // namespace

void allocation_called(const FunctionHook& hook, ThreadRecorder& recorder,
                       const ProgramRegisters& registers, uint64_t stack_pointer) {
    CallInProgress* call = this_call();
    if (call == nullptr) {
        return;
    }
    if (hook.kind == Hooked::kUnwind) {
        restore_return(*call);  // the unwinding of exceptions needs the return addresses
        return;
    }
    if (stopping.load(std::memory_order_relaxed) && hook.kind != Hooked::kFree) {
        return;
    }
    // This call is inside another hooked call, because its stack pointer is lower. It is usually
    // higher if longjmp has left the other call.
    if (call->active && stack_pointer < call->stack_pointer) {
        return;
    }
    if (hook.kind == Hooked::kFree) {
        heap.drop(recorder, registers.argument(0));
        return;
    }
    if (call->hijacked_count == kMaxHijackedReturns) {
        call->hijacked_count = 0;  // longjmp has left all of them
    }
    const uint64_t return_address = *return_address_at(stack_pointer);
    if (in_return_stub(reinterpret_cast<app_pc>(return_address))) {
        return;  // a hooked function's tail call
    }
    call->active = true;
    call->kind = hook.kind;
    call->stack_pointer = stack_pointer;
    call->out_pointer = call->mapped_start = call->mapped_end = 0;
    read_arguments(*call, registers);
    call->stack_id = call_stack(recorder, registers, hook.pc, stack_pointer, call->bytes);
    if (frees_argument(hook.kind)) {
        heap.drop(recorder, registers.argument(0));
    }
    call->hijacked[call->hijacked_count++] = {stack_pointer, return_address};
    *return_address_at(stack_pointer) = return_stub();
}

void allocations_exit() {
    heap.close();
}

void allocations_stop() {
    stopping.store(true);
}

void allocations_release(void* drcontext) {
    const CallInProgress* call = call_of(drcontext);
    for (uint32_t i = 0; call != nullptr && i < call->hijacked_count; ++i) {
        const HijackedReturn& hijacked = call->hijacked[i];
        uint64_t word = 0;
        // If longjmp has left the call, its stack may no longer be mapped.
        if (os::read_memory(hijacked.stack_pointer, &word, sizeof word) == sizeof word &&
            word == return_stub()) {
            *return_address_at(hijacked.stack_pointer) = hijacked.return_address;
        }
    }
}

void allocation_returned(ThreadRecorder& recorder, uint64_t result, uint64_t stack_pointer) {
    CallInProgress* call = this_call();
    if (call == nullptr) {
        return;
    }
    const uint64_t entry = stack_pointer_at_entry(stack_pointer);
    if (HijackedReturn* hijacked = find_hijacked(*call, entry)) {
        *return_address_at(entry) = hijacked->return_address;  // the stub's ret reads it
        *hijacked = call->hijacked[--call->hijacked_count];
    }
    if (!call->active || entry != call->stack_pointer) {
        return;
    }
    call->active = false;
    if (call->kind == Hooked::kPosixMemalign) {
        result = static_cast<int>(result) == 0
                     ? *reinterpret_cast<const uint64_t*>(call->out_pointer)
                     : 0;
    }
    if (result == 0 || call->bytes == 0) {
        return;
    }
    heap.add(recorder, {result, call->bytes, call->stack_id, call->mapped_start, call->mapped_end});
}

uint32_t hijacked_returns(HijackedWord* into) {
    const CallInProgress* call = this_call();
    const uint32_t count = call != nullptr ? call->hijacked_count : 0;
    for (uint32_t i = 0; i < count; ++i) {
        const HijackedReturn& hijacked = call->hijacked[i];
        into[i] = {return_stub(), hijacked.return_address, hijacked.stack_pointer};
    }
    return count;
}

const void* block_entries() {
    return heap.entries();
}

uint64_t program_return(void* drcontext, uint64_t stack_pointer) {
    // Changes no state: if the thread cannot be released here, it is stopped again elsewhere.
    CallInProgress* call = call_of(drcontext);
    const uint64_t entry = stack_pointer_at_entry(stack_pointer);
    const HijackedReturn* hijacked = call != nullptr ? find_hijacked(*call, entry) : nullptr;
    return hijacked != nullptr ? hijacked->return_address : *return_address_at(entry);
}

void allocations_init() {
    const bool opened = heap.open();
    DR_ASSERT(opened);
    (void)opened;
    call_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
}

bool inside_allocator() {
    const CallInProgress* call = this_call();
    return call != nullptr && call->active;
}

void allocator_mapped(uint64_t start, uint64_t bytes) {
    CallInProgress* call = this_call();
    call->mapped_start = start;
    call->mapped_end = start + bytes;
}

void write_live_blocks(ThreadRecorder& recorder, uint64_t time) {
    heap.write_live(recorder, time);
}

void allocations_after_fork() {
    heap.after_fork();
}

}  // namespace numascape
