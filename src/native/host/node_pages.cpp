// SPDX-License-Identifier: Apache-2.0
#include "node_pages.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace numascape::host {

namespace {

constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);
// Pages per call.
constexpr std::size_t kBatch = 4096;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::size_t page_size() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void count_nodes(std::span<void* const> pages, NodeCounts& counts) {
    std::vector<int> nodes(kBatch);
    for (std::size_t start = 0; start < pages.size(); start += kBatch) {
        const auto part = pages.subspan(start, std::min(kBatch, pages.size() - start));
        if (syscall(SYS_move_pages, 0, part.size(), part.data(), nullptr, nodes.data(), 0) != 0) {
            fail("move_pages");
        }
        for (std::size_t i = 0; i < part.size(); i++) {
            counts[nodes[i] >= 0 ? nodes[i] : kUnknown]++;
        }
    }
}

NodeCounts count_nodes(const void* start, std::size_t bytes) {
    NodeCounts counts;
    std::vector<void*> pages;
    auto* first = static_cast<std::byte*>(const_cast<void*>(start));
    for (std::size_t offset = 0; offset < bytes;) {
        pages.clear();
        for (; offset < bytes && pages.size() < kBatch; offset += page_size()) {
            pages.push_back(first + offset);
        }
        count_nodes(pages, counts);
    }
    return counts;
}

bool set_policy(void* start, std::size_t bytes, NodePolicy policy, std::span<const int> nodes) {
    std::vector<unsigned long> mask(kMaxNodes / kWordBits);
    for (const int node : nodes) {
        const auto bit = static_cast<std::size_t>(node);
        if (bit >= kMaxNodes) {
            errno = EINVAL;
            fail("mbind");
        }
        mask[bit / kWordBits] |= 1UL << (bit % kWordBits);
    }
    const int mode = policy == NodePolicy::kBind ? MPOL_BIND : MPOL_INTERLEAVE;
    if (syscall(SYS_mbind, start, bytes, mode, mask.data(), kMaxNodes + 1, 0) == 0) return true;
    if (errno == EPERM || errno == ENOSYS) return false;
    fail("mbind");
}

std::byte* map_memory(std::size_t bytes) {
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) fail("mmap");
    // Huge pages would allocate more than wanted at once, and hide the nodes of small pages.
    madvise(start, bytes, MADV_NOHUGEPAGE);
    return static_cast<std::byte*>(start);
}

void print_counts(const NodeCounts& counts) {
    std::printf("{");
    const char* separator = "";
    for (const auto& [node, count] : counts) {
        std::printf("%s\"%d\": %zu", separator, node, count);
        separator = ", ";
    }
    std::printf("}");
}

}  // namespace numascape::host
