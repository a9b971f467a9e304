// SPDX-License-Identifier: Apache-2.0
//
// The address from which the program finds the thread-local variables of a thread.
#pragma once

#include <cstdint>

namespace numascape {

// Of the calling thread; 0: it has none yet.
uint64_t thread_pointer();

// A system call with this number may set it.
bool may_set_thread_pointer(int number);
// What the system call that begins sets it to; 0: it does not set it.
uint64_t thread_pointer_to_set(void* drcontext);

}  // namespace numascape
