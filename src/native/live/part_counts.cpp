// SPDX-License-Identifier: Apache-2.0
#include "part_counts.h"

#include <algorithm>
#include <atomic>
#include <bit>
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

using PartKey = std::tuple<std::uint32_t, std::int32_t, std::uint8_t>;   // part, node, flags
using CellKey = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>;  // part, cell, node

struct Sums {
    std::map<PartKey, std::uint64_t> parts;
    std::map<CellKey, std::uint64_t> cells;
};

struct Piece {
    std::uint32_t part;
    Part range;
    std::uint64_t weight;  // each page of the range stands for this many pages
};

// Where the cells of a part are.
struct Cells {
    std::uint64_t start, bytes;
};

// A cell of a sampled part has at least one window that is examined.
std::uint64_t cell_bytes(const Part& part, unsigned every) {
    const std::uint64_t least = every > 1 ? kWindow * every : kPage;
    const std::uint64_t wanted = (part.end - part.start + kMaxCells - 1) / kMaxCells;
    return std::max({std::bit_ceil(wanted), std::bit_ceil(part.page_bytes), least});
}

std::uint64_t step(const PageRun& run, std::uint64_t page_bytes) {
    return (run.flags & kHuge) != 0 ? std::max(page_bytes, kHugePage) : page_bytes;
}

Part of_part(const Part& part, std::uint64_t start, std::uint64_t end) {
    Part range = part;
    range.start = start;
    range.end = end;
    return range;
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
            pieces.push_back({number, of_part(part, start, end), 1});
            return;
        }
        place = (place * 5 + 3) % every;  // visits all places when `every` is a power of two
        const std::uint64_t chosen = start + place * kWindow;
        pieces.push_back({number, of_part(part, chosen, chosen + kWindow), every});
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
            pieces.push_back({number, of_part(part, start, end), 1});
            start = end;
        }
    }
    return pieces;
}

// Adds pages on one node. A huge page may be in several cells.
void add(const Piece& piece, const Cells& cells, PageRun pages, int node, Sums& sums) {
    sums.parts[{piece.part, node, pages.flags}] += (pages.end - pages.start) * piece.weight;
    for (std::uint64_t at = pages.start; at < pages.end;) {
        const std::uint64_t cell = (at - cells.start) / cells.bytes;
        const std::uint64_t end = std::min(pages.end, cells.start + (cell + 1) * cells.bytes);
        sums.cells[{piece.part, static_cast<std::uint32_t>(cell), node}] +=
            (end - at) * piece.weight;
        at = end;
    }
}

void ask_and_add(int pid, const Piece& piece, const Cells& cells, const std::vector<PageRun>& runs,
                 Sums& sums) {
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
        for (std::uint64_t at = run.start; at < run.end;) {
            const int node = std::max(-1, nodes[next++]);
            std::uint64_t end = std::min(run.end, (at / size + 1) * size);
            while (end < run.end && std::max(-1, nodes[next]) == node) {
                end = std::min(run.end, end + size);
                next++;
            }
            add(piece, cells, {at, end, run.flags}, node, sums);
            at = end;
        }
    }
}

void count_piece(int pid, const PageTable& table, const Piece& piece, const Cells& cells,
                 Sums& sums) {
    const Part& range = piece.range;
    std::vector<PageRun> runs;
    table.find(range.start, range.end, runs, range.memory == PartMemory::kUnknown);
    for (PageRun& run : runs) {
        if (range.memory == PartMemory::kFile) run.flags |= kFile;
        if ((run.flags & kSwapped) != 0) {
            sums.parts[{piece.part, -1, run.flags}] += (run.end - run.start) * piece.weight;
        }
    }
    std::erase_if(runs, [](const PageRun& run) { return (run.flags & kSwapped) != 0; });
    if (range.node != kAskNode) {
        for (const PageRun& run : runs) add(piece, cells, run, range.node, sums);
        return;
    }
    ask_and_add(pid, piece, cells, runs, sums);
}

Counts columns_of(const Sums& sums, std::span<const Cells> cells) {
    Counts found;
    for (const auto& [key, bytes] : sums.parts) {
        found.parts.part.push_back(std::get<0>(key));
        found.parts.node.push_back(std::get<1>(key));
        found.parts.flags.push_back(std::get<2>(key));
        found.parts.bytes.push_back(bytes);
    }
    for (const auto& [key, bytes] : sums.cells) {
        found.cells.part.push_back(std::get<0>(key));
        found.cells.cell.push_back(std::get<1>(key));
        found.cells.node.push_back(std::get<2>(key));
        found.cells.bytes.push_back(bytes);
    }
    for (const Cells& one : cells) found.cells.cell_bytes.push_back(one.bytes);
    return found;
}

}  // namespace

Counts count_parts(int pid, const PageTable& table, std::span<const Part> parts,
                   CountEffort effort) {
    const unsigned every = std::max(1U, effort.every);
    const std::vector<Piece> pieces = pieces_of(parts, every);
    std::vector<Cells> cells;
    for (const Part& part : parts) cells.push_back({part.start, cell_bytes(part, every)});
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    Sums all;
    std::exception_ptr failure;
    const auto work = [&] {
        Sums own;
        try {
            for (std::size_t at = next++; at < pieces.size(); at = next++) {
                count_piece(pid, table, pieces[at], cells[pieces[at].part], own);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            next = pieces.size();
        }
        const std::lock_guard lock(mutex);
        for (const auto& [key, bytes] : own.parts) all.parts[key] += bytes;
        for (const auto& [key, bytes] : own.cells) all.cells[key] += bytes;
    };
    {
        std::vector<std::jthread> helpers;
        const auto wanted = std::min<std::size_t>(effort.threads, pieces.size());
        for (std::size_t i = 1; i < wanted; i++) helpers.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
    return columns_of(all, cells);
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
