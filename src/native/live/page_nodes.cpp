// SPDX-License-Identifier: Apache-2.0
#include "page_nodes.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace numascape::live {

namespace {

// Addresses per call; the kernel itself takes 16 at a time, and lets other threads run in between.
constexpr std::size_t kQueried = 1 << 14;

}  // namespace

void query_nodes(int pid, std::span<const std::uint64_t> addresses, std::span<int> nodes) {
    for (std::size_t at = 0; at < addresses.size(); at += kQueried) {
        const std::size_t count = std::min(kQueried, addresses.size() - at);
        if (syscall(SYS_move_pages, pid, count, addresses.data() + at, nullptr, nodes.data() + at,
                    0) < 0) {
            throw std::system_error(errno, std::generic_category(), "move_pages");
        }
    }
}

int move_pages(int pid, std::span<const std::uint64_t> addresses, std::span<const int> nodes,
               bool all, std::span<int> results) {
    std::fill(results.begin(), results.end(), kNotTried);
    const long result =
        syscall(SYS_move_pages, pid, addresses.size(), addresses.data(), nodes.data(),
                results.data(), all ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE);
    return result < 0 ? errno : 0;
}

}  // namespace numascape::live
