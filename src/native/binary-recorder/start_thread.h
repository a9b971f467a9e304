// SPDX-License-Identifier: Apache-2.0
//
// The recorder's own thread in a process that is attached to (release_thread.h): its code, and the
// system call that starts it. Each processor has these in its folder in arch/.
#pragma once

#include <atomic>
#include <cstdint>

extern "C" {
extern const char numascape_release_code[];
extern const char numascape_release_code_end[];
}

namespace numascape {

struct StartedThread {
    const char* code;                 // a copy of numascape_release_code
    char* stack;                      // what the thread unmaps at its end
    char* stack_pointer;              // where it begins
    void* word;                       // it waits until this is not 0; at +8: for how long at a time
    const uint64_t* signals;          // the signals that it blocks
    std::atomic<uint32_t>* is_alive;  // the kernel sets it to 0 at the thread's end
};

// Makes the call clone(flags), and returns its result.
long start_thread(long flags, const StartedThread& thread);

}  // namespace numascape
