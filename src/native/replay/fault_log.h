// SPDX-License-Identifier: Apache-2.0
//
// The page faults of a session, which the fault recorder writes beside the shards: a FaultHeader,
// and then FaultEntry until the end of the file.
//
// On a machine with several nodes, the kernel may balance: from time to time it makes pages in
// memory inaccessible. The fault at the next access (a hinting fault) shows the kernel which thread
// uses the page. The event does not say that a fault is a hinting fault. The recorder therefore
// also checks, between two rounds of faults, which pages are in memory (`kLook` and the following).
//
// The log may also have samples of accesses, which the processor takes, or which follow from
// samples of the clock (`kSample` and the following). The callers of the sampled code are a tree of
// calls (`kCall`), so that calls that many samples have in common are in the log once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace numascape {

inline constexpr char kFaultMagic[8] = {'N', 'U', 'M', 'A', 'F', 'L', 'T', '2'};

struct FaultHeader {
    char magic[8];
    uint64_t lost;    // faults that the kernel had no room for
    uint64_t bursts;  // in which the clock was sampled; 0: all the time
};

enum class FaultKind : uint32_t {
    kFault,  // thread `tid` faulted at `pc`; in a log of the clock: a sample
    // Process `pid` runs another program.
    kExec,
    // Process `pid` forked: a write to any of its pages may fault, to copy it.
    kFork,
    // A look that began at time `address` has ended. Pages that faulted before this time, and not
    // since, are in memory unless an entry says otherwise. `pc` is the kernel's count of hinting
    // faults at that time, for all processes.
    kLook,
    // `pc` pages from `address` on, of process `pid`:
    kInMemory,  // are in memory, although no fault on them was seen
    kToCopy,    // may fault for another reason: they are shared until they are written, swapped
                // out, being brought in after a fault, or being moved
    kGone,      // are not in memory any more
    // Thread `tid` accessed `address` at `pc`: one access of many. A write, if it is known to be
    // one.
    kSample,
    kSampledWrite,
    // A sample of the clock at `pc`. No access near `pc` has a known address.
    kNoAccess,
    // The code at `pc` calls a function. `address` is the number of this call, which is larger than
    // that of its own callers in `callers`.
    kCall,
};

// The largest number of pages of one entry.
inline constexpr uint64_t kMaxFaultPages = 1 << 15;

// Values of `callers` that are not the number of a call.
inline constexpr uint32_t kUnknownCallers = 0;
inline constexpr uint32_t kNoCallers = 1;  // the function begins the program, or a thread
inline constexpr uint32_t kFirstCall = 2;

struct FaultEntry {
    uint64_t time_ns;  // CLOCK_REALTIME
    uint64_t address;
    uint64_t pc;
    uint32_t pid;
    uint32_t tid;
    uint32_t cpu;
    FaultKind kind;
    uint32_t callers = kUnknownCallers;  // of a sample or a call: the call of its function
    uint32_t unused = 0;
};
static_assert(sizeof(FaultHeader) == 24 && sizeof(FaultEntry) == 48);

enum class FaultMeaning : uint8_t {
    kFirstTouch,  // the page was not in memory, as far as is known
    kHinting,     // a sample of accesses: the page was in memory, and the kernel wanted to know who
                  // uses it; or the processor took the sample
    kOther,       // the page had faulted or was in memory; the reason for this fault is unknown
};

struct Fault {
    uint64_t time_ns, address, pc;
    uint32_t tid, cpu;
    FaultMeaning meaning;
    uint64_t since_ns;     // unless a first touch: when the page was last known to be in memory
    bool sampled = false;  // a sample, not a fault
    bool writes = false;   // known of samples only
    uint32_t callers = kUnknownCallers;
};

// A call of a function, in code that other functions called.
struct SampledCall {
    uint64_t pc;
    uint32_t callers;  // smaller than the number of this call
};

struct FaultLog {
    uint64_t lost = 0;
    uint64_t bursts = 0;
    uint64_t hinting_counted = 0;  // by the kernel, of all processes, while it was looked
    uint64_t without_access = 0;   // samples of the clock without a known access
    std::vector<Fault> faults;     // in order of time
    std::unordered_map<uint32_t, SampledCall> calls;  // by number
};

// The faults of the program that process `pid` runs at `begin_ns` (its first program, if that is
// 0). Throws ShardError if the file is not such a log or cannot be read. An incomplete last entry
// is ignored.
FaultLog read_faults(const std::string& path, uint32_t pid, uint64_t begin_ns);

}  // namespace numascape
