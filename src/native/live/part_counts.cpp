// SPDX-License-Identifier: Apache-2.0
#include "part_counts.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "page_nodes.h"

namespace numascape::live {

namespace {

// The bytes of addresses that one thread counts at a time; a multiple of every page size.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;

using Key = std::tuple<std::uint32_t, std::int32_t, std::uint8_t>;  // part, node, flags
using Counts = std::map<Key, std::uint64_t>;

struct Piece {
    std::uint32_t part;
    Part range;
    std::uint64_t weight;  // each page of the range stands for this many pages
};

std::uint64_t step(const PageRun& run, std::uint64_t page_bytes) {
    return (run.flags & kHuge) != 0 ? std::max(page_bytes, kHugePage) : page_bytes;
}

// Adds one window of each group of `every` windows. Its place in the group changes, so that no
// regular pattern of pages is missed. An incomplete group is added completely.
void add_windows(std::uint32_t number, const Part& part, unsigned every,
                 std::vector<Piece>& pieces) {
    const std::uint64_t group = kWindow * every;
    std::uint64_t place = 0;
    for (std::uint64_t start = part.start; start < part.end; start += group) {
        const std::uint64_t end = std::min(part.end, start + group);
        const std::uint64_t windows = (end - start) / kWindow;
        if (windows < every) {  // the rest
            pieces.push_back({number, {start, end, part.page_bytes}, 1});
            return;
        }
        place = (place * 5 + 3) % every;  // visits all places when `every` is a power of two
        const std::uint64_t chosen = start + place * kWindow;
        pieces.push_back({number, {chosen, chosen + kWindow, part.page_bytes}, every});
    }
}

std::vector<Piece> pieces_of(std::span<const Part> parts, unsigned every) {
    std::vector<Piece> pieces;
    for (std::uint32_t number = 0; number < parts.size(); number++) {
        const Part& part = parts[number];
        if (every > 1 && part.page_bytes == kPage) {
            add_windows(number, part, every, pieces);
            continue;
        }
        for (std::uint64_t start = part.start; start < part.end;) {
            const std::uint64_t end = std::min(part.end, (start / kPiece + 1) * kPiece);
            pieces.push_back({number, {start, end, part.page_bytes}, 1});
            start = end;
        }
    }
    return pieces;
}

void count_piece(int pid, const PageTable& table, const Piece& piece, Counts& counts) {
    std::vector<PageRun> runs;
    table.find(piece.range.start, piece.range.end, runs);
    for (const PageRun& run : runs) {
        if ((run.flags & kSwapped) != 0) {
            counts[{piece.part, -1, run.flags}] += (run.end - run.start) * piece.weight;
        }
    }
    std::erase_if(runs, [](const PageRun& run) { return (run.flags & kSwapped) != 0; });
    std::vector<std::uint64_t> addresses;
    for (const PageRun& run : runs) {
        const std::uint64_t size = step(run, piece.range.page_bytes);
        for (std::uint64_t at = run.start; at < run.end; at = (at / size + 1) * size) {
            addresses.push_back(at);
        }
    }
    std::vector<int> nodes(addresses.size());
    query_nodes(pid, addresses, nodes);
    std::size_t next = 0;
    for (const PageRun& run : runs) {
        const std::uint64_t size = step(run, piece.range.page_bytes);
        int before = -2;
        std::uint64_t* count = nullptr;
        for (std::uint64_t at = run.start; at < run.end;) {
            const std::uint64_t end = std::min(run.end, (at / size + 1) * size);
            const int node = std::max(-1, nodes[next++]);
            if (node != before) count = &counts[{piece.part, node, run.flags}];
            before = node;
            *count += (end - at) * piece.weight;
            at = end;
        }
    }
}

}  // namespace

PartCounts count_parts(int pid, const PageTable& table, std::span<const Part> parts,
                       CountEffort effort) {
    const std::vector<Piece> pieces = pieces_of(parts, std::max(1U, effort.every));
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Counts all;
    std::exception_ptr failure;
    const auto work = [&] {
        Counts own;
        try {
            for (std::size_t at = next++; at < pieces.size(); at = next++) {
                count_piece(pid, table, pieces[at], own);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            next = pieces.size();
        }
        const std::lock_guard lock(mutex);
        for (const auto& [key, bytes] : own) all[key] += bytes;
    };
    {
        std::vector<std::jthread> helpers;
        const auto wanted = std::min<std::size_t>(effort.threads, pieces.size());
        for (std::size_t i = 1; i < wanted; i++) helpers.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
    PartCounts found;
    for (const auto& [key, bytes] : all) {
        found.part.push_back(std::get<0>(key));
        found.node.push_back(std::get<1>(key));
        found.flags.push_back(std::get<2>(key));
        found.bytes.push_back(bytes);
    }
    return found;
}

PageList list_pages(int pid, const PageTable& table, const Part& part) {
    std::vector<PageRun> runs;
    table.find(part.start, part.end, runs);
    PageList pages;
    for (const PageRun& run : runs) {
        if ((run.flags & kSwapped) != 0) continue;
        const std::uint64_t size = step(run, part.page_bytes);
        for (std::uint64_t at = run.start; at < run.end;) {
            const std::uint64_t end = std::min(run.end, (at / size + 1) * size);
            pages.address.push_back(at);
            pages.flags.push_back(run.flags);
            pages.bytes.push_back(static_cast<std::uint32_t>(end - at));
            at = end;
        }
    }
    pages.node.resize(pages.address.size());
    query_nodes(pid, pages.address, pages.node);
    return pages;
}

}  // namespace numascape::live
