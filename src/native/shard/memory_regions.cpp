// SPDX-License-Identifier: Apache-2.0
#include "memory_regions.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr uint64_t kMaxNameBytes = 255;
// The name of further regions after kMaxNames different names.
constexpr char kFurtherNames[] = "further regions";

// The seed differs from that of call stacks, so that equal identifiers are unlikely.
uint64_t identifier_of(const char* name, size_t length) {
    uint64_t hash = 0x7265'6769'6f6e'0000u ^ length;
    for (size_t i = 0; i < length; ++i) {
        hash = (hash ^ static_cast<uint8_t>(name[i])) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash | 1;
}

size_t read_name(uint64_t address, char (&name)[kMaxNameBytes + 1]) {
    const size_t got = address != 0 ? os::read_memory(address, name, kMaxNameBytes) : 0;
    size_t length = 0;
    while (length < got && name[length] != '\0') {
        ++length;
    }
    name[length] = '\0';
    return length;
}

// The pages that lie in it entirely.
struct WholePages {
    uint64_t start;
    uint64_t end;
    WholePages(uint64_t address, uint64_t bytes)
        : start((address + kPageBytes - 1) & ~(kPageBytes - 1)),
          end((address + bytes) & ~(kPageBytes - 1)) {}
};

}  // namespace

bool MemoryRegions::open() {
    if (names_ != nullptr) {
        return true;
    }
    regions_ = map_private<Region>(kMaxRegions * sizeof(Region));
    buckets_ = map_private<uint32_t>(kBuckets * sizeof(uint32_t));
    names_ = regions_ != nullptr && buckets_ != nullptr
                 ? map_private<uint64_t>(2 * kMaxNames * sizeof(uint64_t))
                 : nullptr;
    return names_ != nullptr;
}

void MemoryRegions::close() {
    SpinGuard guard(lock_);
    if (names_ != nullptr) {
        os::unmap(regions_, kMaxRegions * sizeof(Region));
        os::unmap(buckets_, kBuckets * sizeof(uint32_t));
        os::unmap(names_, 2 * kMaxNames * sizeof(uint64_t));
        names_ = nullptr;
        used_ = live_ = name_count_ = 0;
    }
}

bool MemoryRegions::is_new(uint64_t name_id) {
    uint32_t at = static_cast<uint32_t>(name_id >> 40) % (2 * kMaxNames);
    while (names_[at] != 0 && names_[at] != name_id) {
        at = (at + 1) % (2 * kMaxNames);
    }
    const bool fresh = names_[at] == 0;
    names_[at] = name_id;
    name_count_ += fresh ? 1 : 0;
    return fresh;
}

// 0 if the region has no name.
uint64_t MemoryRegions::identify(ThreadRecorder& recorder, uint64_t pc, uint64_t name) {
    char text[kMaxNameBytes + 1];
    size_t length = read_name(name, text);
    if (length == 0) {
        return 0;
    }
    if (name_count_ >= kMaxNames) {
        length = sizeof kFurtherNames - 1;
        __builtin_memcpy(text, kFurtherNames, sizeof kFurtherNames);
        shard_.set_flag(kShardRegionsLost);
    }
    const uint64_t id = identifier_of(text, length);
    if (is_new(id)) {
        const size_t room = (length + 8) / 8 * 8;
        auto* record = static_cast<RegionNameRecord*>(
            shard_.append(recorder, RecordType::kRegionName, 0, sizeof(RegionNameRecord) + room));
        record->name_id = id;
        record->place = pc;
        char* to = reinterpret_cast<char*>(record + 1);
        for (size_t i = 0; i < room; ++i) {
            to[i] = i < length ? text[i] : '\0';
        }
        shard_.commit(recorder, record);
    }
    return id;
}

void MemoryRegions::told(ThreadRecorder& recorder, uint64_t pc, uint64_t name, uint64_t address,
                         uint64_t bytes) {
    if (!shard_.makes_calls() || address + bytes < address) {
        return;
    }
    SpinGuard guard(lock_);
    if (!open()) {
        shard_.set_flag(kShardRegionsLost);
        return;
    }
    if (bytes == 0) {
        end(recorder, address);
    } else if (const uint64_t id = identify(recorder, pc, name)) {
        begin(recorder, {address, bytes, id, 0});
    }
}

// Moves the counts so far to the log. They belong to the region if it `ended`, otherwise to the
// memory below it.
void MemoryRegions::move_counts(ThreadRecorder& recorder, const Region& region, uint64_t time,
                                bool ended) {
    const WholePages whole(region.address, region.bytes);
    if (whole.start < whole.end && region.bytes < kWindowMask / 2) {
        if (ended) {
            shard_.query_placement(recorder, whole.start, whole.end, time);
        }
        shard_.retire(recorder, window_page(whole.start), window_page(whole.end - 1) + 1, time);
    }
}

void MemoryRegions::write(ThreadRecorder& recorder, const Region& region, uint64_t time) {
    auto* record = static_cast<MemoryRegionRecord*>(shard_.append(
        recorder, RecordType::kMemoryRegion, recorder.thread, sizeof(MemoryRegionRecord)));
    record->time = time;
    record->address = region.address;
    record->bytes = region.bytes;
    record->name_id = region.name_id;
    shard_.commit(recorder, record);
}

void MemoryRegions::begin(ThreadRecorder& recorder, const Region& region) {
    const bool small = region.bytes < kPageBytes;
    if (small) {
        shard_.add_small_block(recorder, region.address, region.bytes, region.name_id);
        if (find(region.address) == nullptr) {
            return;
        }
        // A larger region begins at the same address. The small one is added, too, so that its end
        // does not end the larger one.
    }
    end_within(region.address, region.bytes);
    if (!add(region)) {
        shard_.set_flag(kShardRegionsLost);
        return;
    }
    if (small) {
        return;
    }
    const uint64_t time = os::ticks();
    move_counts(recorder, region, time, false);
    write(recorder, region, time + 1);
}

// The last region that began at the address and has not ended; null if there is none.
MemoryRegions::Region* MemoryRegions::find(uint64_t address) {
    for (uint32_t at = bucket(address >> kPageShift); at != 0; at = regions_[at - 1].before) {
        Region& region = regions_[at - 1];
        if (region.address == address && region.bytes != 0) {
            return &region;
        }
    }
    return nullptr;
}

void MemoryRegions::end(ThreadRecorder& recorder, uint64_t address) {
    Region* region = find(address);
    if (region == nullptr) {
        return;
    }
    const uint64_t bytes = region->bytes;
    const uint64_t time = os::ticks();
    move_counts(recorder, *region, time, true);
    region->bytes = 0;
    --live_;
    if (bytes < kPageBytes) {
        return;
    }
    auto* record = static_cast<MemoryRegionEndRecord*>(shard_.append(
        recorder, RecordType::kMemoryRegionEnd, recorder.thread, sizeof(MemoryRegionEndRecord)));
    record->time = time + 1;
    record->address = address;
    shard_.commit(recorder, record);
}

void MemoryRegions::link(uint32_t index) {
    uint32_t& last = bucket(regions_[index].address >> kPageShift);
    regions_[index].before = last;
    last = index + 1;
}

bool MemoryRegions::add(const Region& region) {
    if (used_ == kMaxRegions && live_ <= kMaxRegions / 2) {
        compact();
    }
    if (used_ == kMaxRegions) {
        return false;
    }
    regions_[used_] = region;
    link(used_++);
    ++live_;
    return true;
}

// Removes regions that have ended; keeps the order of the others.
void MemoryRegions::compact() {
    for (uint32_t i = 0; i < kBuckets; ++i) {
        buckets_[i] = 0;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < used_; ++i) {
        if (regions_[i].bytes != 0) {
            regions_[kept] = regions_[i];
            link(kept++);
        }
    }
    used_ = kept;
}

void MemoryRegions::end_within(uint64_t start, uint64_t bytes) {
    const auto end_if_within = [&](Region& region) {
        const bool within = region.bytes != 0 && region.address >= start &&
                            region.address - start + region.bytes <= bytes;
        region.bytes = within ? 0 : region.bytes;
        live_ -= within ? 1 : 0;
    };
    const uint64_t first = start >> kPageShift;
    const uint64_t last = (start + bytes - 1) >> kPageShift;
    if (last - first >= used_) {
        for (uint32_t i = 0; i < used_; ++i) {
            end_if_within(regions_[i]);
        }
        return;
    }
    for (uint64_t page = first; page <= last; ++page) {
        for (uint32_t at = bucket(page); at != 0; at = regions_[at - 1].before) {
            end_if_within(regions_[at - 1]);
        }
    }
}

void MemoryRegions::memory_ends(uint64_t start, uint64_t bytes) {
    if (__atomic_load_n(&live_, __ATOMIC_RELAXED) == 0 || bytes == 0) {
        return;
    }
    SpinGuard guard(lock_);
    end_within(start, bytes);
}

void MemoryRegions::write_live(ThreadRecorder& recorder, uint64_t time) {
    SpinGuard guard(lock_);
    for (uint32_t i = 0; i < used_; ++i) {
        if (regions_[i].bytes >= kPageBytes) {
            write(recorder, regions_[i], time);
        }
    }
}

}  // namespace numascape
