// SPDX-License-Identifier: Apache-2.0
#include "phase_log.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

// This many switches, the first ones, have a record each. After them, a record is written at most
// once per interval, and the interval doubles with every kPerInterval records, so that the log of a
// long run stays small.
constexpr uint64_t kAllLogged = 20000;
constexpr uint64_t kPerInterval = 5000;
constexpr uint64_t kFirstInterval = uint64_t{1} << 24;  // ticks: some milliseconds

// A phase whose counts were written to the log this often is no longer counted separately.
constexpr uint32_t kMaxEvictions = 8;

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t key_of(const PhaseIdentity& identity) {
    if (identity.kind != PhaseKind::kMark) {
        return mix(static_cast<uint64_t>(identity.kind), identity.place);
    }
    uint64_t key = identity.name_bytes;
    for (uint32_t i = 0; i < identity.name_bytes; ++i) {
        key = mix(key, static_cast<uint8_t>(identity.name[i]));
    }
    return key;
}

const char* name_of(const PhaseRecord& record) {
    return reinterpret_cast<const char*>(&record + 1);
}

}  // namespace

bool PhaseLog::open() {
    writer_ = shard_.start_writer();
    phases_ = map_private<Phase>(kMaxPhases * sizeof(Phase));
    places_ = map_private<uint16_t>(kPlaces * sizeof(uint16_t));
    return writer_ != nullptr && phases_ != nullptr && places_ != nullptr;
}

bool PhaseLog::same(const Phase& phase, const PhaseIdentity& identity, uint64_t key) const {
    if (phase.key != key || phase.described->header.flags != static_cast<uint8_t>(identity.kind)) {
        return false;
    }
    if (identity.kind != PhaseKind::kMark) {
        return phase.described->place == identity.place;
    }
    const char* name = name_of(*phase.described);
    for (uint32_t i = 0; i < identity.name_bytes; ++i) {
        if (name[i] != identity.name[i]) {
            return false;
        }
    }
    return name[identity.name_bytes] == '\0';
}

uint32_t PhaseLog::find(const PhaseIdentity& identity) {
    const uint64_t key = key_of(identity);
    uint32_t at = static_cast<uint32_t>(key >> 40) % kPlaces;
    while (places_[at] != 0 && !same(phases_[places_[at]], identity, key)) {
        at = (at + 1) % kPlaces;
    }
    if (places_[at] == 0) {
        if (count_ == further()) {
            return further();
        }
        places_[at] = static_cast<uint16_t>(add(identity, key));
    }
    const uint32_t phase = places_[at];
    return shard_.evictions(phase * step()) < kMaxEvictions ? phase : further();
}

uint32_t PhaseLog::add(const PhaseIdentity& identity, uint64_t key) {
    const uint32_t phase = count_++;
    PhaseRecord* record = write(identity, phase);
    phases_[phase] = {key, record, record};
    return phase;
}

PhaseRecord* PhaseLog::write(const PhaseIdentity& identity, uint32_t phase) {
    const size_t bytes = sizeof(PhaseRecord) + (identity.name_bytes + 8) / 8 * 8;
    if (writer_->chunk != nullptr && writer_->chunk->used + bytes > kChunkBytes) {
        writer_->chunk = nullptr;
    }
    const bool fresh = writer_->chunk == nullptr;
    auto* record = static_cast<PhaseRecord*>(shard_.append(
        *writer_, RecordType::kPhase, phase * step(), bytes, static_cast<uint8_t>(identity.kind)));
    if (fresh && chunk_count_ < kMaxChunks) {
        chunks_[chunk_count_++] = writer_->chunk;
    }
    record->time = os::ticks();
    record->end = 0;
    record->place = identity.place;
    record->caller = identity.caller;
    record->repetitions = record->reserved = 0;
    char* name = reinterpret_cast<char*>(record + 1);
    for (size_t i = 0; i < bytes - sizeof(PhaseRecord); ++i) {
        name[i] = i < identity.name_bytes ? identity.name[i] : '\0';
    }
    shard_.commit(*writer_, record);
    return record;
}

// Phase 0 and the further ones are described when they are first needed; after a fork all others
// too.
PhaseRecord* PhaseLog::record_of(uint32_t phase) {
    Phase& known = phases_[phase];
    if (known.record == nullptr) {
        PhaseIdentity identity{phase == 0 ? PhaseKind::kOutside : PhaseKind::kFurther, 0, 0, "", 0};
        if (const PhaseRecord* before = known.described) {
            identity = {static_cast<PhaseKind>(before->header.flags), before->place, before->caller,
                        name_of(*before), 0};
            while (identity.name[identity.name_bytes] != '\0') {
                ++identity.name_bytes;
            }
        }
        known.record = write(identity, phase);
        known.described = known.record;
        if (identity.kind == PhaseKind::kFurther) {
            shard_.set_flag(kShardPhasesFolded);
        }
    }
    return known.record;
}

void PhaseLog::begin(ThreadRecorder& by, uint32_t phase) {
    const uint64_t time = os::ticks();
    const uint32_t before = shard_.current_phase() / step();
    PhaseRecord* record = record_of(phase);
    record->time = record->repetitions == 0 ? time : record->time;
    record->repetitions += 1;
    PhaseRecord* ended = record_of(before);
    if (ended->repetitions == 0) {  // phase 0, which no call began
        ended->repetitions = 1;
    }
    ended->end = time;
    if (before != phase) {
        shard_.switch_phase(by, phase * step());
    }
    log_switch(by, phase, time);
}

void PhaseLog::log_switch(ThreadRecorder& by, uint32_t phase, uint64_t time) {
    if (logged_ >= kAllLogged) {
        if ((logged_ - kAllLogged) % kPerInterval == 0) {
            interval_ = interval_ == 0 ? kFirstInterval : interval_ * 2;
            ++logged_;
        }
        if (time - last_logged_ < interval_) {
            return;
        }
    }
    ++logged_;
    last_logged_ = time;
    auto* record = static_cast<PhaseSwitchRecord*>(
        shard_.append(by, RecordType::kPhaseSwitch, phase * step(), sizeof(PhaseSwitchRecord)));
    record->time = time;
    shard_.commit(by, record);
}

void PhaseLog::after_fork(ThreadRecorder& self) {
    // Their chunks stay mapped, because the names are in them.
    for (uint32_t phase = 0; phase < count_; ++phase) {
        phases_[phase].record = nullptr;
    }
    phases_[further()].record = nullptr;
    writer_->chunk = nullptr;
    logged_ = interval_ = 0;
    const uint32_t phase = shard_.current_phase() / step();
    if (phase != 0) {
        PhaseRecord* record = record_of(phase);
        record->repetitions = 1;
        log_switch(self, phase, record->time);
    }
}

void PhaseLog::close() {
    if (writer_ == nullptr) {
        return;
    }
    for (uint32_t i = 0; i < chunk_count_; ++i) {
        os::unmap(chunks_[i], kChunkBytes);
    }
    os::unmap(phases_, kMaxPhases * sizeof(Phase));
    os::unmap(places_, kPlaces * sizeof(uint16_t));
    os::unmap(writer_, sizeof(ThreadRecorder));
    writer_ = nullptr;
}

}  // namespace numascape
