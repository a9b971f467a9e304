// SPDX-License-Identifier: Apache-2.0
//
// The nodes of the pages of a file that several processes map, each page once.
#pragma once

#include <cstdint>
#include <span>

#include "page_table.h"
#include "part_counts.h"

namespace numascape::live {

// What is known about a page: its node, -1 if the node is unknown, or this.
inline constexpr std::int16_t kNotMapped = -2;
// Added to the node of a page that is in a transparent huge page.
inline constexpr std::int16_t kInHugePage = 1 << 14;

// Enters the pages of the file that the process has mapped at the addresses of `part`. `nodes` has
// an element for each page of the part. Pages that another process has entered are not asked for
// again. Written private copies of pages are left out, because they are not the file's. Throws
// std::system_error.
void add_file_nodes(int pid, const PageTable& table, const Part& part,
                    std::span<std::int16_t> nodes);

}  // namespace numascape::live
