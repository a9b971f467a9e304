// SPDX-License-Identifier: Apache-2.0
//
// The nodes of a process' pages, and moving them: move_pages(2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace numascape::live {

// The kernel did not try to move the page, or did not report the result: it ends a call at the
// first page whose migration fails.
inline constexpr int kNotTried = -4096;

// For each address, the node of its page or a negative errno: -ENOENT if it is not in memory,
// -EFAULT for the zero page or without a mapping. Throws std::system_error (ESRCH: the process has
// ended).
void query_nodes(int pid, std::span<const std::uint64_t> addresses, std::span<int> nodes);

// Moves the pages to `nodes`. The result of a page is its node, a negative errno or kNotTried.
// `all`: also pages that other processes map (CAP_SYS_NICE). Returns 0, or the errno of the call.
int move_pages(int pid, std::span<const std::uint64_t> addresses, std::span<const int> nodes,
               bool all, std::span<int> results);

}  // namespace numascape::live
