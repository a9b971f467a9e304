// SPDX-License-Identifier: Apache-2.0
#include "phase_choice.h"

#include "os.h"

namespace numascape {
namespace {

constexpr uint64_t kMaxNameBytes = 255;

}  // namespace

void PhaseChoice::begin_if_other(ThreadRecorder& recorder, uint32_t phase) {
    if (phase != shard_.current_phase()) {
        phases_.begin(recorder, phase);
    }
}

// Has no effect while a mark applies.
void PhaseChoice::begin_region(ThreadRecorder& recorder) {
    if (mark_ == 0) {
        begin_if_other(recorder, region_.kind == PhaseKind::kRegion ? phases_.find(region_) : 0);
    }
}

void PhaseChoice::region_began(ThreadRecorder& recorder, uint64_t function, uint64_t caller) {
    SpinGuard guard(lock_);
    region_ = {PhaseKind::kRegion, function, caller, "", 0};
    begin_region(recorder);
}

void PhaseChoice::region_ended(ThreadRecorder& recorder) {
    SpinGuard guard(lock_);
    region_ = {};
    begin_region(recorder);
}

void PhaseChoice::mark_reached(ThreadRecorder& recorder, uint64_t pc, uint64_t name) {
    char text[kMaxNameBytes + 1];
    const size_t got = name != 0 ? os::read_memory(name, text, kMaxNameBytes) : 0;
    uint32_t length = 0;
    while (length < got && text[length] != '\0') {
        ++length;
    }
    SpinGuard guard(lock_);
    if (length == 0) {
        mark_ = 0;
        begin_region(recorder);
        return;
    }
    mark_ = phases_.find({PhaseKind::kMark, pc, 0, text, length});
    phases_.begin(recorder, mark_);
}

uint64_t PhaseChoice::follow_clock(ThreadRecorder& recorder, uint64_t session_begin,
                                   uint64_t every_ns) {
    const uint64_t now = os::realtime_ns();
    const uint64_t since = now > session_begin ? now - session_begin : 0;
    const uint64_t start = since / every_ns * every_ns;
    const uint64_t end = start + every_ns;
    SpinGuard guard(lock_);
    begin_if_other(recorder, phases_.find({PhaseKind::kTimeSlice, start, end, "", 0}));
    return end - since;
}

void PhaseChoice::after_fork(ThreadRecorder& self) {
    lock_.reset();
    SpinGuard guard(lock_);
    phases_.after_fork(self);
}

void PhaseChoice::close() {
    SpinGuard guard(lock_);
    phases_.close();
}

}  // namespace numascape
