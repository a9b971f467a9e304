// SPDX-License-Identifier: Apache-2.0
//
// Binds threads to CPUs through hwloc.
#pragma once

#include <hwloc.h>

namespace numascape::machine {

// Knows the CPUs of this host. One object serves all threads.
class Pinning {
  public:
    // Throws std::runtime_error when hwloc finds no CPUs.
    Pinning();
    ~Pinning();
    Pinning(const Pinning&) = delete;
    Pinning& operator=(const Pinning&) = delete;

    // Binds the calling thread to the CPU with the kernel's number `cpu`; the thread runs there
    // when this returns. Throws std::runtime_error if the CPU is offline or not allowed.
    void pin(unsigned cpu) const;

  private:
    hwloc_topology_t topology_ = nullptr;
};

}  // namespace numascape::machine
