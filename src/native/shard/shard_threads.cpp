// SPDX-License-Identifier: Apache-2.0
//
// The start and the end of threads. When a thread ends, the next thread takes over its recorder,
// with its memory and open chunks. A program may have a hundred thousand threads, one after the
// other, and initialising a recorder costs more than many of them compute.
#include "os.h"
#include "private_memory.h"
#include "process_maps.h"
#include "shard_writer.h"

namespace numascape {
namespace {

// Frees the unused part of a chunk, because a program may have a hundred thousand threads with a
// few records each.
void close_chunk(ChunkHeader* chunk) {
    if (chunk == nullptr) {
        return;
    }
    const uint64_t used = (chunk->used + kPageBytes - 1) & ~(kPageBytes - 1);
    if (used < kChunkBytes) {
        os::discard(reinterpret_cast<char*>(chunk) + used, kChunkBytes - used, true);
    }
    os::unmap(chunk, kChunkBytes);
}

}  // namespace

ThreadRecorder* ShardWriter::take_recorder() {
    {
        SpinGuard guard(registry_lock_);
        if (ThreadRecorder* idle = idle_threads_; idle != nullptr) {
            idle_threads_ = idle->next;
            return idle;
        }
    }
    auto* recorder = map_private<ThreadRecorder>(sizeof(ThreadRecorder));
    if (recorder != nullptr) {
        recorder->granules = map_private<GranuleSet>(sizeof(GranuleSet));
    }
    return recorder;
}

// All counts of the thread are in the log, and it has no table any more.
void ShardWriter::keep_recorder(ThreadRecorder* ended) {
    if (ended->cache != nullptr) {
        // It stays mapped, because another thread may be about to change the filter.
        shared_lines_.end_thread(ended->thread);
        os::discard(ended->cache, CacheModel::bytes(cache_shape_), false);
    }
    if (ended->granules != nullptr) {
        ended->granules->clear();
    }
    ended->current.store(nullptr, std::memory_order_relaxed);
    ended->table_word = nullptr;
    ended->table_words = nullptr;
    ended->thread_pointer = 0;
    ended->python_state = 0;
    ended->sampling.weight = 0;
    SpinGuard guard(registry_lock_);
    ended->next = idle_threads_;
    idle_threads_ = ended;
}

void ShardWriter::unmap_recorder(ThreadRecorder* recorder) {
    if (recorder->granules != nullptr) {
        os::unmap(recorder->granules, sizeof(GranuleSet));
    }
    if (recorder->cache != nullptr) {
        os::unmap(recorder->cache, CacheModel::bytes(cache_shape_));
    }
    if (recorder->sampling.table != nullptr) {
        os::unmap(table_memory(recorder->sampling.table), kTableStride);
    }
    unmap_chunks(*recorder);
    os::unmap(recorder, sizeof(ThreadRecorder));
}

void ShardWriter::unmap_chunks(ThreadRecorder& recorder) {
    for (ChunkHeader** chunk : {&recorder.chunk, &recorder.small, &recorder.sampling.chunk,
                                &recorder.transfers.chunk, &recorder.kernel_accesses.chunk}) {
        if (*chunk != nullptr) {
            os::unmap(*chunk, kChunkBytes);
            *chunk = nullptr;
        }
    }
}

ThreadRecorder* ShardWriter::start_thread(uint64_t stack_start, uint64_t stack_end) {
    ThreadRecorder* self = take_recorder();
    if (self == nullptr) {
        return nullptr;
    }
    if (cache_shape_.ways != 0) {
        void* memory = self->cache != nullptr ? self->cache
                                              : map_private<void>(CacheModel::bytes(cache_shape_));
        if (memory == nullptr) {
            return nullptr;
        }
        self->cache = CacheModel::create(memory, cache_shape_, wide_vectors_);
    }
    self->os_tid = os::thread_id();
    self->stack_start = stack_start;
    self->stack_end = stack_end;
    self->next = nullptr;
    {
        SpinGuard guard(registry_lock_);
        self->thread = header_->threads++;
        CountTable* table =
            self->granules != nullptr ? table_for(*self, *self, current_phase_) : nullptr;
        self->bursts = {};
        if (table != nullptr) {
            self->current.store(table, std::memory_order_relaxed);
            self->next = threads_;
            threads_ = self;
        }
    }
    if (shared_lines_.is_open()) {
        shared_lines_.begin_thread(self->thread, self->cache);
    }
    if (self->current.load(std::memory_order_relaxed) == nullptr) {
        set_flag(kShardThreadsLost);
    }
    if (self->chunk != nullptr) {
        commit(*self, append(*self, RecordType::kWriter, self->thread, sizeof(WriterRecord)));
    }
    auto* record = static_cast<ThreadStartRecord*>(
        append(*self, RecordType::kThreadStart, self->thread, sizeof(ThreadStartRecord)));
    record->time = os::ticks();
    record->stack_start = stack_start;
    record->stack_end = stack_end;
    record->os_tid = self->os_tid;
    record->cpu = os::current_cpu();
    commit(*self, record);
    // One more thread can share pages from now on. Earlier samples of other threads get a record of
    // their own.
    owners_changed_.store(os::ticks(), std::memory_order_relaxed);
    return self;
}

void ShardWriter::log_thread_pointer(ThreadRecorder& self, uint64_t pointer) {
    self.thread_pointer = pointer;
    if (pointer == 0) {
        return;
    }
    auto* record = static_cast<ThreadPointerRecord*>(
        append(self, RecordType::kThreadPointer, self.thread, sizeof(ThreadPointerRecord)));
    record->time = os::ticks();
    record->pointer = pointer;
    commit(self, record);
    // The thread's variables are now there.
    owners_changed_.store(os::ticks(), std::memory_order_relaxed);
}

void ShardWriter::end_thread(ThreadRecorder* self, const char* name) {
    flush_pending(*self, true);
    const uint64_t time = os::ticks();
    {
        SpinGuard guard(registry_lock_);
        ThreadRecorder** at = &threads_;
        while (*at != nullptr && *at != self) {
            at = &(*at)->next;
        }
        if (*at == self) {
            *at = self->next;
        }
        for (uint32_t i = self->first_table; i != 0; i = tables_[i - 1].next) {
            flush_table(*self, tables_[i - 1], time);
            tables_[i - 1].granules->clear();
        }
    }
    write_work(*self, *self);
    note_end(*self, *self, name, kThreadEnds);
    {
        SpinGuard guard(registry_lock_);
        while (self->first_table != 0) {
            release_table(*self, tables_[self->first_table - 1]);
        }
    }
    keep_recorder(self);
}

void ShardWriter::write_work(ThreadRecorder& self, const ThreadRecorder& of) {
    const BurstState& state = of.bursts;
    if (state.left == nullptr) {
        return;
    }
    const int64_t left = std::atomic_ref(*const_cast<int64_t*>(state.left)).load();
    BurstState now = state;
    now.add(left < 0 ? now.length : now.length - static_cast<uint64_t>(left));
    for (uint32_t level = 0; level < burst_levels_; ++level) {
        const BurstWork& work = now.work[level];
        if (work.units == 0) {
            continue;
        }
        auto* record = static_cast<WorkRecord*>(
            append(self, RecordType::kWork, of.thread, sizeof(WorkRecord)));
        record->level = level;
        record->units = work.units;
        record->counted_units = work.counted_units;
        record->bursts = work.bursts;
        record->burst_units = work.burst_units;
        commit(self, record);
    }
}

void ShardWriter::log_work_at_end(ThreadRecorder& self) {
    constexpr uint32_t kAttempts = 1000;  // another thread may have been stopped with the lock
    if (burst_groups_ == 0 || !registry_lock_.lock_within(kAttempts)) {
        return;
    }
    for (ThreadRecorder* thread = threads_; thread != nullptr; thread = thread->next) {
        write_work(self, *thread);
    }
    registry_lock_.unlock();
}

ThreadRecorder* ShardWriter::start_writer() {
    auto* self = map_private<ThreadRecorder>(sizeof(ThreadRecorder));
    if (self != nullptr) {
        self->os_tid = os::thread_id();
    }
    return self;
}

bool ShardWriter::give_cache(ThreadRecorder& writer) {
    if (cache_shape_.ways == 0 || writer.cache != nullptr) {
        return true;
    }
    void* memory = map_private<void>(CacheModel::bytes(cache_shape_));
    if (memory != nullptr) {
        writer.cache = CacheModel::create(memory, cache_shape_, wide_vectors_);
    }
    return memory != nullptr;
}

void ShardWriter::end_writer(ThreadRecorder* self) {
    close_chunk(self->chunk);
    self->chunk = nullptr;
    unmap_recorder(self);
}

void ShardWriter::publish_table(ThreadRecorder& self, const void** word) {
    SpinGuard guard(registry_lock_);
    self.table_word = word;
    *word = self.current.load(std::memory_order_relaxed)->page_counters;
}

void ShardWriter::publish_table(ThreadRecorder& self, TableWord& word) {
    SpinGuard guard(registry_lock_);
    word.table = self.current.load(std::memory_order_relaxed)->page_counters;
    word.next = self.table_words;
    self.table_words = &word;
}

void ShardWriter::withdraw_table(int64_t word) {
    SpinGuard guard(registry_lock_);
    for (ThreadRecorder* thread = threads_; thread != nullptr; thread = thread->next) {
        const auto gone = thread->thread_pointer + static_cast<uint64_t>(word);
        for (TableWord** at = &thread->table_words; *at != nullptr; at = &(*at)->next) {
            if (reinterpret_cast<uint64_t>(*at) == gone) {
                *at = (*at)->next;
                break;
            }
        }
    }
}

void ShardWriter::note_end(ThreadRecorder& self, const ThreadRecorder& of, const char* name,
                           ThreadEndFlags flags) {
    auto* record = static_cast<ThreadEndRecord*>(
        append(self, RecordType::kThreadEnd, of.thread, sizeof(ThreadEndRecord), flags));
    record->time = os::ticks();
    record->os_tid = of.os_tid;
    record->cpu = &self == &of ? os::current_cpu() : kUnknownCpu;
    append_text(record->name, name, sizeof record->name);
    commit(self, record);
}

}  // namespace numascape
