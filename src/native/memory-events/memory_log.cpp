// SPDX-License-Identifier: Apache-2.0
#include "memory_log.h"

#include <string_view>

#include "address_space.h"
#include "os.h"

namespace numascape {
namespace {

void path_of_file(int file, char (&path)[1024]) {
    char link[64];
    append_number(append_text(link, "/proc/self/fd/", sizeof link), static_cast<uint64_t>(file));
    const long length = os::read_link(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
}

uint8_t flags_of(LeftBehind left) {
    switch (left) {
        case LeftBehind::kEmptyPages:
            return kMoveLeavesEmpty;
        case LeftBehind::kSamePages:
            return kMoveLeavesSame;
        default:
            return 0;
    }
}

// The number of anonymous shared memory is looked up in /proc/self/maps. This is slow, but such
// memory is rare.
MappedObject object_of(const Effect& effect) {
    if (!effect.shared) {
        return {};
    }
    return effect.file >= 0 ? object_of_file(effect.file, effect.offset)
                            : shared_object_at(effect.start);
}

}  // namespace

void MemoryLog::before(ThreadRecorder& recorder, PendingCall& pending) {
    pending.time = os::ticks();
    auto retire = [&](const Effect& effect) {
        leave_pages(shard_, recorder, effect.start, effect.start + effect.bytes, pending.time);
    };
    ranges_at_risk(state_, pending.call, sink_of(retire));
}

AddressRange MemoryLog::after(ThreadRecorder& recorder, const PendingCall& pending, long result,
                              bool by_allocator) {
    AddressRange mapped{0, 0};
    auto write = [&](const Effect& effect) {
        switch (effect.kind) {
            case EffectKind::kMap:
                map(recorder, pending, effect, by_allocator);
                mapped = {effect.start, effect.bytes};
                break;
            case EffectKind::kUnmap:
                unmap(recorder, pending.time + 1, effect.start, effect.bytes);
                break;
            case EffectKind::kMove:
                move(recorder, pending, effect);
                mapped = {effect.start, effect.bytes};
                break;
            case EffectKind::kForget:
                write_forget(shard_, recorder, pending.time + 1, effect.start, effect.bytes,
                             effect.private_only ? kForgetPrivate : 0);
                break;
            case EffectKind::kAdvise:
                advise(recorder, effect);
                break;
            case EffectKind::kTouch:
                touched_by_kernel(recorder, effect.start, effect.bytes, effect.writes,
                                  pending.kernel);
                break;
            case EffectKind::kAccess:
                touched_by_kernel(recorder, effect.start, effect.bytes, effect.writes,
                                  pending.kernel);
                shard_.access_by_kernel(recorder, effect.start, effect.bytes, effect.writes);
                break;
        }
    };
    effects_of(state_, pending.call, result, sink_of(write));
    return mapped;
}

void MemoryLog::map(ThreadRecorder& recorder, const PendingCall& pending, const Effect& effect,
                    bool by_allocator) {
    char path[1024] = "";
    if (effect.file >= 0) {
        path_of_file(effect.file, path);
    }
    const int flags = (by_allocator ? kMapByAllocator : 0) | (effect.shared ? kMapShared : 0) |
                      (effect.heap ? kMapHeap : 0);
    write_map(shard_, recorder, os::ticks(),
              {effect.start, effect.bytes, pending.stack_id, effect.heap ? "[heap]" : path, flags,
               object_of(effect)});
}

void MemoryLog::unmap(ThreadRecorder& recorder, uint64_t time, uint64_t start, uint64_t bytes) {
    auto* record = static_cast<UnmapRecord*>(
        shard_.append(recorder, RecordType::kUnmap, recorder.thread, sizeof(UnmapRecord)));
    record->time = time;
    record->start = start;
    record->bytes = bytes;
    shard_.commit(recorder, record);
    regions_.memory_ends(start, bytes);
}

void MemoryLog::advise(ThreadRecorder& recorder, const Effect& effect) {
    auto* record = static_cast<AdviceRecord*>(shard_.append(recorder, RecordType::kAdvice,
                                                            recorder.thread, sizeof(AdviceRecord),
                                                            effect.huge ? kAdviceHuge : 0));
    record->time = os::ticks();
    record->start = effect.start;
    record->bytes = effect.bytes;
    shard_.commit(recorder, record);
}

// There are two records, because there are two times: when the pages left, and when they arrived.
// In between, both ranges of addresses may belong to other mappings.
void MemoryLog::move(ThreadRecorder& recorder, const PendingCall& pending, const Effect& effect) {
    const auto write = [&](uint64_t time, uint8_t flags) {
        auto* record = static_cast<MoveRecord*>(
            shard_.append(recorder, RecordType::kMove, recorder.thread, sizeof(MoveRecord), flags));
        record->time = time;
        record->begun = pending.time;
        record->start = effect.start;
        record->bytes = effect.bytes;
        record->from = effect.from;
        record->from_bytes = effect.from_bytes;
        record->stack_id = pending.stack_id;
        shard_.commit(recorder, record);
    };
    if (effect.start == effect.from) {
        if (effect.bytes < effect.from_bytes) {
            unmap(recorder, pending.time + 1, effect.start + effect.bytes,
                  effect.from_bytes - effect.bytes);
        } else {
            write(os::ticks(), kMoveArrives);
        }
        return;
    }
    if (effect.left == LeftBehind::kNothing) {
        regions_.memory_ends(effect.from, effect.from_bytes);
    }
    const uint8_t left = flags_of(effect.left);
    write(pending.time + 1, left);
    write(os::ticks(), left | kMoveArrives);
}

void MemoryLog::touched_by_kernel(ThreadRecorder& recorder, uint64_t start, uint64_t bytes,
                                  bool writes, const AccessingCode& kernel) {
    const uint64_t end = start + bytes;
    for (uint64_t at = page_floor(start); at < end; at += kPageBytes) {
        shard_.touch_by_kernel(recorder, window_page(at), writes, kernel);
    }
}

void MemoryLog::was_mapped(const MappedRange& range) {
    if (std::string_view(range.path).starts_with("/SYSV")) {
        state_.segments.insert(range.start, range.end, 0);
    }
}

void MemoryLog::follow_break(uint64_t end) {
    state_.program_break.store(page_ceiling(end));
}

void MemoryLog::follow_break_to(ThreadRecorder& recorder, uint64_t address) {
    const uint64_t before = state_.program_break.load(std::memory_order_relaxed);
    if (before == 0 || address < before) {
        return;
    }
    const long end = os::call(SYS_brk, 0);
    if (address < static_cast<uint64_t>(end)) {
        after(recorder, {{SYS_brk, {}, {}}, os::ticks(), 0, {}}, end, false);
    }
}

}  // namespace numascape
