// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace numascape {

// The program gets a SIGILL at `pc`. If the instruction there cannot be decoded, prints one line to
// standard error.
void tell_of_undecoded(void* drcontext, uint64_t pc);

}  // namespace numascape
