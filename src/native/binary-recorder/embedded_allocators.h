// SPDX-License-Identifier: Apache-2.0
//
// Allocators that a library or a program contains and uses instead of the C library's malloc:
// jemalloc (for example from a Rust crate) and mimalloc. Their functions have names of their own.
#pragma once

#include <string_view>

#include "hooks.h"

namespace numascape {

// Finds out what the function does. False if it is no function of such an allocator.
bool find_embedded_allocator(std::string_view function, Hooked& kind);

// Calls visit for the functions of such allocators that the module exports.
void each_exported_allocator(const module_data_t* module,
                             void (*visit)(const module_data_t*, app_pc, Hooked));

}  // namespace numascape
