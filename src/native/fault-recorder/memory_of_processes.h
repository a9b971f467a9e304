// SPDX-License-Identifier: Apache-2.0
//
// The code and data of other processes, read while they run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include <sys/types.h>

#include "processor.h"

namespace numascape {

// Copies of pages. A process needs the same permission for this as for process_vm_readv(2).
class MemoryOfProcesses {
  public:
    static constexpr size_t kMaxBytes = 16;
    static_assert(kMaxBytes >= os::kMaxInstructionBytes);

    // Memory may have changed: pages are read again, but the copies of ended processes stay.
    void begin_round();
    // Up to kMaxBytes from this address on; empty if they cannot be read. Valid until the next
    // call.
    std::span<const std::byte> at(pid_t process, uint64_t address);
    // The number of 1 to 8 bytes at this address.
    std::optional<uint64_t> number(pid_t process, uint64_t address, size_t bytes);

  private:
    static constexpr uint64_t kPageBytes = 4096;
    static constexpr size_t kMaxPages = 4096;  // 16 MiB
    struct Page {
        std::array<std::byte, kPageBytes> bytes;
        uint64_t round = 0;
        bool readable = false;
    };
    struct Place {
        pid_t process;
        uint64_t page;
        bool operator==(const Place&) const = default;
    };
    struct Hash {
        size_t operator()(const Place& place) const {
            return std::hash<uint64_t>()(place.page * 31 + static_cast<uint64_t>(place.process));
        }
    };
    const Page& page(pid_t process, uint64_t number);

    std::unordered_map<Place, Page, Hash> pages_;
    uint64_t round_ = 1;
    std::array<std::byte, kMaxBytes> across_{};  // bytes on two pages
};

}  // namespace numascape
