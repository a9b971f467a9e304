// SPDX-License-Identifier: Apache-2.0
//
// Follows the large frames of functions (shard/stack_frames.h), in the thread of the program.
#include <atomic>

#include "dr_api.h"
#include "drmgr.h"
#include "dynamorio_registers.h"
#include "frame_changes.h"
#include "recorder.h"
#include "spin_lock.h"
#include "stack_frames.h"

namespace numascape {
namespace {

int frames_index = -1;

// The code of functions that have made large frames. If there are more functions, the ends of their
// frames are not seen: such a frame ends when another one takes its place.
class CodeOfLargeFrames {
  public:
    void add(uint64_t pc) {
        uint64_t start = 0;
        uint64_t end = 0;
        if (contains(pc) || !call_stacks.code().find_function(pc, start, end)) {
            return;
        }
        SpinGuard guard(lock_);
        const uint32_t count = count_.load(std::memory_order_relaxed);
        if (count < kMax) {
            functions_[count] = {start, end};
            count_.store(count + 1, std::memory_order_release);
        }
    }
    bool contains(uint64_t pc) const {
        const uint32_t count = count_.load(std::memory_order_acquire);
        for (uint32_t i = 0; i < count; ++i) {
            if (pc - functions_[i].start < functions_[i].end - functions_[i].start) {
                return true;
            }
        }
        return false;
    }
    void after_fork() { lock_.reset(); }

  private:
    struct Function {
        uint64_t start;
        uint64_t end;
    };
    static constexpr uint32_t kMax = 1024;
    SpinLock lock_;
    std::atomic<uint32_t> count_{0};
    Function functions_[kMax];
};

CodeOfLargeFrames code;

StackFrames* this_threads_frames() {
    return static_cast<StackFrames*>(drmgr_get_tls_field(dr_get_current_drcontext(), frames_index));
}

bool is_recorded(const ThreadRecorder* recorder) {
    return recorder != nullptr && !detached && shard.makes_calls();
}

bool is_on_own_stack(const ThreadRecorder& recorder, uint64_t start, uint64_t end) {
    return end >= recorder.stack_start && start <= recorder.stack_end;
}

// Called from the code cache, before an instruction changes the stack pointer by a FrameChange of
// this kind.
void frame_changes(uint64_t pc, uint64_t kind, int64_t bytes, uint64_t stack_pointer,
                   uint64_t value, uint64_t frame_pointer) {
    ThreadRecorder* recorder = self();
    StackFrames* frames = this_threads_frames();
    if (!is_recorded(recorder) || frames == nullptr) {
        return;
    }
    const uint64_t after = kind == FrameChange::kGrowsByRegister
                               ? stack_pointer - value
                               : value + static_cast<uint64_t>(bytes);
    if (after > stack_pointer) {
        if (is_on_own_stack(*recorder, after, stack_pointer)) {
            frames->shrank(shard, *recorder, after);
        }
        return;
    }
    if (stack_pointer - after < kLargeFrameBytes ||
        !is_on_own_stack(*recorder, stack_pointer, after)) {
        return;
    }
    if (frames->has(pc, stack_pointer, after)) {
        return;
    }
    const bool of_data = kind == FrameChange::kGrowsByRegister || kind == FrameChange::kMoves;
    if (of_data) {
        code.add(pc);
    }
    const StackFrameFlags probed = kind == FrameChange::kProbes ? kFrameProbed : StackFrameFlags{};
    const uint8_t flags = of_data ? kFrameOfData : probed;
    frames->grew(shard, *recorder,
                 {pc, stack_pointer, after, frame_pointer,
                  call_stacks.frame_address(pc, stack_pointer, frame_pointer), flags});
}

void thread_started(void* drcontext) {
    auto* frames = static_cast<StackFrames*>(dr_thread_alloc(drcontext, sizeof(StackFrames)));
    frames->clear();
    drmgr_set_tls_field(drcontext, frames_index, frames);
}

void thread_ended(void* drcontext) {
    dr_thread_free(drcontext, drmgr_get_tls_field(drcontext, frames_index), sizeof(StackFrames));
    drmgr_set_tls_field(drcontext, frames_index, nullptr);
}

}  // namespace

bool changes_large_frame(instr_t* instruction) {
    const FrameChange change = frame_change(instruction);
    const auto pc = reinterpret_cast<uint64_t>(instr_get_app_pc(instruction));
    switch (change.kind) {
        case FrameChange::kNone:
            return false;
        case FrameChange::kEnds:
            return code.contains(pc);
        case FrameChange::kGrows:
        case FrameChange::kProbes:
            code.add(pc);
            return true;
        default:
            return true;
    }
}

void insert_frame_change(const Emitter& emit) {
    if (!instr_is_app(emit.where) || !changes_large_frame(emit.where)) {
        return;
    }
    const FrameChange change = frame_change(emit.where);
    const auto pc = reinterpret_cast<ptr_int_t>(instr_get_app_pc(emit.where));
    instr_t* done = change.kind == FrameChange::kGrowsByRegister
                        ? insert_unless_small(emit, change.reg)
                        : nullptr;
    dr_insert_clean_call(
        emit.drcontext, emit.block, emit.where, reinterpret_cast<void*>(frame_changes), false, 6,
        OPND_CREATE_INTPTR(pc), OPND_CREATE_INTPTR(ptr_int_t{change.kind}),
        OPND_CREATE_INTPTR(ptr_int_t{change.bytes}), opnd_create_reg(kStackPointerRegister),
        opnd_create_reg(change.reg), opnd_create_reg(kFramePointerRegister));
    if (done != nullptr) {
        emit.add(done);
    }
}

void large_frames_after_fork(ThreadRecorder& recorder, uint64_t time) {
    code.after_fork();
    if (const StackFrames* frames = this_threads_frames()) {
        frames->write_all(shard, recorder, time);
    }
}

void large_frames_init() {
    frames_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
}

}  // namespace numascape
