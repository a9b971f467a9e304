// SPDX-License-Identifier: Apache-2.0
//
// The pages of parts of a process' memory, counted by node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "page_table.h"

namespace numascape::live {

// What is known about the pages of a part before they are counted.
enum class PartMemory : std::uint8_t { kUnknown, kAnonymous, kFile };
inline constexpr std::int32_t kAskNode = -1;

// A range of addresses (multiples of kPage) whose pages have `page_bytes` each: more than kPage in
// explicit huge pages. Unless it is kAskNode, all pages are on `node`.
struct Part {
    std::uint64_t start, end, page_bytes;
    PartMemory memory = PartMemory::kUnknown;
    std::int32_t node = kAskNode;
};

// Rows: a part has `bytes` on a node with these flags. Node -1: unknown (the zero page, swapped).
struct PartCounts {
    std::vector<std::uint32_t> part;
    std::vector<std::int32_t> node;
    std::vector<std::uint8_t> flags;
    std::vector<std::uint64_t> bytes;
};

// Rows, ascending: a cell of a part has `bytes` in memory on a node. The cells divide the addresses
// of a part into ranges of `cell_bytes` (by part), except that the last one may be shorter.
struct CellCounts {
    std::vector<std::uint32_t> part, cell;
    std::vector<std::int32_t> node;
    std::vector<std::uint64_t> bytes;
    std::vector<std::uint64_t> cell_bytes;
};
inline constexpr std::uint64_t kMaxCells = 32;

struct Counts {
    PartCounts parts;
    CellCounts cells;
};

// How to count. With `every` above 1, only one window of kWindow addresses in this many is looked
// at, and counts for all of them: an estimate for processes with very many pages.
struct CountEffort {
    unsigned threads = 1;
    unsigned every = 1;
};
// A multiple of a transparent huge page, so that each huge page is either examined completely or
// left out.
inline constexpr std::uint64_t kWindow = kHugePage;

// Asks for the pages that `table` has in memory. Throws std::system_error.
Counts count_parts(int pid, const PageTable& table, std::span<const Part> parts,
                   CountEffort effort);

// The pages in memory of one part: the address of each (of huge ones, where each begins in the
// part), its node or negative errno, and its flags.
struct PageList {
    std::vector<std::uint64_t> address;
    std::vector<std::int32_t> node;
    std::vector<std::uint8_t> flags;
    std::vector<std::uint32_t> bytes;
};
PageList list_pages(int pid, const PageTable& table, const Part& part);

}  // namespace numascape::live
