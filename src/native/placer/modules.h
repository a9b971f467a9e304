// SPDX-License-Identifier: Apache-2.0
//
// The modules of the process. The C library holds a lock while it tells them (dl_iterate_phdr). The
// program holds the same lock while its own visitor runs, and its visitor may wait for a thread
// that allocates. So an allocation never waits for a visit of the program. A child of a fork gets
// the lock as it is at this moment: if another thread holds it, then for ever. So there is no visit
// of ours during a fork.
#pragma once

#include <cstddef>
#include <cstdint>

struct dl_phdr_info;

namespace numascape::placer {

using Visitor = int (*)(dl_phdr_info*, std::size_t, void*);

// As dl_iterate_phdr. False, without a visit, while the program visits the modules, or forks.
bool visit_modules(Visitor visit, void* argument);

// How many modules have been loaded so far, or kUnknownLoads.
inline constexpr std::uint64_t kUnknownLoads = ~std::uint64_t{0};
std::uint64_t module_loads();

// For a fork: waits until no thread visits the modules for us, and lets none begin.
void lock_modules();
void unlock_modules();

}  // namespace numascape::placer
