// SPDX-License-Identifier: Apache-2.0
//
// Questions to `numascape run`, which knows what programmers call things: names need debug
// information and sources, which have no place in the program's process. Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan.h"

namespace numascape::placer {

// Which rule is about what was allocated with this call stack. False when nobody answers.
bool ask_stack(const Plan& plan, const std::uint64_t* addresses, std::size_t count, bool is_mapping,
               StackAnswer& answer);

// `take(const PlacedVariable&)` for the variables of all loaded modules that a rule is about.
// False when nobody answers.
bool ask_variables(const Plan& plan, void (*take)(const PlacedVariable&));

// A number that grows when modules are loaded.
std::uint64_t module_loads();

}  // namespace numascape::placer
