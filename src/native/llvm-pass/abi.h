// SPDX-License-Identifier: Apache-2.0
//
// The contract between the pass, the stub in each compiled program or library, and the runtime that
// `numascape record` preloads. The pass uses the names below. The stub
// (stub.S in compiled-recorder/arch) defines them as hidden symbols in each program and
// library.
//
//   compiled code -----> stub: __numascape_enter ...  -----> runtime, when there is one
//   __numascape_thread (thread-local): the current table of page counters; null before the first
//   access
//
// Without a runtime, the tables belong to the stub and are never read.
#pragma once

#include <cstdint>

#include "compiled_version.h"
#include "table_word.h"

namespace numascape {

inline constexpr uint32_t kCompiledVersion = NUMASCAPE_COMPILED_VERSION;

// One per module and thread: the table's first page counter, null before the thread's first access.
using ModuleThread = TableWord;

// A place in the source that accesses memory; an entry of the section kSiteSection, where the
// entries of one block are neighbours. The address of an entry determines that of its counter
// (below).
struct Site {
    int32_t names;  // distance from this entry to "FUNCTION\nFILE\0"
    uint32_t line;
    uint16_t reads;  // in one execution of the block, or of each address of a nest
    uint16_t writes;
    uint16_t entries;  // of the block, itself included; 0 in all but the first
    uint16_t reserved;
};
static_assert(sizeof(Site) == 16);

// Addresses: start + sum(i_k * step_k), 0 <= i_k < count_k.
inline constexpr uint64_t kNestDimensions = 4;
struct NestDimension {
    int64_t step;
    uint64_t count;
};
// In rows with at least this step, each address is counted by itself.
inline constexpr uint64_t kStridedBytes = 2048;
struct NestCounts {
    uint64_t dimensions;
    NestDimension dimension[kNestDimensions];
};

// The stub's own description of a program or library.
struct CompiledModule {
    uint32_t version;
    uint32_t known;  // the runtime has seen it
    const Site* sites;
    const Site* sites_end;
    uint64_t* offset;  // &__numascape_sites_offset: see below
    ModuleThread* (*thread)();
};
// __numascape_sites_offset + address of an entry + table = address of its counter.

// The functions of the runtime for the stub; none of them changes vector registers.
struct CompiledRuntime {
    uint32_t version;
    // The thread's table; never null.
    void* (*enter)(CompiledModule* module);
    // The page counter was zero. For n neighbours in the block, the low bits of `place` are the
    // place of the first one, and the bits from kPlacesShift on are n - 1.
    void (*touch)(void* table, uint64_t counter_offset, uint64_t place, const void* pc);
    void* (*block)(void* table, const Site* site, CompiledModule* module);
    // If the site's block has several entries, the last dimension of the nest goes from each of
    // these accesses to the next.
    void (*range)(const NestCounts* nest, uint64_t start, const Site* site, const void* pc,
                  CompiledModule* module);
    // The counter of the block reached zero. The block accesses the structure at the address.
    void (*note)(void* table, const Site* site, uint64_t address, CompiledModule* module);
    void (*mark)(const char* name, const void* pc);
    // The thread begins the parallel region `function`. Null: it ends the region.
    void (*region)(const void* function, const void* pc);
    // The program names a part of memory (include/numascape/region.h).
    void (*memory_region)(const char* name, uint64_t address, uint64_t bytes, const void* pc);
};

inline constexpr unsigned kPlacesShift = 16;

inline constexpr char kSiteSection[] = "numascape_sites";
inline constexpr char kThreadSymbol[] = "__numascape_thread";
inline constexpr char kOffsetSymbol[] = "__numascape_sites_offset";
inline constexpr char kEnterSymbol[] = "__numascape_enter";  // () -> table
// The two functions below take their arguments on the stack. The last argument is pushed first.
inline constexpr char kTouchPushedSymbol[] =
    "__numascape_touch_pushed";  // (pc, place, table, offset)
// (place, table): the counter is at table + place. `table` becomes the table to count in.
inline constexpr char kBlockPushedSymbol[] = "__numascape_block_pushed";
inline constexpr char kNoteSymbol[] = "__numascape_note";      // (table, site, address)
inline constexpr char kRangeSymbol[] = "__numascape_range";    // (nest, start, site)
inline constexpr char kMarkSymbol[] = "__numascape_mark";      // (name)
inline constexpr char kRegionSymbol[] = "__numascape_region";  // (function)
inline constexpr char kMemoryRegionSymbol[] =
    "__numascape_memory_region";  // (name, address, bytes)

}  // namespace numascape
