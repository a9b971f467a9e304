// SPDX-License-Identifier: Apache-2.0
#include "file_nodes.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "page_nodes.h"

namespace numascape::live {

namespace {

// The bytes of addresses that are examined at a time.
constexpr std::uint64_t kFileWindow = std::uint64_t{1} << 30;

// Pages that are asked for together: one page, or one huge page.
struct AskedPages {
    std::size_t first, last;  // elements of `nodes`, end exclusive
    bool is_huge;
};

void add_window(int pid, const PageTable& table, const Part& part, std::uint64_t start,
                std::uint64_t end, std::span<std::int16_t> nodes) {
    std::vector<PageRun> runs;
    table.find(start, end, runs);
    std::vector<std::uint64_t> addresses;
    std::vector<AskedPages> asked;
    for (const PageRun& run : runs) {
        if ((run.flags & kFile) == 0 || (run.flags & kSwapped) != 0) continue;
        const bool is_huge = (run.flags & kHuge) != 0 && part.page_bytes == kPage;
        const std::uint64_t size = is_huge ? kHugePage : part.page_bytes;
        for (std::uint64_t at = run.start, next; at < run.end; at = next) {
            next = std::min(run.end, (at / size + 1) * size);
            const std::size_t first = (at - part.start) / part.page_bytes;
            if (nodes[first] != kNotMapped) continue;
            addresses.push_back(at);
            asked.push_back({first, first + (next - at) / part.page_bytes, is_huge});
        }
    }
    std::vector<int> found(addresses.size());
    query_nodes(pid, addresses, found);
    for (std::size_t i = 0; i < asked.size(); i++) {
        const auto& [first, last, is_huge] = asked[i];
        const int node = found[i] < 0 ? -1 : found[i] + (is_huge ? kInHugePage : 0);
        for (std::size_t page = first; page < last; page++) {
            nodes[page] = static_cast<std::int16_t>(node);
        }
    }
}

}  // namespace

void add_file_nodes(int pid, const PageTable& table, const Part& part,
                    std::span<std::int16_t> nodes) {
    for (std::uint64_t start = part.start; start < part.end; start += kFileWindow) {
        add_window(pid, table, part, start, std::min(part.end, start + kFileWindow), nodes);
    }
}

}  // namespace numascape::live
