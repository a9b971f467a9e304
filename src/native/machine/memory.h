// SPDX-License-Identifier: Apache-2.0
//
// Memory for measurements: on a chosen node, in huge pages if possible, with its actual node as the
// kernel reports it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace numascape::machine {

inline constexpr int kAnyNode = -1;
inline constexpr std::size_t kLine = 64;

// The kernel's report about a touched buffer.
struct Placement {
    std::size_t pages = 0;      // asked about, in 4 KiB or the system's page size
    std::size_t elsewhere = 0;  // of them not on the node that was wanted
    bool known = false;         // false: move_pages is not permitted here
};

// Anonymous memory, aligned to 2 MiB, that the destructor frees. The constructor does not touch it.
class Buffer {
  public:
    // Throws std::system_error if there is no such memory or node. If mbind is not permitted (some
    // containers), bound() is false, and first touch determines the node.
    Buffer(std::size_t bytes, int node);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::byte* data() const { return start_; }
    std::size_t size() const { return bytes_; }
    bool bound() const { return bound_; }

    // Writes to each page, so that the kernel places it.
    void touch() const;
    // Asks move_pages about at most 16384 pages, evenly spread.
    Placement placement(int node) const;

  private:
    std::byte* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    std::byte* start_ = nullptr;
    std::size_t bytes_ = 0;
    bool bound_ = false;
};

// Bytes of this process' anonymous memory in huge pages; 0 if the kernel does not report them.
std::size_t huge_bytes();

}  // namespace numascape::machine
