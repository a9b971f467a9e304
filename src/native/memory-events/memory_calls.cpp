// SPDX-License-Identifier: Apache-2.0
#include "memory_calls.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "kernel_touches.h"
#include "os.h"
#include "shard_format.h"

namespace numascape {
namespace {

// The headers of some systems do not have these yet.
constexpr uint64_t kMapFixedNoReplace = 0x100000;
constexpr uint64_t kRemapDontUnmap = 4;
constexpr uint64_t kAdviceDontNeedLocked = 24;
constexpr uint64_t kAdvicePopulateRead = 22;
constexpr uint64_t kAdvicePopulateWrite = 23;
constexpr uint64_t kAdviceGuardInstall = 102;
constexpr long kOutOfMemory = -12;  // ENOMEM

uint64_t floor_page(uint64_t address) {
    return address & ~(kPageBytes - 1);
}
uint64_t whole_pages(uint64_t bytes) {
    return floor_page(bytes + kPageBytes - 1);
}

bool is_failure(long result) {
    return result < 0 && result > -4096;
}

void tell(EffectKind kind, uint64_t start, uint64_t bytes, EffectSink sink) {
    if (bytes != 0 && start % kPageBytes == 0 && start + bytes > start) {
        Effect effect{};
        effect.kind = kind;
        effect.start = start;
        effect.bytes = bytes;
        sink(effect);
    }
}

void risk_unmap(MemoryState& state, SystemCall& call, uint64_t start, uint64_t bytes,
                EffectSink sink) {
    call.segments = state.segments.take(start, start + bytes);
    tell(EffectKind::kUnmap, start, bytes, sink);
}

// --- mmap, munmap

uint64_t mapped_bytes(const SystemCall& call) {
    const uint64_t flags = call.arguments[3];
    if ((flags & MAP_HUGETLB) == 0) {
        return whole_pages(call.arguments[1]);
    }
    constexpr uint64_t kUsualShift = 21;  // 2 MiB, unless the call says otherwise
    const uint64_t shift = flags >> 26 & 0x3f;
    const uint64_t huge = uint64_t{1} << (shift != 0 ? shift : kUsualShift);
    return (call.arguments[1] + huge - 1) & ~(huge - 1);
}

bool replaces(const SystemCall& call) {
    const uint64_t flags = call.arguments[3];
    return (flags & MAP_FIXED) != 0 && (flags & kMapFixedNoReplace) == 0;
}

void mmap_risks(MemoryState& state, SystemCall& call, EffectSink sink) {
    if (replaces(call)) {
        risk_unmap(state, call, call.arguments[0], mapped_bytes(call), sink);
    }
}

void mmap_did(MemoryState&, const SystemCall& call, uint64_t start, EffectSink sink) {
    const uint64_t protection = call.arguments[2];
    const uint64_t flags = call.arguments[3];
    Effect map{};
    map.kind = EffectKind::kMap;
    map.start = start;
    map.bytes = mapped_bytes(call);
    map.file = (flags & MAP_ANONYMOUS) != 0 ? -1 : static_cast<int>(call.arguments[4]);
    map.offset = call.arguments[5];
    map.shared = (flags & MAP_TYPE) != MAP_PRIVATE;
    if (replaces(call)) {
        tell(EffectKind::kUnmap, start, map.bytes, sink);
    }
    sink(map);
    if ((flags & (MAP_POPULATE | MAP_LOCKED)) != 0 && protection != PROT_NONE) {
        tell_touch(start, map.bytes, (protection & PROT_WRITE) != 0 && !map.shared, sink);
    }
}

void munmap_risks(MemoryState& state, SystemCall& call, EffectSink sink) {
    risk_unmap(state, call, call.arguments[0], whole_pages(call.arguments[1]), sink);
}

void munmap_did(MemoryState&, const SystemCall& call, uint64_t, EffectSink sink) {
    tell(EffectKind::kUnmap, call.arguments[0], whole_pages(call.arguments[1]), sink);
}

// --- mremap

struct Remap {
    uint64_t from, from_bytes, bytes, flags, to;
    explicit Remap(const SystemCall& call)
        : from(call.arguments[0]),
          from_bytes(whole_pages(call.arguments[1])),
          bytes(whole_pages(call.arguments[2])),
          flags(call.arguments[3]),
          to(call.arguments[4]) {}
    bool fixed() const { return (flags & MREMAP_FIXED) != 0; }
};

void mremap_risks(MemoryState& state, SystemCall& call, EffectSink sink) {
    const Remap remap(call);
    if (remap.fixed()) {
        risk_unmap(state, call, remap.to, remap.bytes, sink);
    }
    if ((remap.flags & MREMAP_MAYMOVE) != 0) {
        tell(EffectKind::kMove, remap.from, remap.from_bytes, sink);
    } else if (remap.bytes < remap.from_bytes) {
        tell(EffectKind::kUnmap, remap.from + remap.bytes, remap.from_bytes - remap.bytes, sink);
    }
}

void mremap_did(MemoryState&, const SystemCall& call, uint64_t start, EffectSink sink) {
    const Remap remap(call);
    if (remap.fixed()) {
        tell(EffectKind::kUnmap, start, remap.bytes, sink);
    }
    Effect move{};
    move.kind = EffectKind::kMove;
    move.start = start;
    move.bytes = remap.bytes;
    move.from = remap.from;
    move.from_bytes = remap.from_bytes;
    if (remap.from_bytes == 0) {
        move.left = LeftBehind::kSamePages;
    } else if ((remap.flags & kRemapDontUnmap) != 0) {
        move.left = LeftBehind::kEmptyPages;
    }
    sink(move);
}

// --- brk

void brk_risks(MemoryState& state, SystemCall& call, EffectSink sink) {
    const uint64_t end = whole_pages(call.arguments[0]);
    const uint64_t before = state.program_break.load();
    if (call.arguments[0] != 0 && end < before) {
        tell(EffectKind::kUnmap, end, before - end, sink);
    }
}

void brk_did(MemoryState& state, const SystemCall&, uint64_t result, EffectSink sink) {
    const uint64_t end = whole_pages(result);
    const uint64_t before = state.program_break.exchange(end);
    if (before != 0 && end > before) {
        Effect map{};
        map.kind = EffectKind::kMap;
        map.start = before;
        map.bytes = end - before;
        map.file = -1;
        map.heap = true;
        sink(map);
    } else if (before > end) {
        tell(EffectKind::kUnmap, end, before - end, sink);
    }
}

// --- madvise

// MADV_FREE is not included: pages stay as they are until the kernel runs short of memory, and it
// notifies nobody.
bool forgets(uint64_t advice) {
    return advice == MADV_DONTNEED || advice == kAdviceDontNeedLocked || advice == MADV_REMOVE ||
           advice == kAdviceGuardInstall;
}

void madvise_risks(MemoryState&, SystemCall& call, EffectSink sink) {
    if (forgets(call.arguments[2])) {
        tell(EffectKind::kForget, call.arguments[0], whole_pages(call.arguments[1]), sink);
    }
}

void madvise_did(MemoryState&, const SystemCall& call, uint64_t, EffectSink sink) {
    const uint64_t advice = call.arguments[2];
    if (forgets(advice)) {
        Effect forget{};
        forget.kind = EffectKind::kForget;
        forget.start = call.arguments[0];
        forget.bytes = whole_pages(call.arguments[1]);
        forget.private_only = advice != MADV_REMOVE;
        sink(forget);
    } else if (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE) {
        Effect advise{};
        advise.kind = EffectKind::kAdvise;
        advise.start = call.arguments[0];
        advise.bytes = whole_pages(call.arguments[1]);
        advise.huge = advice == MADV_HUGEPAGE;
        sink(advise);
    } else if (advice == kAdvicePopulateRead || advice == kAdvicePopulateWrite) {
        tell_touch(call.arguments[0], call.arguments[1], advice == kAdvicePopulateWrite, sink);
    }
}

// --- System V shared memory

uint64_t segment_bytes(uint64_t id) {
    shmid_ds segment{};
    const long error =
        os::call(SYS_shmctl, static_cast<long>(id), IPC_STAT, reinterpret_cast<long>(&segment));
    return error == 0 ? whole_pages(segment.shm_segsz) : 0;
}

uint64_t attach_address(const SystemCall& call) {
    const uint64_t address = call.arguments[1];
    return (call.arguments[2] & SHM_RND) != 0 ? floor_page(address) : address;
}

void shmat_risks(MemoryState& state, SystemCall& call, EffectSink sink) {
    if ((call.arguments[2] & SHM_REMAP) != 0) {
        risk_unmap(state, call, attach_address(call), segment_bytes(call.arguments[0]), sink);
    }
}

void shmat_did(MemoryState& state, const SystemCall& call, uint64_t start, EffectSink sink) {
    Effect map{};
    map.kind = EffectKind::kMap;
    map.start = start;
    map.bytes = segment_bytes(call.arguments[0]);
    map.file = -1;
    map.shared = true;
    if (map.bytes == 0) {
        return;  // it was removed, or we may not ask about it
    }
    if ((call.arguments[2] & SHM_REMAP) != 0) {
        tell(EffectKind::kUnmap, start, map.bytes, sink);
    }
    state.segments.insert(start, start + map.bytes, 0);
    sink(map);
}

void shmdt_risks(MemoryState& state, SystemCall& call, EffectSink sink) {
    call.arguments[1] = 0;
    IntervalMap<char>::Interval segment{};
    if (state.segments.find(call.arguments[0], segment) && segment.start == call.arguments[0]) {
        call.arguments[1] = segment.end - segment.start;  // its only argument is the address
        risk_unmap(state, call, segment.start, call.arguments[1], sink);
    }
}

void shmdt_did(MemoryState&, const SystemCall& call, uint64_t, EffectSink sink) {
    tell(EffectKind::kUnmap, call.arguments[0], call.arguments[1], sink);
}

// --- The table

struct MemoryCall {
    long number;
    void (*risks)(MemoryState&, SystemCall&, EffectSink);
    void (*did)(MemoryState&, const SystemCall&, uint64_t result, EffectSink);
    TellTouches touches;
    bool maps;
};

constexpr MemoryCall kCalls[] = {
    {SYS_mmap, mmap_risks, mmap_did, nullptr, true},
    {SYS_munmap, munmap_risks, munmap_did, nullptr, false},
    {SYS_mremap, mremap_risks, mremap_did, nullptr, true},
    {SYS_brk, brk_risks, brk_did, nullptr, false},
    {SYS_madvise, madvise_risks, madvise_did, nullptr, false},
    {SYS_shmat, shmat_risks, shmat_did, nullptr, true},
    {SYS_shmdt, shmdt_risks, shmdt_did, nullptr, false},
    {SYS_read, nullptr, nullptr, fills_buffer, false},
    {SYS_pread64, nullptr, nullptr, fills_buffer, false},
    {SYS_recvfrom, nullptr, nullptr, fills_buffer, false},
    {os::kOldGetdents, nullptr, nullptr, fills_buffer, false},
    {SYS_getdents64, nullptr, nullptr, fills_buffer, false},
    {SYS_getrandom, nullptr, nullptr, fills_first_argument, false},
    {SYS_readv, nullptr, nullptr, fills_vectors, false},
    {SYS_preadv, nullptr, nullptr, fills_vectors, false},
    {SYS_preadv2, nullptr, nullptr, fills_vectors, false},
    {SYS_recvmsg, nullptr, nullptr, fills_message, false},
    {SYS_recvmmsg, nullptr, nullptr, fills_messages, false},
    {SYS_process_vm_readv, nullptr, nullptr, copies_between_processes, false},
    {SYS_process_vm_writev, nullptr, nullptr, copies_between_processes, false},
    {SYS_io_uring_register, nullptr, nullptr, registers_buffers, false},
    {SYS_mlock, nullptr, nullptr, locks_pages, false},
    {SYS_mlock2, nullptr, nullptr, locks_pages, false},
};

// For the number of each call: 1 + its row in kCalls, or 0 if it has none.
constexpr long kMaxNumbers = 512;
struct Rows {
    uint8_t of[kMaxNumbers] = {};
    constexpr Rows() {
        uint8_t row = 0;
        for (const MemoryCall& call : kCalls) {
            of[call.number] = ++row;
        }
    }
};
constexpr Rows kRows;

const MemoryCall* row_of(long number) {
    const uint8_t row = number >= 0 && number < kMaxNumbers ? kRows.of[number] : 0;
    return row != 0 ? &kCalls[row - 1] : nullptr;
}

}  // namespace

bool has_memory_effects(long number) {
    return row_of(number) != nullptr;
}

bool makes_mapping(long number) {
    const MemoryCall* row = row_of(number);
    return row != nullptr && row->maps;
}

void ranges_at_risk(MemoryState& state, SystemCall& call, EffectSink sink) {
    const MemoryCall* row = row_of(call.number);
    if (row != nullptr && row->risks != nullptr) {
        row->risks(state, call, sink);
    }
}

void effects_of(MemoryState& state, const SystemCall& call, long result, EffectSink sink) {
    // If a range has holes, the kernel follows the advice for the rest of the range, but returns an
    // error.
    const bool in_part = call.number == SYS_madvise && result == kOutOfMemory;
    const MemoryCall* row = row_of(call.number);
    if (is_failure(result) && !in_part) {
        state.segments.reinsert(call.segments);
        return;
    }
    state.segments.drop(call.segments);
    if (row == nullptr) {
        return;
    }
    const auto value = static_cast<uint64_t>(result);
    if (row->did != nullptr) {
        row->did(state, call, value, sink);
    } else if (row->touches != nullptr) {
        row->touches(state, call, value, sink);
    }
}

}  // namespace numascape
