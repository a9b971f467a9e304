// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "module_map.h"
#include "symbols.h"

namespace numascape::symbols {

// The module's variables with static storage, by address and without overlap: its data symbols,
// with names and lines from debug information. COMMON blocks, and structures with members of at
// least a page, are split into their members.
std::vector<Global> module_globals(const LoadedModule& module);
// The same for the variables that each thread has; addresses as for Storage::kThread.
std::vector<Global> module_thread_variables(const LoadedModule& module);

}  // namespace numascape::symbols
