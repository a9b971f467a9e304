// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

#include <atomic>

#include <link.h>

#include "held_signals.h"
#include "next_function.h"
#include "os.h"

namespace numascape::placer {
namespace {

using Iterate = int (*)(Visitor, void*);

// A thread of the second kind first announces itself, and then waits until there is none of the
// first kind. Those do not wait.
std::atomic<int> own_visits{0};
std::atomic<int> programs_visits_and_forks{0};

Iterate find_iterate() {
    static std::atomic<Iterate> found{nullptr};
    Iterate iterate = found.load();
    if (iterate == nullptr) {
        find_next(iterate, "dl_iterate_phdr");
        found.store(iterate);
    }
    return iterate;
}

// Before the program has threads, and handlers of signals.
[[gnu::constructor]] void find_early() {
    find_iterate();
}

}  // namespace

bool visit_modules(Visitor visit, void* argument) {
    const os::HeldSignals held;  // a handler may fork, or visit the modules
    own_visits.fetch_add(1);
    const bool may = programs_visits_and_forks.load() == 0;
    if (may) find_iterate()(visit, argument);
    own_visits.fetch_sub(1);
    return may;
}

std::uint64_t module_loads() {
    std::uint64_t loads = kUnknownLoads;
    visit_modules(
        [](dl_phdr_info* info, std::size_t, void* found) {
            *static_cast<std::uint64_t*>(found) = info->dlpi_adds;
            return 1;
        },
        &loads);
    return loads;
}

void lock_modules() {
    programs_visits_and_forks.fetch_add(1);
    while (own_visits.load() != 0) os::yield();
}

// In the child of a fork, visits of other threads of the program stay counted, because they hold
// the lock of the C library for ever.
void unlock_modules() {
    programs_visits_and_forks.fetch_sub(1);
}

}  // namespace numascape::placer

#pragma GCC visibility push(default)
extern "C" int dl_iterate_phdr(numascape::placer::Visitor visit, void* argument) {
    numascape::placer::lock_modules();
    const int result = numascape::placer::find_iterate()(visit, argument);
    numascape::placer::unlock_modules();
    return result;
}
#pragma GCC visibility pop
