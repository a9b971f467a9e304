// SPDX-License-Identifier: Apache-2.0
//
// Records of counts: of pages, of basic blocks of code, and of cache lines that threads pass on.
#pragma once

#include <cstdint>

#include "record_header.h"
#include "seen_parts.h"

namespace numascape {

enum CountsFlags : uint8_t {
    kCountsOfLines = 1,  // lines fetched and made dirty, instead of reads and writes
};

// System calls for the thread read or wrote bytes of consecutive pages, summed while no page
// changed its owner. If there are several pages, each call read or wrote all of their bytes. `time`
// is that of the first call.
struct KernelAccessRecord {
    RecordHeader header;  // id = the first window page
    uint64_t time;
    uint32_t pages;
    uint32_t phase;
    uint32_t thread;
    uint32_t reserved;
    uint64_t read_bytes;  // of all pages
    uint64_t written_bytes;
    SeenParts seen;  // which parts, if there is one page
};

// Counts taken out of a table, for `pages` consecutive window pages. They belong to the owner of
// the page at `time`. Followed by {u64 reads, u64 writes} per page (not negated).
struct CountsRecord {
    RecordHeader header;  // id = the thread whose accesses these are
    uint64_t time;
    uint32_t first_page;
    uint32_t pages;
    uint32_t phase;
    uint32_t reserved;
};

struct CountPair {
    uint64_t reads;
    uint64_t writes;
};

// A basic block whose executions are counted; blocks are numbered by their first counter. Followed
// by a BlockAccess for each of its accesses. In a forked process, the records of its parents also
// apply.
struct BlockRecord {
    RecordHeader header;  // id = the block
    uint32_t accesses;
    uint32_t instructions;  // 0: not known, or the block only waits for another thread
};

// The sum of these records is the number of instructions that the thread executed in this phase,
// without those in the tables that it still has. When the thread leaves a table, it writes the
// number of instructions in this table. When it gets a table, it writes the number of those that
// earlier threads executed, as a negative number.
struct InstructionsRecord {
    RecordHeader header;  // id = the thread
    int64_t instructions;
    uint32_t phase;
    uint32_t reserved;
};

// An instruction's accesses in one execution of its block.
struct BlockAccess {
    uint64_t pc;
    uint16_t place;  // accesses of one place are counted and sampled together
    uint16_t reads;
    uint16_t writes;
    // 0: `reads` and `writes` hold. Otherwise the number of accesses depends on data, and the
    // counter block + own_counter has the sums.
    uint16_t own_counter;
};
inline constexpr uint32_t kPlaceBits = 9;  // a site: block << kPlaceBits | place
// Set in the `pc` of an access that a PlaceRecord describes.
inline constexpr uint64_t kPlaceKey = uint64_t{1} << 62;

// The compiler's information about an access whose BlockAccess has this `pc`, which is then not a
// code address. Followed by "FUNCTION\nFILE", NUL-terminated, padded to 8 bytes.
struct PlaceRecord {
    RecordHeader header;
    uint64_t pc;
    uint32_t line;
    uint32_t reserved;
};

// Counters taken out of a table before it counts for another phase. Followed by a BlockCountsEntry
// for each.
struct BlockCountsRecord {
    RecordHeader header;  // id = 0
    uint64_t time;
    uint32_t phase;
    uint32_t counters;
};
struct BlockCountsEntry {
    uint64_t number;
    uint64_t words[2];
};

enum SampleFlags : uint8_t {
    kSampleWhole = 1,  // exact: each of these executions was recorded
};

// A site touched a page. `weight` estimates how often it did so until its next sample. Samples are
// summed while no page changes its owner. `time` is that of the first sample.
struct SampleRecord {
    RecordHeader header;  // id = window page
    uint64_t time;
    uint32_t site;
    uint32_t phase;
    uint64_t weight;
    SeenParts seen;
    uint32_t samples;
    uint32_t thread;
};

// Cache lines that a thread took from the thread that wrote them last (shared_lines.h), summed
// while no page changed its owner. `time` is that of the first one.
struct TransfersRecord {
    RecordHeader header;  // id = window page
    uint64_t time;
    uint32_t from;  // the thread that wrote the line last, and the one that took it
    uint32_t to;
    uint32_t phase;
    uint32_t line;     // in the page; kUnknownLine where lines were added up
    uint64_t from_pc;  // the two instructions; 0 where the line was not watched
    uint64_t to_pc;
    uint64_t from_bytes;  // in 64 equal parts of the line; 0 where it was not watched
    uint64_t to_bytes;
    uint64_t transfers;
    uint64_t travelling;  // of `transfers`, those of a line that had been taken before
    uint64_t judged;      // of `travelling`, those of watched lines
    uint64_t shared;      // of `judged`, those in which both threads touched the same bytes
};
inline constexpr uint32_t kUnknownLine = 0xffffffff;

}  // namespace numascape
