// SPDX-License-Identifier: Apache-2.0
//
// Follows the system calls of the program: code runs before and after each call, and writes its
// effects on memory to the shard.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "address_limit.h"
#include "burst_cost.h"
#include "dr_api.h"
#include "drmgr.h"
#include "dynamorio_registers.h"
#include "os.h"
#include "recorder.h"
#include "thread_pointer.h"

namespace numascape {
namespace {

int pending_index = -1;
constexpr long kNone = -1;

bool read_program(uint64_t address, void* into, size_t bytes) {
    size_t got = 0;
    return dr_safe_read(reinterpret_cast<void*>(address), bytes, into, &got) && got == bytes;
}

uint64_t stack_here(void* drcontext, ThreadRecorder& recorder) {
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = static_cast<dr_mcontext_flags_t>(DR_MC_INTEGER | DR_MC_CONTROL);
    dr_get_mcontext(drcontext, &context);
    // The call stack does not contain Python functions, because most mappings are made by
    // allocators, for later allocations by any function.
    return call_stack(recorder, program_registers(context), reinterpret_cast<uint64_t>(context.pc),
                      context.xsp, 0);
}

// Called after the call, if it made a first touch. `drcontext` is that of the calling thread.
uint64_t callers_of_this_call(ThreadRecorder& recorder, const void* drcontext) {
    dr_mcontext_t context;
    context.size = sizeof context;
    context.flags = static_cast<dr_mcontext_flags_t>(DR_MC_INTEGER | DR_MC_CONTROL);
    dr_get_mcontext(const_cast<void*>(drcontext), &context);
    return callers_of_kernel(recorder, {reinterpret_cast<uint64_t>(context.pc), context.xsp,
                                        frame_pointer(program_registers(context))});
}

bool of_interest(void*, int number) {
    return number == SYS_execve || number == SYS_mlockall || number == SYS_munlockall ||
           number == SYS_prctl || may_set_thread_pointer(number) || concerns_limits(number) ||
           has_memory_effects(number);
}

SystemCall call_of(void* drcontext, int number) {
    SystemCall call{number, {}, {}};
    for (int i = 0; i < 6; ++i) {
        call.arguments[i] = dr_syscall_get_param(drcontext, i);
    }
    return call;
}

// Whether the kernel has to make the call.
bool made_by_kernel(void* drcontext, const MadeCall& made) {
    if (made.made) {
        dr_syscall_set_result(drcontext, static_cast<reg_t>(made.result));
    }
    return !made.made;
}

bool before_call(void* drcontext, int number) {
    ThreadRecorder* recorder = self();
    const OwnWork own(recorder, OwnWork::kOfSystemCall);
    auto* pending = static_cast<PendingCall*>(drmgr_get_tls_field(drcontext, pending_index));
    if (recorder == nullptr || pending == nullptr || !of_interest(drcontext, number)) {
        return true;
    }
    if (number == SYS_execve) {
        pass_address_limit_on(drcontext);
        if (shard.is_of_this_process()) {  // not in a child of vfork
            shard.set_flag(kShardReplaced);
        }
    } else if (number == SYS_mlockall) {
        const long result = locked_memory.lock_all(*recorder, dr_syscall_get_param(drcontext, 0));
        return made_by_kernel(drcontext, {true, result});
    } else if (number == SYS_munlockall) {
        locked_memory.end();
    } else if (number == SYS_prctl) {
        if (os::may_forbid_ticks(number, static_cast<long>(dr_syscall_get_param(drcontext, 0)))) {
            os::expect_forbidden_ticks();
        }
    } else if (may_set_thread_pointer(number)) {
        const uint64_t pointer = thread_pointer_to_set(drcontext);
        if (pointer != 0 && shard.is_of_this_process()) {
            shard.log_thread_pointer(*recorder, pointer);
        }
    } else if (concerns_limits(number)) {
        return made_by_kernel(drcontext, call_for_address_limit(call_of(drcontext, number)));
    } else {
        *pending = {};
        pending->call = call_of(drcontext, number);
        if (!made_by_kernel(drcontext, hold_address_limit(pending->call))) {
            pending->call.number = kNone;
            return false;
        }
        if (makes_mapping(number) && !inside_allocator()) {
            pending->stack_id = stack_here(drcontext, *recorder);
        }
        memory.before(*recorder, *pending);
    }
    return true;
}

void after_call(void* drcontext, int number) {
    if (number == SYS_execve && shard.is_of_this_process()) {
        shard.clear_flag(kShardReplaced);  // it has failed
    }
    ThreadRecorder* recorder = self();
    const OwnWork own(recorder, OwnWork::kOfSystemCall);
    auto* pending = static_cast<PendingCall*>(drmgr_get_tls_field(drcontext, pending_index));
    if (recorder == nullptr || pending == nullptr || pending->call.number != number ||
        !has_memory_effects(number)) {
        return;
    }
    const auto result = static_cast<long>(dr_syscall_get_result(drcontext));
    const bool by_allocator = inside_allocator();
    pending->kernel = {0, callers_of_this_call, drcontext};
    const AddressRange mapped = memory.after(*recorder, *pending, result, by_allocator);
    locked_memory.mapped(*recorder, mapped,
                         number != SYS_mmap || pending->call.arguments[2] != PROT_NONE);
    pending->call.number = kNone;
    if (by_allocator && mapped.bytes != 0) {
        allocator_mapped(mapped.start, mapped.bytes);
    }
}

void thread_started(void* drcontext) {
    auto* pending = static_cast<PendingCall*>(dr_thread_alloc(drcontext, sizeof(PendingCall)));
    *pending = {};
    pending->call.number = kNone;
    drmgr_set_tls_field(drcontext, pending_index, pending);
}

void thread_ended(void* drcontext) {
    dr_thread_free(drcontext, drmgr_get_tls_field(drcontext, pending_index), sizeof(PendingCall));
    drmgr_set_tls_field(drcontext, pending_index, nullptr);
}

}  // namespace

constinit MemoryLog memory(shard, memory_regions, read_program);
constinit LockedMemory locked_memory(memory, each_mapping, false);

void system_calls_init() {
    pending_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
    dr_register_filter_syscall_event(of_interest);
    drmgr_register_pre_syscall_event(before_call);
    drmgr_register_post_syscall_event(after_call);
    // DynamoRIO emulates brk: the program's break is not that of the kernel.
    memory.follow_break(reinterpret_cast<uint64_t>(dr_raw_brk(nullptr)));
}

}  // namespace numascape
