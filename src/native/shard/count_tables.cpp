// SPDX-License-Identifier: Apache-2.0
//
// The tables of page counters, one for each thread and phase. A switch of the phase gives each
// thread another table; it copies no counters, and a repeated phase uses its tables again. If
// no table is free, the tables of the least recently used phase are freed: its counts become Counts
// records, like those of a thread that ends.
#include "os.h"
#include "private_memory.h"
#include "shard_writer.h"

namespace numascape {
namespace {

constexpr uint32_t kPagesPerCountsRecord = 2048;
static_assert(sizeof(CountsRecord) + kPageCountersPerGranule * sizeof(CountPair) <= kChunkBytes &&
              kPageCountersPerGranule <= kPagesPerCountsRecord);

void put_in_force(ThreadRecorder& thread, CountTable& table) {
    thread.current.store(&table, std::memory_order_relaxed);
    if (thread.table_word != nullptr) {
        std::atomic_ref<const void*>(*thread.table_word)
            .store(table.page_counters, std::memory_order_relaxed);
    }
    for (TableWord* word = thread.table_words; word != nullptr; word = word->next) {
        std::atomic_ref<const void*>(word->table)
            .store(table.page_counters, std::memory_order_relaxed);
    }
}

// Its thread counts there at this moment.
bool in_force(const CountTable& table) {
    const CountTable* current = table.thread->current.load(std::memory_order_relaxed);
    return current == &table || (current != nullptr && current->lines == &table);
}

}  // namespace

// The table that contains these page counters. The phase may have changed since the access was
// counted.
CountTable& ShardWriter::table_at(ThreadRecorder& self, const PageCounter* page_counters) {
    CountTable* current = self.current.load(std::memory_order_relaxed);
    if (current->page_counters == page_counters) {
        return *current;
    }
    for (uint32_t i = 0; i < header_->tables; ++i) {
        if (tables_[i].page_counters == page_counters) {
            return tables_[i];
        }
    }
    return *current;
}

CountTable* ShardWriter::free_table() {
    while (first_free_ < header_->tables && tables_[first_free_].thread != nullptr) {
        ++first_free_;
    }
    const uint32_t index = first_free_;
    const bool fresh = index == header_->tables;
    if (index >= max_tables_ ||
        // File systems have their own limits: a file on ext4 can have 4095 tables.
        (fresh && grow_file_(tables_file_.get(), (uint64_t{index} + 1) * kTableStride) < 0)) {
        return nullptr;
    }
    CountTable& table = tables_[index];
    if (table.page_counters == nullptr) {
        const uint64_t offset = uint64_t{index} * kTableStride;
        void* memory = os::map_sparse_file(tables_file_.get(), offset, kTableStride,
                                           reinterpret_cast<void*>(kTablesBase + offset));
        if (os::failed(memory)) {
            // After a fork, the address may already have the forking thread's table; any address is
            // suitable.
            memory = os::map_sparse_file(tables_file_.get(), offset, kTableStride);
        }
        auto* granules = map_private<GranuleSet>(sizeof(GranuleSet));
        if (table.counters == nullptr) {
            table.counters = map_private<CounterSet>(sizeof(CounterSet));
        }
        if (os::failed(memory) || granules == nullptr || table.counters == nullptr) {
            return nullptr;
        }
        if (counts_nothing_) {
            os::forbid(memory, kTableStride);
        }
        table.page_counters = table_in(memory);
        table.granules = granules;
    }
    header_->tables = fresh ? index + 1 : header_->tables;
    return &table;
}

// Null if there is no room, even after other phases have freed their tables.
CountTable* ShardWriter::table_for(ThreadRecorder& self, ThreadRecorder& thread, uint32_t phase) {
    if (const uint32_t known = thread.table_of_phase[phase]) {
        return &tables_[known - 1];
    }
    CountTable* table = take_table(self, thread, phase, false);
    if (table != nullptr && cache_shape_.ways != 0) {
        table->lines = take_table(self, thread, phase, true);
        if (table->lines == nullptr) {
            release_table(self, *table);
            return nullptr;
        }
    }
    return table;
}

CountTable* ShardWriter::take_table(ThreadRecorder& self, ThreadRecorder& thread, uint32_t phase,
                                    bool of_lines) {
    CountTable* table = free_table();
    if (table == nullptr && evict_oldest_phase(self)) {
        table = free_table();
    }
    if (table == nullptr) {
        return nullptr;
    }
    const auto index = static_cast<uint32_t>(table - tables_);
    if (table->phase != phase) {
        flush_counters(self, *table);
    }
    table->thread = &thread;
    table->lines = nullptr;
    table->of_lines = of_lines;
    table->phase = phase;
    table->next = thread.first_table;
    thread.first_table = index + 1;
    if (!of_lines) {
        thread.table_of_phase[phase] = static_cast<uint16_t>(index + 1);
    }
    write_instructions(self, *table, 0 - table->instructions);
    owners_[index].store(table_owner(thread.thread, phase) | (of_lines ? kOwnsLines : 0),
                         std::memory_order_release);
    return table;
}

void ShardWriter::switch_phase(ThreadRecorder& self, uint32_t phase) {
    SpinGuard guard(registry_lock_);
    phase_used_[phase] = ++switches_;
    current_phase_ = phase;
    for (ThreadRecorder* thread = threads_; thread != nullptr; thread = thread->next) {
        CountTable* table = table_for(self, *thread, phase + thread->bursts.number);
        if (table != nullptr) {
            flush_pending(*thread, thread == &self);
            put_in_force(*thread, *table);
        }
    }
}

void ShardWriter::choose_group(ThreadRecorder& self, uint32_t level, uint32_t group) {
    SpinGuard guard(registry_lock_);
    const uint32_t number = level * burst_groups_ + group;
    CountTable* table = table_for(self, self, current_phase_ + number);
    if (table != nullptr) {
        self.bursts.number = number;
        flush_pending(self, true);
        put_in_force(self, *table);
    }
}

bool ShardWriter::has_room_for_level(ThreadRecorder& self, uint32_t level) {
    SpinGuard guard(registry_lock_);
    for (uint32_t group = 0; group < burst_groups_; ++group) {
        if (table_for(self, self, current_phase_ + level * burst_groups_ + group) == nullptr) {
            return false;
        }
    }
    return true;
}

// Considers only phases in which no thread counts. False if there is none.
bool ShardWriter::evict_oldest_phase(ThreadRecorder& self) {
    const CountTable* oldest = nullptr;
    for (uint32_t i = 0; i < header_->tables; ++i) {
        const CountTable& table = tables_[i];
        if (table.thread != nullptr && phase_of(table) != current_phase_ && !in_force(table) &&
            (oldest == nullptr || phase_used_[phase_of(table)] < phase_used_[phase_of(*oldest)])) {
            oldest = &table;
        }
    }
    if (oldest == nullptr) {
        return false;
    }
    const uint32_t phase = phase_of(*oldest);
    const uint64_t time = os::ticks();
    for (uint32_t i = 0; i < header_->tables; ++i) {
        CountTable& table = tables_[i];
        if (table.thread != nullptr && phase_of(table) == phase && !in_force(table)) {
            flush_table(self, table, time);
            release_table(self, table);
        }
    }
    evictions_[phase] = static_cast<uint8_t>(evictions_[phase] + (evictions_[phase] < 255 ? 1 : 0));
    return true;
}

void ShardWriter::flush_table(ThreadRecorder& self, CountTable& table, uint64_t time) {
    table.granules->each([&](uint32_t granule) {
        const uint32_t first = granule * kPageCountersPerGranule;
        retire_granule(self, table, granule, first, first + kPageCountersPerGranule, time);
    });
}

void ShardWriter::unlink_table(CountTable& table) {
    ThreadRecorder& thread = *table.thread;
    const auto number = static_cast<uint32_t>(&table - tables_) + 1;
    uint32_t* at = &thread.first_table;
    while (*at != number) {
        at = &tables_[*at - 1].next;
    }
    *at = table.next;
    if (!table.of_lines) {
        thread.table_of_phase[table.phase] = 0;
    }
}

// All used page counters are zero, so that the next thread can use the table as it is. Block
// counters do not distinguish threads; they continue if the table is for the same phase.
void ShardWriter::release_table(ThreadRecorder& self, CountTable& table) {
    const auto index = static_cast<uint32_t>(&table - tables_);
    table.instructions = instructions_in(table);
    write_instructions(self, table, table.instructions);
    unlink_table(table);
    owners_[index].store(TableOwner{table.phase} << 32, std::memory_order_release);
    table.thread = nullptr;
    table.lines = nullptr;
    first_free_ = index < first_free_ ? index : first_free_;
}

void ShardWriter::retire_granule(ThreadRecorder& self, const CountTable& of, uint32_t granule,
                                 uint32_t first, uint32_t end, uint64_t time) {
    const uint32_t from = granule * kPageCountersPerGranule;
    uint32_t page = first > from ? first : from;
    const uint32_t stop =
        end < from + kPageCountersPerGranule ? end : from + kPageCountersPerGranule;
    while (page < stop) {
        if (of.page_counters[page].empty()) {
            ++page;
            continue;
        }
        uint32_t run = 1;
        while (page + run < stop && !of.page_counters[page + run].empty()) {
            ++run;
        }
        auto* record =
            static_cast<CountsRecord*>(append(self, RecordType::kCounts, of.thread->thread,
                                              sizeof(CountsRecord) + run * sizeof(CountPair),
                                              of.of_lines ? uint8_t{kCountsOfLines} : uint8_t{0}));
        record->time = time;
        record->first_page = page;
        record->pages = run;
        record->phase = of.phase;
        record->reserved = 0;
        auto* pairs = reinterpret_cast<CountPair*>(record + 1);
        for (uint32_t i = 0; i < run; ++i, ++page) {
            std::atomic_ref<uint64_t> reads(of.page_counters[page].negated_reads);
            std::atomic_ref<uint64_t> writes(of.page_counters[page].negated_writes);
            pairs[i] = {0 - reads.exchange(0), 0 - writes.exchange(0)};
        }
        commit(self, record);
    }
}

void ShardWriter::retire_of(ThreadRecorder& self, ThreadRecorder& thread, uint32_t first,
                            uint32_t end, uint64_t time) {
    const uint32_t last_granule = (end - 1) / kPageCountersPerGranule;
    for (uint32_t granule = first / kPageCountersPerGranule; granule <= last_granule;) {
        const uint64_t word =
            thread.granules->words[granule / 64].load(std::memory_order_relaxed) >> (granule % 64);
        if (word == 0) {
            granule = (granule / 64 + 1) * 64;
            continue;
        }
        granule += static_cast<uint32_t>(__builtin_ctzll(word));
        for (uint32_t i = thread.first_table; granule <= last_granule && i != 0;
             i = tables_[i - 1].next) {
            if (tables_[i - 1].granules->contains(granule)) {
                retire_granule(self, tables_[i - 1], granule, first, end, time);
            }
        }
        ++granule;
    }
}

void ShardWriter::retire(ThreadRecorder& self, uint32_t first, uint32_t end, uint64_t time) {
    if (first >= end) {
        return;
    }
    owners_changed_.store(os::ticks(), std::memory_order_relaxed);
    SpinGuard guard(registry_lock_);
    for (ThreadRecorder* thread = threads_; thread != nullptr; thread = thread->next) {
        flush_pending(*thread, thread == &self);
        retire_of(self, *thread, first, end, time);
    }
}

// In the child of a fork: the tables of other threads, and of other phases, are the parent's.
void ShardWriter::keep_only_table_of(ThreadRecorder& self) {
    CountTable* current = self.current.load(std::memory_order_relaxed);
    const CountTable kept = current != nullptr ? *current : CountTable{};
    for (uint32_t i = self.first_table; i != 0; i = tables_[i - 1].next) {
        self.table_of_phase[tables_[i - 1].phase] = 0;
    }
    for (uint32_t i = 0; i < header_->tables && i < kMaxTables; ++i) {
        if (tables_[i].page_counters != nullptr && &tables_[i] != current) {
            os::unmap(table_memory(tables_[i].page_counters), kTableStride);
            os::unmap(tables_[i].granules, sizeof(GranuleSet));
        }
        tables_[i] = {};
    }
    threads_ = nullptr;
    first_free_ = 0;
    self.first_table = 0;
    self.next = nullptr;
    self.current.store(nullptr, std::memory_order_relaxed);
    if (kept.page_counters != nullptr) {
        tables_[0] = kept;
        tables_[0].lines = nullptr;
        tables_[0].instructions = 0;
        current_phase_ = phase_of(kept);
        self.current.store(&tables_[0], std::memory_order_relaxed);
    }
}

// The kept table becomes the first of the new file.
bool ShardWriter::map_kept_table(ThreadRecorder& self) {
    CountTable* table = self.current.load(std::memory_order_relaxed);
    if (table == nullptr) {
        return true;
    }
    if (grow_file_(tables_file_.get(), kTableStride) < 0 ||
        os::failed(os::map_sparse_file(tables_file_.get(), 0, kTableStride,
                                       table_memory(table->page_counters), true))) {
        return false;
    }
    if (counts_nothing_) {
        os::forbid(table_memory(table->page_counters), kTableStride);
    }
    header_->tables = 1;
    os::discard(table->granules, sizeof(GranuleSet), false);
    os::discard(table->counters, sizeof(CounterSet), false);
    os::discard(self.granules, sizeof(GranuleSet), false);
    table->next = 0;
    self.first_table = 1;
    self.table_of_phase[table->phase] = 1;
    threads_ = &self;
    if (cache_shape_.ways != 0) {
        table->lines = take_table(self, self, table->phase, true);
    }
    put_in_force(self, *table);
    owners_[0].store(table_owner(self.thread, table->phase), std::memory_order_release);
    return true;
}

}  // namespace numascape
