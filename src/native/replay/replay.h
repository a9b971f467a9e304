// SPDX-License-Identifier: Apache-2.0
//
// Replays a shard in the order of its times, and determines the owners of every counted page at
// that time.
//
// A page has one owner if one block has it alone, or if it is part of a stack. Blocks smaller than
// a page, and the ends of larger ones, share pages. The counts of such a page are divided in
// proportion to the bytes that each call stack allocated on it. The rest belongs to the module or
// the mapping around it. Parts of memory that the program named come before all of these.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "fault_log.h"
#include "shard_reader.h"

namespace numascape {

enum class OwnerKind : uint8_t {
    kBlock,
    kSmall,
    kStack,
    kModule,
    kMapping,
    kUnknown,
    kRegion,        // a part of memory that the program named
    kSmallRegions,  // such parts smaller than a page, of one name
    kFrameVariable  // a variable in a large frame on a stack, or a thread-local one; `stack_id` is
                    // its number
};

// Besides MapFlags: what the program asked for in the middle of the owner.
enum OwnerFlags : uint8_t { kAsksForHugePages = 16, kRefusesHugePages = 32 };

// A row of `Owners`.
struct Owner {
    OwnerKind kind = OwnerKind::kUnknown;
    uint64_t start = 0;
    uint64_t bytes = 0;
    uint64_t stack_id = 0;
    uint32_t thread = 0;
    uint32_t path = 0;
    uint8_t flags = 0;
    uint64_t blocks = 1;
    uint32_t object = 0;
    uint64_t object_start = 0;
};

// Columns of equal length; owner ids are their indices.
struct Owners {
    std::vector<uint8_t> kind;
    std::vector<uint64_t> start;  // address
    std::vector<uint64_t> bytes;
    std::vector<uint64_t> stack_id;  // call stack of the allocation, or name; 0 = none
    std::vector<uint32_t> thread;    // of a stack
    std::vector<uint32_t> path;      // index into Replay::paths
    std::vector<uint8_t> flags;      // MapFlags of mappings, and OwnerFlags
    std::vector<uint64_t> blocks;    // small: number of blocks; else 1
    // The object of a shared mapping, which several processes may map: the index of its name in
    // Replay::paths, and the address at which the first byte of the object would be.
    std::vector<uint32_t> object;
    std::vector<uint64_t> object_start;

    uint32_t add(const Owner& owner);
    uint32_t size() const { return static_cast<uint32_t>(kind.size()); }
};

// Pages are indices from the owner's first page; window pages for OwnerKind::kSmall,
// kSmallRegions and kUnknown.
// A page, thread and phase may have several rows: lines come apart from accesses.
struct CountColumns {
    std::vector<uint32_t> owner, page, thread, phase;
    std::vector<uint64_t> reads, writes, fetched_lines, dirtied_lines;
};
struct TouchColumns {
    std::vector<uint32_t> owner, page, thread, phase;
    std::vector<uint64_t> time, pc;
    std::vector<uint64_t> callers;  // a key of Replay::touch_callers; 0: not known
    std::vector<uint8_t> flags;
};
struct PlacementColumns {
    std::vector<uint32_t> owner, page;
    std::vector<int16_t> node;
};
// How often each site's instructions accessed memory, over all threads.
struct SiteColumns {
    std::vector<uint32_t> site, phase;
    // The number of executions, if each makes the same number of accesses, or else 0.
    std::vector<uint64_t> pc, reads, writes, executions;
};
// The owner of the pages that a site touched; one block is the owner for all blocks with the same
// call stack. `page` is the page of a module, else 0. `weight` is
// in proportion to the accesses. `whole` executions of it are exact, not estimated.
struct SampleColumns {
    std::vector<uint32_t> site, phase, owner, page;
    std::vector<double> weight, whole;

    void reserve(size_t rows) {
        for (auto* column : {&site, &phase, &owner, &page}) {
            column->reserve(rows);
        }
        weight.reserve(rows);
        whole.reserve(rows);
    }
};
// Further samples, on pages of small blocks. The owners of such a page are a group: they share it
// in the same way during the whole run. So a sample is one row, and not one for each owner.
struct SharedSampleColumns {
    std::vector<uint32_t> site, phase, group;
    std::vector<double> weight;

    void reserve(size_t rows) {
        for (auto* column : {&site, &phase, &group}) {
            column->reserve(rows);
        }
        weight.reserve(rows);
    }
};
// By group: its owners, and their shares of a sample, which add up to 1.
struct ShareColumns {
    std::vector<uint32_t> group, owner;
    std::vector<double> share;
};
// Cache lines that threads took from others: see TransfersRecord. A page that several
// blocks share belongs to the one with most of it.
struct TransferColumns {
    std::vector<uint32_t> owner, page, thread, from_thread, phase, line;
    std::vector<uint64_t> from_pc, to_pc, from_bytes, to_bytes, transfers, travelling, judged,
        shared;
};
// Bytes that system calls read and wrote for threads: see KernelAccessRecord.
struct KernelAccessColumns {
    std::vector<uint32_t> owner, page, thread, phase;
    std::vector<uint64_t> read_bytes, written_bytes;
};
// How many instructions threads executed: see InstructionsRecord.
struct InstructionColumns {
    std::vector<uint32_t> thread, phase;
    std::vector<uint64_t> instructions;
};
// How much work threads did, if only bursts are counted: see WorkRecord.
struct WorkColumns {
    std::vector<uint32_t> thread, level;
    std::vector<uint64_t> units, counted_units, bursts, burst_units;
};
// Cache lines that samples saw threads use, of pages that several threads use. `lines` has a bit
// for each line of the page; if there is one, `bytes` has a bit for each of its bytes. `times`
// estimates how often the thread did so, `alone` how often while no other thread of the process
// lived, and `writing` how often with code that writes. A line that several blocks share belongs to
// the one with most of the page.
struct SeenLineColumns {
    static constexpr uint32_t kWholePage = 0xffffffff;
    std::vector<uint32_t> owner, page, thread, phase;
    std::vector<uint32_t> line;  // kWholePage: of several lines
    std::vector<uint64_t> lines, bytes, times, alone, writing;
};
// Samples of accesses with the calls that led to them; one row for each sample. `line` is the cache
// line of the page, `pc` the instruction (0: in the kernel), `callers` is that of FaultEntry.
struct SampledPathColumns {
    std::vector<uint32_t> owner, page, thread, phase, line, callers;
    std::vector<uint64_t> pc;
    std::vector<uint8_t> writes;
};
// Which parts of pages of modules samples saw in use: the cache lines, and the first and the last
// byte of the page.
struct SeenInModuleColumns {
    std::vector<uint32_t> owner, page, first, last;
    std::vector<uint64_t> lines, times;
};
// The compiler's information about a pc of SiteColumns: "FUNCTION\nFILE" and the line.
struct PlaceRow {
    uint64_t pc;
    uint32_t line;
    std::string names;
};
struct ThreadRow {
    uint32_t thread;
    uint32_t os_tid;
    uint64_t start;
    uint64_t end;  // 0: lived to the end
    std::string name;
    std::vector<uint32_t> cpus;  // seen on, in the order of records
    uint32_t first_cpu;          // where it began, before it was bound
};
struct ModuleRow {
    std::string path;
    uint64_t start, end, load_bias;
    uint32_t owner;
};
// As PhaseRecord; a process without phases has none.
struct PhaseRow {
    uint32_t phase;
    uint8_t kind;
    uint32_t repetitions;
    uint64_t start, end, place, caller;
    std::string name;
};
// Samples of accesses by the kernel's balancing, in order of time.
struct HintingColumns {
    std::vector<uint32_t> thread;
    std::vector<uint64_t> time;
};
struct SwitchColumns {
    std::vector<uint32_t> phase;
    std::vector<uint64_t> time;  // ascending
};
// Either the return addresses, innermost first, or a copy from which they can be found.
struct CallStack {
    std::vector<uint64_t> frames;
    std::vector<uint64_t> registers;
    std::vector<std::byte> stack;
};

// The calls that led to first touches: return addresses, innermost first.
struct TouchingCalls {
    std::vector<uint64_t> frames;
    bool complete;  // otherwise, the outer callers are unknown
};

struct PythonFunction {
    uint32_t version;  // 0x30b is 3.11
    uint32_t first_line;
    uint32_t file_width;  // bytes of a character
    uint32_t name_width;
    std::string file;
    std::string name;
    std::string lines;  // CPython's table of source places
};

// Where a variable is in a frame that StackFrameRecord describes.
struct FramePlace {
    enum class Base : uint8_t {
        kFrameAddress,
        kFramePointer,
        kStackPointer,
        kWholeFrame,
        kThreadPointer
    };
    uint32_t variable;  // its number
    Base base;
    int64_t offset;
    uint64_t bytes;  // not of kWholeFrame
};
// By the `pc` of the records; with kThreadPointer, by 0: the thread-local variables of threads.
using FramePlaces = std::unordered_map<uint64_t, std::vector<FramePlace>>;

// The distinct places in the code that make large frames.
struct FrameSite {
    uint64_t pc;
    uint8_t flags;  // StackFrameFlags
};
std::vector<FrameSite> frame_sites(const ShardReader& shard);

// The name of memory regions, and where the program first used it.
struct RegionName {
    std::string name;
    uint64_t place;
};

struct Replay {
    Owners owners;
    CountColumns counts;
    TouchColumns touches;
    PlacementColumns placement;
    SiteColumns sites;
    SampleColumns samples;
    SharedSampleColumns shared_samples;
    ShareColumns shares;
    TransferColumns transfers;
    KernelAccessColumns kernel_accesses;
    InstructionColumns instructions;
    WorkColumns work;
    SeenLineColumns seen_lines;
    SeenInModuleColumns seen_in_modules;
    SampledPathColumns sampled_paths;
    std::vector<PlaceRow> places;
    std::vector<ThreadRow> threads;
    std::vector<ModuleRow> modules;
    std::vector<PhaseRow> phases;
    SwitchColumns switches;
    HintingColumns hinting;
    std::vector<std::string> paths;  // 0 is ""
    std::unordered_map<uint64_t, CallStack> call_stacks;
    std::unordered_map<uint64_t, TouchingCalls> touch_callers;
    // For call stacks in which Python functions are executed: these functions, innermost first.
    std::unordered_map<uint64_t, std::vector<PythonFrameEntry>> python_stacks;
    std::unordered_map<uint64_t, PythonFunction> python_functions;
    std::unordered_map<uint64_t, RegionName> region_names;
    // All accesses in the shard, with any owner: the sum of `counts` must equal this.
    CountPair counted{0, 0};
    uint64_t ambiguous_pages = 0;       // counted where two mappings fall on one window page
    uint64_t shared_page_accesses = 0;  // divided among owners in proportion to bytes
    uint64_t damaged = 0;
};

// `parents` are the shards that this process was forked from, oldest first; they contain earlier
// blocks. `faults` are those of this process. A hinting fault or sample counts as one read, or as
// one write if it is known to be one. The first of the other faults of a page is its first touch.
Replay replay(const ShardReader& shard, const std::vector<const ShardReader*>& parents,
              const std::vector<Fault>& faults = {}, const FramePlaces& frame_places = {});

}  // namespace numascape
