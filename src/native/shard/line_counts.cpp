// SPDX-License-Identifier: Apache-2.0
//
// ShardWriter's part for source lines: descriptions of basic blocks, their counters, and samples of
// which pages their sites touch.
#include "os.h"
#include "private_memory.h"
#include "shard_writer.h"

namespace numascape {
namespace {

constexpr uint32_t kSampleEntries = 1153;
static_assert(sizeof(ChunkHeader) + kSampleEntries * sizeof(SampleRecord) <= kChunkBytes);

// Strata become larger if the thread has logged much, so that the log of a long run stays small.
constexpr uint32_t kLoggedPerShift = 32768;

// A repeated string instruction is recorded each time if it has at least this many elements. If the
// thread has logged much, it must have more. One copy of a whole structure matters more than many
// copies of a few words.
constexpr uint64_t kMinAlwaysNoted = 64;

// After this many samples, the memory of a thread's sampling table is freed.
constexpr uint32_t kSamplesPerDiscard = 512;

uint32_t next_random(uint32_t& state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

uint32_t max_shift(uint32_t logged) {
    const uint32_t shift = kMinStratumShift + logged / kLoggedPerShift;
    return shift < kMaxStratumShift ? shift : kMaxStratumShift;
}

void write_sample(const SampleRecord& from, SampleRecord& to) {
    to.header.id = from.header.id;
    to.header.flags = from.header.flags;
    to.time = from.time;
    to.site = from.site;
    to.phase = from.phase;
    to.weight = from.weight;
    to.seen = from.seen;
    to.samples = from.samples;
    to.thread = from.thread;
}

}  // namespace

void ShardWriter::write_block(ThreadRecorder& self, uint32_t block, uint16_t instructions,
                              const BlockAccess* access, uint32_t accesses) {
    if (instructions != 0) {
        note_instructions(block, instructions);
    }
    auto* record = static_cast<BlockRecord*>(
        append(self, RecordType::kBlock, block, sizeof(BlockRecord) + accesses * sizeof *access));
    record->accesses = accesses;
    record->instructions = instructions;
    auto* out = reinterpret_cast<BlockAccess*>(record + 1);
    for (uint32_t i = 0; i < accesses; ++i) {
        out[i] = access[i];
    }
    commit(self, record);
}

void ShardWriter::note_instructions(uint32_t block, uint16_t instructions) {
    uint16_t* of_blocks = instructions_.load(std::memory_order_acquire);
    if (of_blocks == nullptr && makes_calls()) {
        auto* fresh = map_private<uint16_t>(kCounters * sizeof(uint16_t));
        if (fresh != nullptr && !instructions_.compare_exchange_strong(of_blocks, fresh)) {
            os::unmap(fresh, kCounters * sizeof(uint16_t));
        } else {
            of_blocks = fresh;
        }
    }
    if (of_blocks != nullptr) {
        std::atomic_ref(of_blocks[block]).store(instructions, std::memory_order_relaxed);
    }
}

// No thread may count in the table at this moment.
uint64_t ShardWriter::instructions_in(const CountTable& table) const {
    const uint16_t* of_blocks = instructions_.load(std::memory_order_acquire);
    if (of_blocks == nullptr || table.of_lines || table.page_counters == nullptr) {
        return 0;
    }
    uint64_t sum = 0;
    table.counters->each([&](uint32_t granule) {
        const uint32_t first = granule * kBlockCountersPerGranule;
        for (uint32_t number = first; number < first + kBlockCountersPerGranule; ++number) {
            if (of_blocks[number] != 0) {
                sum += of_blocks[number] *
                       counter_at<BlockCounter>(table.page_counters, number).executions();
            }
        }
    });
    return sum;
}

// Pre: the table has a thread.
void ShardWriter::write_instructions(ThreadRecorder& self, const CountTable& table,
                                     uint64_t instructions) {
    if (instructions == 0) {
        return;
    }
    auto* record = static_cast<InstructionsRecord*>(
        append(self, RecordType::kInstructions, table.thread->thread, sizeof(InstructionsRecord)));
    record->instructions = static_cast<int64_t>(instructions);
    record->phase = table.phase;
    record->reserved = 0;
    commit(self, record);
}

void ShardWriter::back_counter(const CountTable& table, uint32_t number) {
    const uint32_t granule = number / kBlockCountersPerGranule;
    if (!table.counters->contains(granule)) {
        back_page(table, -int64_t{kPageBytes} * (int64_t{granule} + 1));
        table.counters->insert(granule);
    }
}

bool ShardWriter::begin_sample(ThreadRecorder& self, PageCounter* page_counters, uint32_t block) {
    const CountTable& table = table_at(self, page_counters);
    // The program's code has just written the counter, so its page already has disk space.
    table.counters->insert(block / kBlockCountersPerGranule);
    auto& counter = counter_at<BlockCounter>(page_counters, block);
    Sampling& sampling = self.sampling;
    if (sampling.table == nullptr) {
        // The sampling table is at the top of the area of tables. Count tables reach this place
        // only if there are thousands of them.
        const auto index = static_cast<uint64_t>(kMaxTables - 1 - (&table - tables_));
        void* memory = os::map_sparse(kTableStride,
                                      reinterpret_cast<void*>(kTablesBase + index * kTableStride));
        sampling.table = os::failed(memory) ? nullptr : table_in(memory);
        sampling.random = 0x9e3779b9u * (self.thread + 1) | 1;
    } else if (sampling.begun % kSamplesPerDiscard == 0) {
        os::discard(table_memory(sampling.table), kTableStride, false);
    }
    const uint32_t shift = max_shift(sampling.logged);
    const uint64_t execution = counter.executions() - 1;
    const Stratum stratum = stratum_of(execution, shift);
    const Stratum next = stratum_of(stratum.begin + stratum.size, shift);
    const uint64_t sampled_next = next.begin + next_random(sampling.random) % next.size;
    const uint64_t until_next = sampled_next - execution - 1;
    const uint64_t since = 0 - counter.left;  // since it ran out; > 1 if a loop is counted at once
    counter.loaded += until_next + since;
    counter.left = until_next;
    if (sampling.table == nullptr) {
        return false;
    }
    sampling.begun += 1;
    sampling.block = block;
    sampling.weight = stratum.size + since - 1;
    return true;
}

bool ShardWriter::always_noted(const ThreadRecorder& self, uint64_t times) {
    const uint32_t shift = self.sampling.logged / kLoggedPerShift;
    return shift < kMaxStratumShift && times >= kMinAlwaysNoted << shift;
}

void ShardWriter::note_sample(ThreadRecorder& self, uint32_t site, uint32_t page,
                              const SeenParts& seen, uint64_t weight, bool whole) {
    Sampling& sampling = self.sampling;
    if (sampling.chunk == nullptr) {
        sampling.chunk = new_chunk(self, ChunkKind::kSamples);
        sampling.chunk->used = sizeof(ChunkHeader) + kSampleEntries * sizeof(SampleRecord);
    }
    auto* entries = reinterpret_cast<SampleRecord*>(sampling.chunk + 1);
    const uint64_t hash = (page * 0x9e3779b97f4a7c15u) ^ (site * 0xc2b2ae3d27d4eb4fu);
    SampleRecord& entry = entries[(hash >> 40) % kSampleEntries];
    const uint32_t phase = self.current.load(std::memory_order_relaxed)->phase;
    const bool used = entry.header.words != 0;
    const uint8_t flags = whole ? kSampleWhole : 0;
    if (used && entry.header.flags == flags && entry.site == site && entry.header.id == page &&
        entry.phase == phase && entry.thread == self.thread &&
        entry.time > owners_changed_.load(std::memory_order_relaxed)) {
        entry.weight += weight;
        entry.seen |= seen;
        entry.samples += 1;
        return;
    }
    if (used) {
        auto* record = static_cast<SampleRecord*>(
            append(self, RecordType::kSample, entry.header.id, sizeof(SampleRecord)));
        write_sample(entry, *record);
        commit(self, record);
        sampling.logged += 1;
        entry.header.words = 0;
    }
    write_sample({{0, flags, 0, page}, os::ticks(), site, phase, weight, seen, 1, self.thread},
                 entry);
    entry.header.type = static_cast<uint8_t>(RecordType::kSample);
    std::atomic_ref<uint16_t>(entry.header.words)
        .store(sizeof(SampleRecord) / 8, std::memory_order_release);
}

void ShardWriter::count_sample(ThreadRecorder& self, uint32_t page, const AccessingCode& code,
                               uint32_t site, const SeenParts& seen) {
    Sampling& sampling = self.sampling;
    const CountPair counts = sampling.table[page].counts();
    sampling.table[page] = {0, 0};
    if (site != kNoSite && sampling.weight != 0) {
        note_sample(self, site, page, seen, sampling.weight, sampling.weight == 1);
    }
    count(self, uint64_t{page} << kPageShift, 1, counts.reads, counts.writes, code);
}

void ShardWriter::flush_counters(ThreadRecorder& self, CountTable& table) {
    constexpr size_t kMax =
        sizeof(BlockCountsRecord) + kBlockCountersPerGranule * sizeof(BlockCountsEntry);
    table.counters->each([&](uint32_t granule) {
        auto* record =
            static_cast<BlockCountsRecord*>(append(self, RecordType::kBlockCounts, 0, kMax));
        auto* entries = reinterpret_cast<BlockCountsEntry*>(record + 1);
        record->time = os::ticks();
        record->phase = table.phase;
        record->counters = 0;
        for (uint32_t i = 0; i < kBlockCountersPerGranule; ++i) {
            const uint32_t number = granule * kBlockCountersPerGranule + i;
            auto& counter = counter_at<BlockCounter>(table.page_counters, number);
            if (counter.left != 0 || counter.loaded != 0) {
                entries[record->counters++] = {number, {counter.left, counter.loaded}};
                counter = {0, 0};
            }
        }
        record->header.words =
            static_cast<uint16_t>((sizeof *record + record->counters * sizeof *entries) / 8);
        commit(self, record);
    });
    table.counters->clear();
    table.instructions = 0;
}

}  // namespace numascape
