// SPDX-License-Identifier: Apache-2.0
//
// Records of memory: mappings, blocks and other parts of it, first touches, and the nodes of pages.
#pragma once

#include <cstdint>

#include "page_parts.h"
#include "record_header.h"

namespace numascape {

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
    // For a shared mapping, the identity that all processes see (MappedObject in process_maps.h).
    // Zeros for other mappings, and if the identity is not known.
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

// The program asked the kernel for huge pages of 2 MiB here, or refused them.
struct AdviceRecord {
    RecordHeader header;  // flags = AdviceFlags
    uint64_t time;
    uint64_t start;
    uint64_t bytes;
};
enum AdviceFlags : uint8_t { kAdviceHuge = 1 };

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

// Blocks smaller than a page, summed by page and allocation site. `bytes` are those on this page.
// `blocks` counts each block on its first page only.
struct SmallBlocksRecord {
    RecordHeader header;  // id = window page
    uint64_t stack_id;
    uint64_t bytes;
    uint64_t blocks;
    PageParts parts;  // the parts of the page in which the blocks were
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

// Followed by the name, NUL-terminated, padded to 8 bytes.
struct RegionNameRecord {
    RecordHeader header;
    uint64_t name_id;
    uint64_t place;  // where the program first used the name
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
    uint64_t callers_id;  // see TouchCallersRecord; 0 = not known
};

// Nodes of `pages` consecutive window pages, followed by i16 nodes (negative errno: not present),
// padded to 8 bytes.
struct PlacementRecord {
    RecordHeader header;
    uint64_t time;
    uint32_t first_page;
    uint32_t pages;
};

}  // namespace numascape
