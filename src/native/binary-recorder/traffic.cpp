// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include "line_probes.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

// Offsets of bytes, such that each line that a group accesses contains one of them.
class Probes {
  public:
    // `aligned`: lines begin at multiples of `line` from offset 0. Otherwise they may begin
    // anywhere.
    Probes(const BlockPlan& plan, const AccessGroup& group, int64_t line, bool aligned) {
        for (const bool write : {true, false}) {
            int64_t from = INT64_MIN;
            while (const PlannedAccess* access = lowest(plan, group, from, write)) {
                from = access->offset + 1;
                if (aligned) {
                    for (int64_t at = access->offset & -line;
                         at < access->offset + int64_t{access->bytes}; at += line) {
                        add(at, write);
                    }
                } else {
                    from = add_cluster(plan, group, *access, line, write);
                }
            }
        }
    }
    template <typename Visit>
    void each(Visit visit) const {
        for (uint32_t i = 0; i < count_; ++i) {
            visit(offset_[i], write_[i]);
        }
    }

  private:
    static constexpr uint32_t kMax = 256;

    static const PlannedAccess* lowest(const BlockPlan& plan, const AccessGroup& group,
                                       int64_t from, bool write) {
        const PlannedAccess* found = nullptr;
        for (uint32_t i = group.first_access; i != kNoAccess; i = plan.access[i].next) {
            const PlannedAccess& access = plan.access[i];
            if (access.write == write && access.offset >= from &&
                (found == nullptr || access.offset < found->offset ||
                 (access.offset == found->offset && access.bytes > found->bytes))) {
                found = &access;
            }
        }
        return found;
    }

    // Adds a cluster: the accesses from `first` upwards that together span at most the size of a
    // line. They are on two lines at most, so two probes are enough: of the first byte of `first`,
    // and of a byte of the last access. Returns where the next cluster may begin.
    int64_t add_cluster(const BlockPlan& plan, const AccessGroup& group, const PlannedAccess& first,
                        int64_t line, bool write) {
        const int64_t low = first.offset;
        int64_t next = low + 1;
        int64_t last = last_byte(first);
        while (const PlannedAccess* access = lowest(plan, group, next, write)) {
            if (access->offset + int64_t{access->bytes} - low > line) {
                break;
            }
            next = access->offset + 1;
            last = last_byte(*access) > last ? last_byte(*access) : last;
        }
        for (int64_t at = low; at < last; at += line) {
            add(at, write);
        }
        add(last, write);
        return next;
    }

    // Words are assumed to be aligned. If an unaligned word is grouped with others, only its first
    // byte is looked up.
    static int64_t last_byte(const PlannedAccess& access) {
        const bool word = access.bytes <= 8 && (access.bytes & (access.bytes - 1)) == 0;
        return word ? access.offset : access.offset + access.bytes - 1;
    }

    // Writes come first: a read of the same byte adds nothing.
    void add(int64_t offset, bool write) {
        for (uint32_t i = 0; i < count_; ++i) {
            if (offset_[i] == offset) {
                return;
            }
        }
        if (count_ < kMax) {
            offset_[count_] = offset;
            write_[count_++] = write;
        }
    }

    int64_t offset_[kMax];
    bool write_[kMax];
    uint32_t count_ = 0;
};

// Accesses of one thread to one line, in the order of the program.
class LineAccesses {
  public:
    explicit LineAccesses(uint64_t line) : line_(line) {}

    // Adds the bytes of the line that the access touches, if there are any.
    void add(uint64_t address, uint64_t bytes, bool write, uint64_t pc) {
        const uint32_t size = line_bytes();
        const uint64_t start = line_ << shard.cache_shape().line_bits;
        const uint64_t low = address > start ? address - start : 0;
        const uint64_t end = address + bytes > start ? address + bytes - start : 0;
        const uint64_t high = end < size ? end : size;
        if (address >= start + size || low >= high || count_ == kMax) {
            return;
        }
        access_[count_++] = {mask(low, high), pc, write};
    }
    void use(ThreadRecorder& recorder) const { shard.use_line(recorder, line_, access_, count_); }

  private:
    static constexpr uint32_t kMax = 64;

    // The bytes [low, high) of a line, as 64 parts at most.
    static ByteMask mask(uint64_t low, uint64_t high) {
        const uint64_t part = line_bytes() > 64 ? line_bytes() / 64 : 1;
        const uint64_t first = low / part;
        const uint64_t count = (high - 1) / part - first + 1;
        return (count >= 64 ? ~ByteMask{0} : (ByteMask{1} << count) - 1) << first;
    }

    uint64_t line_;
    uint32_t count_ = 0;
    SharedLines::Access access_[kMax];
};

}  // namespace

bool traffic() {
    return shard.cache_shape().ways != 0;
}

uint32_t line_bytes() {
    return 1u << shard.cache_shape().line_bits;
}

void insert_group_probes(const Emitter& emit, PlaceScratch& scratch, const BlockPlan& plan,
                         const AccessGroup& group, const GroupInfo* info, reg_id_t a) {
    const Probes probes(plan, group, line_bytes(), group.is_static);
    probes.each([&](int64_t offset, bool write) {
        const uint64_t base = group.is_static ? static_cast<uint64_t>(group.low) : 0;
        const LineProbe probe{
            info->place, info, base, static_cast<int32_t>(offset - group.low), 0, write ? 1u : 0u};
        if (group.is_static) {
            insert_static_probe(emit, scratch, probe);
        } else {
            insert_probe_at(emit, scratch, a, probe);
        }
    });
}

void insert_probe(const Emitter& emit, PlaceScratch& scratch, reg_id_t a, uint32_t bytes,
                  bool write, const PlaceInfo& place) {
    insert_probe_at(emit, scratch, a, {place, nullptr, 0, 0, bytes, write ? 1u : 0u});
}

void use_probed_line(ThreadRecorder& recorder, uint64_t low, const LineProbe& probe) {
    low = probe.base != 0 ? probe.base : low;
    const uint64_t line =
        (low + static_cast<uint64_t>(int64_t{probe.offset})) >> shard.cache_shape().line_bits;
    LineAccesses accesses(line);
    if (probe.group == nullptr) {
        accesses.add(low, probe.bytes, probe.write != 0, probe.place.pc);
    } else {
        for (unsigned i = 0; i < probe.group->accesses; ++i) {
            const GroupAccess& access = probe.group->access[i];
            accesses.add(low + access.offset, access.bytes, access.write, access.pc);
        }
    }
    accesses.use(recorder);
}

void touch_lines(ThreadRecorder& recorder, uint64_t address, uint64_t bytes, bool write,
                 uint64_t pc) {
    if (recorder.cache == nullptr || bytes == 0) {
        return;
    }
    const uint32_t bits = shard.cache_shape().line_bits;
    const SharedLines& lines = shard.shared_lines();
    const LineUser user = SharedLines::user(recorder.thread);
    const uint64_t last = (address + bytes - 1) >> bits;
    for (uint64_t line = address >> bits; line <= last; ++line) {
        if (recorder.cache->in_filter(line, write)) {
            continue;
        }
        const bool full = recorder.cache->touch(line, write);
        if (lines.is_open() && !lines.may_use(user, line, write)) {
            LineAccesses accesses(line);
            accesses.add(address, bytes, write, pc);
            accesses.use(recorder);
        }
        if (full) {
            shard.drain_misses(recorder, true);
        }
    }
}

}  // namespace numascape
