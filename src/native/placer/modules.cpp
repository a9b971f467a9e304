// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

#include <link.h>

#include "spin_lock.h"

namespace numascape::placer {
namespace {

SpinLock visiting;

}  // namespace

int visit_modules(int (*visit)(dl_phdr_info*, std::size_t, void*), void* argument) {
    SpinGuard guard(visiting);
    return dl_iterate_phdr(visit, argument);
}

std::uint64_t module_loads() {
    std::uint64_t loads = 0;
    visit_modules(
        [](dl_phdr_info* info, std::size_t, void* found) {
            *static_cast<std::uint64_t*>(found) = info->dlpi_adds;
            return 1;
        },
        &loads);
    return loads;
}

void lock_modules() {
    visiting.lock();
}

void unlock_modules() {
    visiting.unlock();
}

}  // namespace numascape::placer
