// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace numascape {

// The address of a symbol of the module whose ELF header is mapped at `start`; 0 if the module does
// not export it. Uses the module's hash table (DT_GNU_HASH). The module's memory may hold anything.
uint64_t dynamic_symbol(uint64_t start, uint64_t end, const char* name);

}  // namespace numascape
