// SPDX-License-Identifier: Apache-2.0
//
// The modules (program and libraries) that are loaded now.
#pragma once

#include <cstddef>
#include <cstdint>

struct dl_phdr_info;

namespace numascape::placer {

// As dl_iterate_phdr, which must not be called directly: it holds a lock of the C library, which
// stays held in the child if another thread forks meanwhile.
int visit_modules(int (*visit)(dl_phdr_info*, std::size_t, void*), void* argument);

// A number that grows when modules are loaded.
std::uint64_t module_loads();

// Called before and after a fork, so that no other thread visits modules.
void lock_modules();
void unlock_modules();

}  // namespace numascape::placer
