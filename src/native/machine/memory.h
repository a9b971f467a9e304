// SPDX-License-Identifier: Apache-2.0
//
// Memory to measure: on a chosen node, in huge pages where the system gives them, and the kernel's
// own word on where it really is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace numascape::machine {

inline constexpr int kAnyNode = -1;
inline constexpr std::size_t kLine = 64;

// What the kernel said of a buffer after it was touched.
struct Placement {
    std::size_t pages = 0;      // asked about, in 4 KiB or the system's page size
    std::size_t elsewhere = 0;  // of them not on the node that was wanted
    bool known = false;         // false: move_pages is not permitted here
};

// Anonymous memory, aligned to 2 MiB, given back at the end. Not touched by the constructor.
class Buffer {
  public:
    // Throws std::system_error when there is no such memory or node. Where mbind is not permitted
    // (some containers), bound() is false, and first touch decides.
    Buffer(std::size_t bytes, int node);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::byte* data() const { return start_; }
    std::size_t size() const { return bytes_; }
    bool bound() const { return bound_; }

    // Writes to each page, so that it gets its place.
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

// Bytes of this process' anonymous memory that are in huge pages; 0 when the kernel does not say.
std::size_t huge_bytes();

}  // namespace numascape::machine
