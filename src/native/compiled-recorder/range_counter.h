// SPDX-License-Identifier: Apache-2.0
//
// Counts all accesses of a loop nest, from a start address and, for each loop, a step and a number
// of iterations. Only counting.cpp includes this file and inlines all of it, so the namespace has
// no name.
#pragma once

#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

// As NestCounts, but all steps are positive (not 0), and the smallest is first.
struct Run {
    uint64_t start;
    uint64_t times;  // how often each address is accessed
    uint32_t dimensions;
    NestDimension dimension[kNestDimensions];
};

void insert_by_step(Run& run, NestDimension added) {
    uint32_t at = run.dimensions++;
    for (; at > 0 && run.dimension[at - 1].step > added.step; --at) {
        run.dimension[at] = run.dimension[at - 1];
    }
    run.dimension[at] = added;
}

// False when there is no access.
bool normalise(const NestCounts& nest, uint64_t start, Run& run) {
    run.start = start;  // clearing the dimensions, too, would take longer than all the rest
    run.times = 1;
    run.dimensions = 0;
    for (uint64_t i = 0; i < nest.dimensions; ++i) {
        NestDimension dimension = nest.dimension[i];
        if (dimension.count == 0) {
            return false;
        }
        if (dimension.step == 0) {
            run.times *= dimension.count;
        } else if (dimension.count > 1) {
            if (dimension.step < 0) {
                run.start += static_cast<uint64_t>(dimension.step) * (dimension.count - 1);
                dimension.step = -dimension.step;
            }
            insert_by_step(run, dimension);
        }
    }
    // Rows that follow each other without a gap are one.
    while (run.dimensions > 1 &&
           static_cast<uint64_t>(run.dimension[1].step) ==
               static_cast<uint64_t>(run.dimension[0].step) * run.dimension[0].count) {
        run.dimension[0].count *= run.dimension[1].count;
        for (uint32_t i = 1; i + 1 < run.dimensions; ++i) {
            run.dimension[i] = run.dimension[i + 1];
        }
        --run.dimensions;
    }
    return true;
}

// The template parameters make the code faster, because most accesses only read or only write.
template <bool kReads, bool kWrites>
struct RangeCounter {
    ThreadRecorder& recorder;
    PageCounter* page_counters;
    uint64_t reads;  // per address
    uint64_t writes;
    const AccessingCode& code;
    bool nested;

    void page(uint64_t address, uint64_t times) const {
        const uint32_t number = window_page(address);
        PageCounter& page_counter = page_counters[number];
        bool fresh = false;
        if constexpr (kReads) {
            fresh = page_counter.negated_reads == 0;
            page_counter.negated_reads -= reads * times;
        }
        if constexpr (kWrites) {
            fresh = fresh || page_counter.negated_writes == 0;
            page_counter.negated_writes -= writes * times;
        }
        if (__builtin_expect(fresh, 0)) {
            if (nested) {
                shard.use_page_counters(recorder, page_counters, number);
            } else {
                shard.touch(recorder, page_counters, number, code);
            }
        }
    }

    // Returns the largest offset in a page.
    uint64_t strided(uint64_t address, uint64_t step, uint64_t count) const {
        uint64_t furthest = 0;
        for (; count > 0; --count, address += step) {
            const uint64_t offset = address % kPageBytes;
            furthest = offset > furthest ? offset : furthest;
            page(address, 1);
        }
        return furthest;
    }

    void row(uint64_t address, uint64_t step, uint64_t count) const {
        if (step >= kStridedBytes) {
            strided(address, step, count);
            return;
        }
        const auto narrow = static_cast<uint32_t>(step);
        while (count > 0) {
            const auto room = static_cast<uint32_t>(kPageBytes - address % kPageBytes);
            const uint64_t fit = step == 8 ? (room + 7) / 8 : (room + narrow - 1) / narrow;
            const uint64_t times = fit < count ? fit : count;
            page(address, times);
            count -= times;
            address += times * step;
        }
    }

    // Counts rows that follow each other with gaps. Most rows are on one page.
    void short_rows(uint64_t address, const NestDimension& rows,
                    const NestDimension& row_of) const {
        const auto step = static_cast<uint32_t>(rows.step);
        const uint64_t extent = static_cast<uint64_t>(row_of.step) * (row_of.count - 1);
        uint64_t count = rows.count;
        while (count > 0) {
            const uint64_t room = kPageBytes - address % kPageBytes;
            uint64_t times = 1;
            if (room > extent) {
                const uint64_t fit = static_cast<uint32_t>(room - extent - 1) / step + 1;
                times = fit < count ? fit : count;
                page(address, times * row_of.count);
            } else {
                row(address, static_cast<uint64_t>(row_of.step), row_of.count);
            }
            count -= times;
            address += times * step;
        }
    }

    void all(const Run& run, const Site* site) const {
        if (run.dimensions != 1 || static_cast<uint64_t>(run.dimension[0].step) < kStridedBytes) {
            all(run, run.dimensions == 0 ? 0 : run.dimensions - 1, run.start);
            return;
        }
        const auto step = static_cast<uint64_t>(run.dimension[0].step);
        const uint64_t count = run.dimension[0].count;
        const StridedRow row{site, page_counters, run.start, step, count, reads, writes};
        if (nested) {
            strided(run.start, step, count);
        } else if (!recorder.held.add(row)) {
            recorder.held.hold(row, strided(run.start, step, count));
        }
    }

    void all(const Run& run, uint32_t dimension, uint64_t address) const {
        if (run.dimensions == 0) {
            page(address, 1);
            return;
        }
        const NestDimension& outer = run.dimension[dimension];
        if (dimension == 0) {
            row(address, static_cast<uint64_t>(outer.step), outer.count);
            return;
        }
        if (dimension == 1) {
            const NestDimension& inner = run.dimension[0];
            const auto step = static_cast<uint64_t>(outer.step);
            if (step < kStridedBytes && inner.count <= step / static_cast<uint64_t>(inner.step)) {
                short_rows(address, outer, inner);
                return;
            }
        }
        for (uint64_t i = 0; i < outer.count; ++i) {
            all(run, dimension - 1, address);
            address += static_cast<uint64_t>(outer.step);
        }
    }
};

}  // namespace
}  // namespace numascape
