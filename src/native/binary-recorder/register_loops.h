// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dr_api.h"

namespace numascape {

// Whether the code at `start`, which begins a basic block without accesses, belongs to a loop none
// of whose instructions accesses memory. Such a loop has no other sign of how long it runs.
bool in_register_loop(void* drcontext, app_pc start);

}  // namespace numascape
