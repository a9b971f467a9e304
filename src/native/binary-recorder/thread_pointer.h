// SPDX-License-Identifier: Apache-2.0
//
// The address from which the program finds the thread-local variables of a thread.
#pragma once

#include <cstdint>

namespace numascape {

// The address for the calling thread; 0: it has none yet.
uint64_t thread_pointer();

// Whether a system call with this number may set it.
bool may_set_thread_pointer(int number);
// The address that the system call will set; 0: it sets none.
uint64_t thread_pointer_to_set(void* drcontext);

}  // namespace numascape
