// SPDX-License-Identifier: Apache-2.0
//
// Asks `numascape run` for the rule of a call stack. Names need debug information and sources,
// which do not belong in the process of the program. Nothing here allocates memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan.h"
#include "python_frames.h"

namespace numascape::placer {

// The call stack of an allocation, innermost first.
struct AskedStack {
    const std::uint64_t* addresses;
    std::size_t count;
    const PythonFrame* python;  // the Python functions that are executed
    std::size_t python_count;
    bool is_mapping;
};

// kLater: the modules could not be visited now.
enum class Reply { kAnswer, kNone, kLater };

// The rule for the memory that was allocated with this call stack.
Reply ask_stack(const Plan& plan, const AskedStack& stack, StackAnswer& answer);

// The Python functions that the calling thread executes. Returns how many were found: none before
// `found_python` has returned true.
std::uint32_t python_functions(PythonFrame (&found)[PythonFrames::kMax]);

// Whether Python is among the modules that were loaded since the last time it was called.
bool found_python();

// Calls `take(const PlacedVariable&)` for the variables of all loaded modules that have a rule.
Reply ask_variables(const Plan& plan, void (*take)(const PlacedVariable&));

}  // namespace numascape::placer
