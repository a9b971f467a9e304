// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plan.h"

namespace numascape::placer {

// The rule for the memory that the calling thread allocates now, or kNone. The call stack decides;
// it is read only as far as needed, and asked about once. `is_mapping` distinguishes an mmap from a
// block. It is called from the functions that the program calls; frames of this library do not
// count. Sets `unanswered` if there was no answer.
std::uint32_t rule_of_caller(const Plan& plan, bool is_mapping, bool& unanswered);

}  // namespace numascape::placer
