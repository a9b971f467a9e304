// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plan.h"

namespace numascape::placer {

// The rule for what the calling thread allocates now, or kNone: by its call stack, which is looked
// at only as far as needed to know, and asked about once. `is_mapping` tells an mmap from a block.
// Called from the functions that the program calls; this library's own frames do not count.
// Sets `unanswered` when nobody could be asked.
std::uint32_t rule_of_caller(const Plan& plan, bool is_mapping, bool& unanswered);

}  // namespace numascape::placer
