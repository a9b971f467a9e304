// SPDX-License-Identifier: Apache-2.0
//
// The shard: the raw record of one process. It has two files. The recorder maps both MAP_SHARED,
// so everything that is written to them survives a killed program:
//
//   NAME.shard                                   NAME.tables (sparse)
//   +--------------------------+ 0               +-----------------------------+ 0
//   | ShardHeader              |                 | table 0: block counters     |
//   +--------------------------+ 4 KiB           |   page_counters             |
//   | TableOwner[kMaxTables]   |                 +-----------------------------+ kTableStride
//   +--------------------------+ kLogOffset      | table 1                     |
//   | chunk 0 (64 KiB)         |                 +-----------------------------+ 2 kTableStride
//   |   ChunkHeader, records   |                 | ...                         |
//   +--------------------------+
//   | chunk 1 ...              |
//
// A page_counter counts one page for one thread in one phase. It holds *negated* counts (see
// page_table.h):
//
//   page_counter  = table + ((address & (2^40 - 1)) >> 12) * 16
//   +0    u64  0 - reads        +8   u64  0 - writes
//
// With a modelled cache (cache_model.h) a thread has a second table in each phase, *of lines*: its
// page_counters count lines fetched from memory, and lines made dirty.
//
// `table` is the address of page_counter 0; below it, downwards, lie the counters of basic blocks
// (see block_counters.h): counter = table - 16 * (number + 1).
//
// All numbers are little endian. Times are processor time-stamp ticks; the header gives two pairs
// (ticks, CLOCK_REALTIME ns) to convert them. Records are ordered by their time, not by position.
#pragma once

#include <cstdint>

#include "pages.h"

namespace numascape {

inline constexpr char kShardMagic[8] = {'N', 'U', 'M', 'A', 'S', 'H', 'R', 'D'};
inline constexpr uint32_t kShardVersion = 7;

// Addresses are counted modulo 2^40; without ASLR, the mappings of a program do not collide in it.
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
    kShardEnded = 1,             // the process ended in a way the recorder saw
    kShardDiskFull = 2,          // counts of pages first used after that moment are missing
    kShardThreadsLost = 4,       // more than kMaxTables live threads: the others were not counted
    kShardDetached = 8,          // recording stopped before the process ended
    kShardReplaced = 16,         // the process called exec; its new image has a shard of its own
    kShardAttached = 32,         // recording began during the run: earlier events are unknown
    kShardChildrenLost = 64,     // a forked process could not write its shard
    kShardPhasesFolded = 128,    // some phases are counted together, as kFurtherPhases
    kShardBlocksLost = 256,      // more basic blocks than kCounters: the others have no lines
    kShardCallsForbidden = 512,  // the process forbade system calls (seccomp): only counts follow
    kShardStacksCut = 1024,      // some call stacks were not distinguished: see call_stack_log.h
    kShardRegionsLost = 2048,    // more memory regions at a time than memory_regions.h can follow
    kShardFrames = 4096,         // there are StackFrameRecords
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

// The thread and the phase whose counts the table contains: phase << 32 | thread + 1; the highest
// bit is set in a table of lines. The lower half is 0 if the table is free; the phase is then that
// of its block counters, which are kept. Setting it to 0 commits the end of a thread: before, the
// counts in the table are valid; afterwards, the Counts records that were written at its end.
using TableOwner = uint64_t;
inline constexpr TableOwner table_owner(uint32_t thread, uint32_t phase) {
    return TableOwner{phase} << 32 | (thread + 1);
}
inline constexpr TableOwner kOwnsLines = TableOwner{1} << 63;
static_assert(kOwnersOffset + kMaxTables * sizeof(TableOwner) <= kLogOffset);

enum class ChunkKind : uint32_t { kLog = 1, kSmallBlocks = 2, kSamples = 3, kTransfers = 4 };

struct ChunkHeader {
    uint32_t kind;    // ChunkKind
    uint32_t thread;  // who writes the first records; see WriterRecord
    uint32_t used;    // bytes including this header; records after them are not complete
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
    kMove,
    kForget,
    kWriter,
    kCallFrames,
    kPythonFrames,
    kPythonCode,
    kMemoryRegion,
    kMemoryRegionEnd,
    kRegionName,
    kTransfers,
    kStackFrame,
    kStackFrameEnd,
};

// The first word of every record. `id` is the window page for first touches, otherwise the thread.
struct RecordHeader {
    uint8_t type;
    uint8_t flags;
    uint16_t words;  // length in 8-byte words, this header included
    uint32_t id;
};
static_assert(sizeof(RecordHeader) == 8);

// From here on, another thread writes this chunk, because the previous thread has ended. A first
// touch belongs to the thread that writes its record.
struct WriterRecord {
    RecordHeader header;  // id = the thread
};

// A page may have two of these records: until private memory is first written, the kernel maps the
// zero page or the page of the file; at the first write, the page gets its own memory. A page may
// have more records: before a system call that may remove pages, the recorder forgets their
// touches, and the call may fail. If a page was not removed in between (kUnmap, kMove, kForget),
// the first read and the first write count.
enum FirstTouchFlags : uint8_t {
    kTouchedByKernel = 1,  // by a system call for this thread
    kTouchWrites = 2,      // the page has been written
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
    RecordHeader header;  // flags = ThreadEndFlags
    uint64_t time;
    uint32_t os_tid;
    uint32_t cpu;  // kUnknownCpu: another thread wrote this
    char name[16];
};

// The process ends with the thread, whose counts stay in its tables.
enum ThreadEndFlags : uint8_t { kThreadEndsProcess = 1 };

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
    // Of a shared mapping, what all processes that map it see (MappedObject in process_maps.h); of
    // others, and if it is not known, zeros.
    uint64_t device;
    uint64_t inode;
    uint64_t offset;
};

struct UnmapRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t start;
    uint64_t bytes;
};

// The contents of the pages are gone, but not their mapping: the next access is a first touch.
struct ForgetRecord {
    RecordHeader header;  // flags = ForgetFlags
    uint64_t time;
    uint64_t start;
    uint64_t bytes;
};
enum ForgetFlags : uint8_t { kForgetPrivate = 1 };  // pages of shared mappings stay

// Pages move with their contents: the memory from `from` is then at `start`, and the rest up to
// `bytes` is new. If the pages move, there are two records with the same `begun` and `from`: one
// after the pages have left, and one after they have arrived. If a mapping only grows, there is one
// record.
struct MoveRecord {
    RecordHeader header;  // flags = MoveFlags
    uint64_t time;
    uint64_t begun;
    uint64_t start;
    uint64_t bytes;
    uint64_t from;
    uint64_t from_bytes;
    uint64_t stack_id;  // call stack of the call, 0 = none
};
enum MoveFlags : uint8_t {
    kMoveArrives = 1,      // the second record
    kMoveLeavesEmpty = 2,  // the mapping at `from` stays, without pages
    kMoveLeavesSame = 4,   // the same pages are at `from`, too
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

// The program named a part of memory of at least a page (include/numascape/region.h). Smaller parts
// are in SmallBlocksRecords, with the same identifier as `stack_id`.
struct MemoryRegionRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t address;
    uint64_t bytes;
    uint64_t name_id;
};

// The last region that began at the address ends.
struct MemoryRegionEndRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t address;
};

// A function took at least kLargeFrameBytes of its thread's stack at once (stack_frames.h): its
// frame is then [end, start), until a StackFrameEndRecord or the end of the thread.
struct StackFrameRecord {
    RecordHeader header;  // flags = StackFrameFlags
    uint64_t time;
    uint64_t pc;             // the instruction that moves the stack pointer
    uint64_t start;          // the stack pointer before it
    uint64_t end;            // ... and after it, which is lower
    uint64_t frame_pointer;  // the register, whatever it holds
    uint64_t frame_address;  // DWARF's canonical frame address of the function; 0 = unknown
};
enum StackFrameFlags : uint8_t {
    kFrameOfData = 1,  // how much depends on data: alloca, or an array whose size is not constant
    kFrameProbed = 2,  // taken page by page, perhaps with a rest below `end`
};
inline constexpr uint64_t kLargeFrameBytes = 16 * 1024;

// The frame is gone.
struct StackFrameEndRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t start;  // those of its StackFrameRecord
    uint64_t end;
};

// Followed by the name, NUL-terminated, padded to 8 bytes.
struct RegionNameRecord {
    RecordHeader header;
    uint64_t name_id;
    uint64_t place;  // where the program first used the name
};

enum CountsFlags : uint8_t {
    kCountsOfLines = 1,  // lines fetched and made dirty, instead of reads and writes
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

// The return addresses of a call stack, innermost first. Followed by `frames` words.
struct CallFramesRecord {
    RecordHeader header;
    uint64_t stack_id;
    uint64_t frames;
};

// The Python functions of a call stack, innermost first. Followed by `frames`
// PythonFrameEntries.
struct PythonFramesRecord {
    RecordHeader header;
    uint64_t stack_id;
    uint64_t frames;
};
struct PythonFrameEntry {
    uint64_t code;    // see PythonCodeRecord
    uint64_t offset;  // of the instruction, in bytes
};

// A code object of CPython. Followed by the characters of its file and of its function, and by its
// table of source places.
struct PythonCodeRecord {
    RecordHeader header;
    uint64_t code;  // identifies it
    uint32_t first_line;
    uint16_t version;    // 0x30b is 3.11
    uint8_t file_width;  // bytes of a character
    uint8_t function_width;
    uint32_t file_bytes;
    uint32_t function_bytes;
    uint32_t line_bytes;
    uint32_t reserved;
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
// BlockAccess for each of its accesses. In a forked process, the records of its parents also apply.
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
    // 0: as above. Otherwise the number depends on data: counter block + own_counter has the sums.
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
    kSampleWhole = 1,  // no estimate: each of these executions was noted
};

// A site touched a page. An estimate of how often it did so until its next sample, summed while no
// page changed its owner. `time` is that of the first sample.
struct SampleRecord {
    RecordHeader header;  // id = window page
    uint64_t time;
    uint32_t site;
    uint32_t phase;
    uint64_t weight;
};

// Cache lines that a thread took from the thread that wrote them last (shared_lines.h), summed
// while no page changed its owner. `time` is that of the first one.
struct TransfersRecord {
    RecordHeader header;  // id = window page
    uint64_t time;
    uint32_t from;  // threads
    uint32_t to;
    uint32_t phase;
    uint32_t line;     // in the page; kUnknownLine where lines were added up
    uint64_t from_pc;  // of the instructions; 0 where the line was not watched
    uint64_t to_pc;
    uint64_t from_bytes;  // in 64 equal parts of the line; 0 where it was not watched
    uint64_t to_bytes;
    uint64_t transfers;
    uint64_t travelling;  // of these, those of a line that had been taken before,
    uint64_t judged;      // of these, those of watched lines,
    uint64_t shared;      // and of these, those in which both threads touched the same bytes
};
inline constexpr uint32_t kUnknownLine = 0xffffffff;

struct ProcessExitRecord {
    RecordHeader header;
    uint64_t time;
};

enum class PhaseKind : uint8_t {
    kOutside,    // phase 0: everything outside the other phases
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

// From now on, all threads count for another phase. After some tens of thousands of switches, not
// every switch has a record.
struct PhaseSwitchRecord {
    RecordHeader header;  // id = phase
    uint64_t time;
};

}  // namespace numascape
