// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dr_api.h"

namespace numascape {

// A basic block without accesses begins at `start`. Returns whether it belongs to a loop whose
// instructions do not access memory. Nothing else shows how long such a loop runs.
bool in_register_loop(void* drcontext, app_pc start);

}  // namespace numascape
