// SPDX-License-Identifier: Apache-2.0
//
// The shard: what one recorded process leaves behind while it runs. Two files, both mapped
// MAP_SHARED by the recorder, so that a killed program loses nothing:
//
//   NAME.shard                                   NAME.tables (sparse)
//   +--------------------------+ 0               +-----------------------------+ 0
//   | ShardHeader              |                 | table 0: block counters     |
//   +--------------------------+ 4 KiB           |   slots of a thread         |
//   | TableOwner[kMaxTables]   |                 +-----------------------------+ kTableStride
//   +--------------------------+ kLogOffset      | table 1                     |
//   | chunk 0 (64 KiB)         |                 +-----------------------------+ 2 kTableStride
//   |   ChunkHeader, records   |                 | ...                         |
//   +--------------------------+
//   | chunk 1 ...              |
//
// A slot counts one page for one thread in one phase. Slots hold *negated* counts (see
// page_table.h):
//
//   slot  = table + ((address & (2^40 - 1)) >> 12) * 16
//   +0    u64  0 - reads        +8   u64  0 - writes
//
// With a modelled cache (cache_model.h) a thread has a second table in each phase, *of lines*: its
// slots count lines fetched from memory, and lines made dirty.
//
// `table` is the address of slot 0; below it, downwards, lie the counters of basic blocks (see
// block_counters.h): counter = table - 16 * (number + 1).
//
// All numbers are little endian. Times are processor time-stamp ticks; the header gives two pairs
// (ticks, CLOCK_REALTIME ns) to convert them. Records are ordered by their time, not by position.
#pragma once

#include <cstdint>

namespace numascape {

inline constexpr char kShardMagic[8] = {'N', 'U', 'M', 'A', 'S', 'H', 'R', 'D'};
inline constexpr uint32_t kShardVersion = 3;

inline constexpr unsigned kPageShift = 12;
inline constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;
// Addresses are counted modulo 2^40; with ASLR off a program's mappings do not collide in it.
inline constexpr unsigned kWindowBits = 40;
inline constexpr uint64_t kWindowMask = (uint64_t{1} << kWindowBits) - 1;
inline constexpr uint64_t kWindowPages = uint64_t{1} << (kWindowBits - kPageShift);
inline constexpr uint64_t kTableBytes = kWindowPages * 16;  // 4 GiB
inline constexpr uint32_t kCounters = 1 << 22;
inline constexpr uint64_t kCountersBytes = uint64_t{kCounters} * 16;  // 64 MiB
inline constexpr uint64_t kTableStride = kCountersBytes + kTableBytes;

inline constexpr uint32_t kMaxTables = 16384;  // one per living thread and phase
inline constexpr uint32_t kMaxPhases = 65536;
inline constexpr uint64_t kOwnersOffset = kPageBytes;
inline constexpr uint64_t kLogOffset = 256 * 1024;
inline constexpr uint64_t kChunkBytes = 64 * 1024;

enum ShardFlags : uint32_t {
    kShardEnded = 1,           // the process ended in a way the recorder saw
    kShardDiskFull = 2,        // counts of pages first used after that moment are missing
    kShardThreadsLost = 4,     // more than kMaxTables threads alive: the rest was not counted
    kShardDetached = 8,        // recording stopped before the process ended
    kShardReplaced = 16,       // the process called exec; its new image has a shard of its own
    kShardAttached = 32,       // recording began in mid-run: what happened before is unknown
    kShardChildrenLost = 64,   // a forked process could not write its shard
    kShardPhasesFolded = 128,  // some phases are counted together, as kFurtherPhases
    kShardBlocksLost = 256,    // more basic blocks than kCounters: lines of the rest are unknown
};

struct ShardHeader {
    char magic[8];
    uint32_t version;
    uint32_t flags;  // ShardFlags
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_ticks;
    uint64_t start_ns;
    uint64_t last_ticks;  // refreshed with every chunk and at the end
    uint64_t last_ns;
    uint32_t chunks;   // chunks handed out so far
    uint32_t threads;  // threads seen so far; thread ids are 0 .. threads - 1
    uint32_t tables;   // tables ever used: 0 .. tables - 1
    uint32_t reserved;
    char parent_shard[64];  // file name of the shard forked from, or ""
    char program[1024];     // path of the executable
};
static_assert(sizeof(ShardHeader) <= kPageBytes);

// Which thread's and phase's counts a table holds: phase << 32 | thread + 1, and the highest bit
// when it is one of lines. The lower half is 0 when the table is free; the phase is that of its
// block counters then, which are kept. Clearing it is the commit point of a thread's end: before,
// the table counts; after, the Counts records written at its end do.
using TableOwner = uint64_t;
inline constexpr TableOwner table_owner(uint32_t thread, uint32_t phase) {
    return TableOwner{phase} << 32 | (thread + 1);
}
inline constexpr TableOwner kOwnsLines = TableOwner{1} << 63;
static_assert(kOwnersOffset + kMaxTables * sizeof(TableOwner) <= kLogOffset);

enum class ChunkKind : uint32_t { kLog = 1, kSmallBlocks = 2, kSamples = 3 };

struct ChunkHeader {
    uint32_t kind;    // ChunkKind
    uint32_t thread;  // writer; first touches in this chunk are this thread's
    uint32_t used;    // bytes including this header; records beyond were not finished
    uint32_t reserved;
};

enum class RecordType : uint8_t {
    kFirstTouch = 1,
    kThreadStart,
    kThreadEnd,
    kModuleLoad,
    kModuleUnload,
    kMap,
    kUnmap,
    kAlloc,
    kFree,
    kCounts,
    kSmallBlocks,
    kCallStack,
    kPlacement,
    kProcessExit,
    kPhase,
    kPhaseSwitch,
    kBlock,
    kBlockCounts,
    kSample,
    kPlace,
};

// First word of every record. `id` is the window page for first touches, else the thread concerned.
struct RecordHeader {
    uint8_t type;
    uint8_t flags;
    uint16_t words;  // length in 8-byte words, this header included
    uint32_t id;
};
static_assert(sizeof(RecordHeader) == 8);

// A page may have two of these records: the kernel gives private memory a page of its own (until
// then it shows zeros, or the file) when it is first written.
enum FirstTouchFlags : uint8_t {
    kTouchedByKernel = 1,   // by a system call for this thread
    kWrittenAfterReads = 2  // the first write; a record of the first read is there too
};

struct FirstTouchRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t pc : 48;
    uint64_t phase : 16;
};

struct ThreadStartRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t stack_start;  // [start, end): the mapping the thread's stack pointer was in
    uint64_t stack_end;
    uint32_t os_tid;
    uint32_t cpu;
};

inline constexpr uint32_t kUnknownCpu = 0xffffffff;

struct ThreadEndRecord {
    RecordHeader header;
    uint64_t time;
    uint32_t os_tid;
    uint32_t cpu;  // kUnknownCpu: another thread wrote this
    char name[16];
};

// Followed by the path, NUL-terminated, padded to 8 bytes.
struct ModuleRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;  // run-time address minus the file's virtual address
};

enum MapFlags : uint8_t { kMapHeap = 1, kMapByAllocator = 2, kMapBefore = 4, kMapShared = 8 };

// Followed by the path of the mapped file ("" when anonymous), NUL-terminated, padded to 8 bytes.
struct MapRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t start;
    uint64_t bytes;
    uint64_t stack_id;  // call stack of the mapping call, 0 = none
};

struct UnmapRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t start;
    uint64_t bytes;
};

// A block of at least one page. Pages in [exclusive_start, exclusive_end) hold nothing else.
struct AllocRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t address;
    uint64_t bytes;
    uint64_t exclusive_start;
    uint64_t exclusive_end;
    uint64_t stack_id;
};

struct FreeRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t address;
};

enum CountsFlags : uint8_t {
    kCountsOfLines = 1,  // lines fetched and made dirty, instead of reads and writes
};

// Counts taken out of a table, for `pages` consecutive window pages; belongs to whatever lived
// there at `time`. Followed by {u64 reads, u64 writes} per page (not negated).
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

// Blocks under a page, summed by page and allocation site.
struct SmallBlocksRecord {
    RecordHeader header;  // id = window page
    uint64_t stack_id;
    uint64_t bytes;
    uint64_t blocks;
};

// A copy of the registers and the top of the stack, unwound when the shard is converted. Registers
// in the order of the x86-64 ABI's DWARF numbering: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip.
// Followed by `bytes` of stack from rsp upwards, padded to 8 bytes.
struct CallStackRecord {
    RecordHeader header;
    uint64_t stack_id;
    uint64_t registers[17];
    uint64_t bytes;
};

// Nodes of `pages` consecutive window pages, followed by i16 nodes (negative errno: not present),
// padded to 8 bytes.
struct PlacementRecord {
    RecordHeader header;
    uint64_t time;
    uint32_t first_page;
    uint32_t pages;
};

// A basic block that counts accesses; blocks are numbered by their first counter. Followed by a
// BlockAccess for each of its accesses. In a forked process its parents' records hold too.
struct BlockRecord {
    RecordHeader header;  // id = the block
    uint64_t accesses;
};

// An instruction's accesses in one execution of its block.
struct BlockAccess {
    uint64_t pc;
    uint16_t place;  // accesses of one place are counted, and sampled, together
    uint16_t reads;
    uint16_t writes;
    // 0: as above. Else how often depends on the data: counter block + own_counter has the sums.
    uint16_t own_counter;
};
inline constexpr uint32_t kPlaceBits = 9;  // a site: block << kPlaceBits | place

// What a compiler knows of an access whose BlockAccess has this `pc`, which is no code address
// then. Followed by "FUNCTION\nFILE", NUL-terminated, padded to 8 bytes.
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
    kSampleWhole = 1,  // no estimate: each of these executions was noted
};

// A site touched a page: an estimate of how often it did so until its next sample, added up while
// no page changed its owner; `time` is that of the first.
struct SampleRecord {
    RecordHeader header;  // id = window page
    uint64_t time;
    uint32_t site;
    uint32_t phase;
    uint64_t weight;
};

struct ProcessExitRecord {
    RecordHeader header;
    uint64_t time;
};

enum class PhaseKind : uint8_t {
    kOutside,    // phase 0, what is in no other
    kRegion,     // a parallel region, by its outlined function
    kMark,       // set by the program, by its name
    kTimeSlice,  // [place, caller) in ns since the session began
    kFurther,    // phase kFurtherPhases, for all that have no number of their own
};
inline constexpr uint32_t kFurtherPhases = kMaxPhases - 1;

// Written when the phase first begins; `end` and `repetitions` are kept up to date in place. Absent
// when a process has no phases: then everything is counted as phase 0. Followed by the name (marks
// only), NUL-terminated, padded to 8 bytes.
struct PhaseRecord {
    RecordHeader header;  // id = phase, flags = PhaseKind
    uint64_t time;        // of its first beginning
    uint64_t end;         // last time it ended, 0 = never
    uint64_t place;       // first address of the outlined function, or of the mark
    uint64_t caller;      // return address of the region's first call
    uint32_t repetitions;
    uint32_t reserved;
};

// From now on all threads count for another phase. After some tens of thousands not every switch
// has a record any more.
struct PhaseSwitchRecord {
    RecordHeader header;  // id = phase
    uint64_t time;
};

}  // namespace numascape
