// SPDX-License-Identifier: Apache-2.0
#include "pinning.h"

#include <sched.h>

#include <stdexcept>
#include <string>

namespace numascape::machine {

Pinning::Pinning() {
    if (hwloc_topology_init(&topology_) != 0) throw std::runtime_error("hwloc does not start");
    // Only CPUs are needed; reading caches and other objects takes time on large machines.
    hwloc_topology_set_all_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(topology_) != 0) {
        hwloc_topology_destroy(topology_);
        throw std::runtime_error("hwloc finds no CPUs");
    }
}

Pinning::~Pinning() {
    hwloc_topology_destroy(topology_);
}

void Pinning::pin(unsigned cpu) const {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_bitmap_only(set, cpu);
    const int flags = HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT;
    const bool bound = hwloc_set_cpubind(topology_, set, flags) == 0;
    hwloc_bitmap_free(set);
    if (!bound || sched_getcpu() != static_cast<int>(cpu)) {
        throw std::runtime_error("cannot run on CPU " + std::to_string(cpu));
    }
}

}  // namespace numascape::machine
