// SPDX-License-Identifier: Apache-2.0
//
// Parallel regions: calls of the functions by which compilers begin them. The return address of the
// call is replaced by that of a stub, which sees the end of the region. If regions are nested, or
// if several threads begin regions at the same time, the first one is the phase until all have
// ended.
#include "dr_api.h"
#include "drmgr.h"
#include "os.h"
#include "phases.h"
#include "recorder.h"

namespace numascape {
namespace {

// The outermost region that a thread began.
struct RegionCall {
    uint64_t stack_pointer;  // where its return address was replaced; 0 = nowhere
    uint64_t return_address;
    bool open;       // begun by a start function; ends when the end function is called
    uint32_t inner;  // open regions inside this one, which call the end function, too
};

int call_index = -1;
std::atomic<bool> stopping{false};
std::atomic<uint32_t> active{0};  // threads that began a region that has not ended

RegionCall* this_call() {
    return static_cast<RegionCall*>(read_thread_slot(ThreadSlot::kRegion));
}

// Whether the replaced return address is still in place. If not, longjmp has left the region. The
// memory of the stack may no longer exist.
bool holds_stub(uint64_t stack_pointer) {
    uint64_t word = 0;
    return os::read_memory(stack_pointer, &word, sizeof word) == sizeof word &&
           word == region_return_stub();
}

void enter(ThreadRecorder& recorder, uint64_t function, uint64_t caller) {
    if (active.fetch_add(1) == 0) {
        region_began(recorder, function, caller);
    }
}

void leave(ThreadRecorder& recorder) {
    if (active.fetch_sub(1) == 1) {
        region_ended(recorder);
    }
}

void end_open_region(RegionCall& call, ThreadRecorder& recorder) {
    if (call.inner > 0) {
        --call.inner;
    } else if (call.open) {
        call.open = false;
        leave(recorder);
    }
}

void thread_started(void* drcontext) {
    auto* call = static_cast<RegionCall*>(dr_thread_alloc(drcontext, sizeof(RegionCall)));
    *call = {};
    drmgr_set_tls_field(drcontext, call_index, call);
    write_thread_slot(ThreadSlot::kRegion, call);
}

void thread_ended(void* drcontext) {
    auto* call = static_cast<RegionCall*>(drmgr_get_tls_field(drcontext, call_index));
    ThreadRecorder* recorder = dr_get_current_drcontext() == drcontext ? self() : nullptr;
    if (!detached && recorder != nullptr && (call->stack_pointer != 0 || call->open)) {
        leave(*recorder);
    }
    dr_thread_free(drcontext, call, sizeof(RegionCall));
    drmgr_set_tls_field(drcontext, call_index, nullptr);
}

}  // namespace

void region_called(const FunctionHook& hook, ThreadRecorder& recorder,
                   const ProgramRegisters& registers, uint64_t stack_pointer) {
    RegionCall* call = this_call();
    if (call == nullptr || stopping.load(std::memory_order_relaxed)) {
        return;
    }
    if (hook.kind == Hooked::kRegionEnd) {
        end_open_region(*call, recorder);
        return;
    }
    if (call->stack_pointer != 0 && stack_pointer > call->stack_pointer &&
        !holds_stub(call->stack_pointer)) {
        call->stack_pointer = 0;
        leave(recorder);
    }
    if (call->open || call->stack_pointer != 0) {
        call->inner += call->open ? 1 : 0;
        return;
    }
    uint64_t* word = return_address_at(stack_pointer);
    const uint64_t caller = *word;
    if (in_return_stub(reinterpret_cast<app_pc>(caller))) {
        return;  // a hooked function's tail call
    }
    if (hook.kind == Hooked::kRegionStart) {
        call->open = true;
    } else {
        call->return_address = caller;
        call->stack_pointer = stack_pointer;
        *word = region_return_stub();
    }
    enter(recorder,
          hook.kind == Hooked::kRegionThird ? registers.argument(2) : registers.argument(0),
          caller);
}

void region_returned(ThreadRecorder& recorder, uint64_t stack_pointer) {
    RegionCall* call = this_call();
    const uint64_t entry = stack_pointer_at_entry(stack_pointer);
    if (call != nullptr && call->stack_pointer == entry) {
        *return_address_at(entry) = call->return_address;
        call->stack_pointer = 0;
        leave(recorder);
    }
}

uint64_t region_return(void* drcontext, uint64_t stack_pointer) {
    const auto* call = static_cast<RegionCall*>(drmgr_get_tls_field(drcontext, call_index));
    const uint64_t entry = stack_pointer_at_entry(stack_pointer);
    return call != nullptr && call->stack_pointer == entry ? call->return_address
                                                           : *return_address_at(entry);
}

uint64_t region_return_address() {
    const RegionCall* call = this_call();
    return call != nullptr ? call->return_address : 0;
}

void regions_stop() {
    stopping.store(true);
}

void regions_release(void* drcontext) {
    const auto* call = static_cast<RegionCall*>(drmgr_get_tls_field(drcontext, call_index));
    if (call != nullptr && call->stack_pointer != 0 && holds_stub(call->stack_pointer)) {
        *return_address_at(call->stack_pointer) = call->return_address;
    }
}

void regions_after_fork() {
    const RegionCall* call = this_call();
    active.store(call != nullptr && (call->stack_pointer != 0 || call->open) ? 1 : 0);
}

void regions_init() {
    call_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
}

}  // namespace numascape
