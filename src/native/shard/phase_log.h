// SPDX-License-Identifier: Apache-2.0
//
// The phases of one process: the existing ones, the current one, and their records. The caller
// decides what begins a phase. All functions except `current` must be called one at a time.
#pragma once

#include <cstdint>

#include "shard_writer.h"

namespace numascape {

// Two phases are the same if these are equal, except as noted. `name` is that of a mark and need
// not end in NUL. `place` of a mark is that of its first caller.
struct PhaseIdentity {
    PhaseKind kind;
    uint64_t place;   // as in PhaseRecord; not compared for a mark
    uint64_t caller;  // not compared
    const char* name;
    uint32_t name_bytes;
};

class PhaseLog {
  public:
    constexpr explicit PhaseLog(ShardWriter& shard) : shard_(shard) {}
    // Allocates its memory; false if there is none.
    bool open();
    // The phase's number; that of the further ones if there are too many phases, or if the counters
    // of this phase were written to the log too often.
    uint32_t find(const PhaseIdentity& identity);
    // The phase begins (again), and the current one ends.
    void begin(ThreadRecorder& by, uint32_t phase);
    // In the child of a fork, after the shard was opened again: the current phase continues there.
    void after_fork(ThreadRecorder& self);
    // Frees all memory.
    void close();

  private:
    struct Phase {
        uint64_t key;
        PhaseRecord* described;  // its first record, perhaps in the shard of a parent process
        PhaseRecord* record;     // in this process's shard, null before it begins there
    };
    uint32_t add(const PhaseIdentity& identity, uint64_t key);
    PhaseRecord* write(const PhaseIdentity& identity, uint32_t phase);
    bool same(const Phase& phase, const PhaseIdentity& identity, uint64_t key) const;
    PhaseRecord* record_of(uint32_t phase);
    void log_switch(ThreadRecorder& by, uint32_t phase, uint64_t time);

    // Here, phases are numbered one by one; the shard has other numbers
    // (ShardHeader::burst_groups).
    uint32_t step() const { return shard_.phase_step(); }
    uint32_t further() const { return kMaxPhases / step() - 1; }

    static constexpr uint32_t kPlaces = 2 * kMaxPhases;  // open addressing
    static constexpr uint32_t kMaxChunks = 1024;

    ShardWriter& shard_;
    ThreadRecorder* writer_ = nullptr;  // its chunks stay mapped: records change in place
    ChunkHeader* chunks_[kMaxChunks] = {};
    uint32_t chunk_count_ = 0;
    Phase* phases_ = nullptr;
    uint16_t* places_ = nullptr;  // phase by hash, 0 = free
    uint32_t count_ = 1;
    uint64_t logged_ = 0;       // switches with a record
    uint64_t last_logged_ = 0;  // time of the last of them
    uint64_t interval_ = 0;     // between two of them, once there are many
};

}  // namespace numascape
