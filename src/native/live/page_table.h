// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a process are in memory: /proc/PID/pagemap
// (Documentation/admin-guide/mm/pagemap.rst of the Linux kernel). Reading it touches no page.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace numascape::live {

inline constexpr std::uint64_t kPage = 4096;
// The size of a transparent huge page, for which a page table has one entry.
inline constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

enum PageFlags : std::uint8_t {
    kFile = 1,     // of a file or of shared memory; otherwise anonymous
    kSwapped = 2,  // not in memory, or just being moved
    kHuge = 4,     // part of a huge page; known from PAGEMAP_SCAN only
};

// Consecutive pages with equal flags: addresses, end exclusive.
struct PageRun {
    std::uint64_t start, end;
    std::uint8_t flags;
};

class PageTable {
  public:
    // Throws std::system_error if the file cannot be opened.
    explicit PageTable(const std::string& path);
    ~PageTable();
    PageTable(const PageTable&) = delete;
    PageTable& operator=(const PageTable&) = delete;

    // Appends the runs of pages between two addresses (multiples of kPage) that are in memory or
    // swapped, ascending. Nothing is appended when the process has ended. Thread-safe. Throws
    // std::system_error if the kernel refuses. Without `with_files`, kFile may be missing, which is
    // five times as fast, because the kernel then does not look at each page.
    void find(std::uint64_t start, std::uint64_t end, std::vector<PageRun>& runs,
              bool with_files = true) const;

    // Whether the kernel reports huge pages; known after the first find().
    bool tells_huge_pages() const { return scans_; }

  private:
    bool scan(std::uint64_t start, std::uint64_t end, std::vector<PageRun>& runs,
              bool with_files) const;
    void read(std::uint64_t start, std::uint64_t end, std::vector<PageRun>& runs) const;

    int file_;
    mutable std::atomic<bool> scans_{true};
};

}  // namespace numascape::live
