// SPDX-License-Identifier: Apache-2.0
#include "shard_writer.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr uint32_t kSmallEntries = 1024;
static_assert(sizeof(ChunkHeader) + kSmallEntries * sizeof(SmallBlocksRecord) <= kChunkBytes);

void copy_string(char* to, size_t room, const char* from) {
    size_t i = 0;
    for (; from != nullptr && from[i] != '\0' && i + 1 < room; ++i) {
        to[i] = from[i];
    }
    to[i] = '\0';
}

// Gives back what a chunk did not use: a program may have a hundred thousand threads, one after the
// other, with a few records each.
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

bool ShardWriter::open(int shard_file, int tables_file, const char* program, const char* parent,
                       uint32_t flags) {
    shard_file_ = shard_file;
    tables_file_ = tables_file;
    if (os::truncate(shard_file, kLogOffset) < 0 || os::reserve(shard_file, 0, kLogOffset) < 0) {
        return false;
    }
    void* mapped = os::map_file(shard_file, 0, kLogOffset);
    if (os::failed(mapped)) {
        return false;
    }
    auto* header = static_cast<ShardHeader*>(mapped);
    header->version = kShardVersion;
    header->flags = flags;
    header->pid = os::process_id();
    header->parent_pid = os::parent_process_id();
    header->start_ticks = header->last_ticks = os::ticks();
    header->start_ns = header->last_ns = os::realtime_ns();
    copy_string(header->parent_shard, sizeof header->parent_shard, parent);
    copy_string(header->program, sizeof header->program, program);
    for (unsigned i = 0; i < sizeof kShardMagic; ++i) {
        header->magic[i] = kShardMagic[i];  // last: a shard without it was never begun
    }
    header_ = header;
    owners_ =
        reinterpret_cast<std::atomic<TableOwner>*>(static_cast<char*>(mapped) + kOwnersOffset);
    if (tables_ == nullptr) {
        tables_ = map_private<CountTable>(kMaxTables * sizeof(CountTable));
        touched_ = map_private<std::atomic<uint8_t>>(kWindowPages);
        phase_used_ = map_private<uint64_t>(kMaxPhases * sizeof(uint64_t));
        evictions_ = map_private<uint8_t>(kMaxPhases);
    }
    return tables_ != nullptr && touched_ != nullptr && phase_used_ != nullptr &&
           evictions_ != nullptr;
}

bool ShardWriter::reopen_after_fork(ThreadRecorder& self, int shard_file, int tables_file,
                                    const char* program, const char* parent) {
    registry_lock_.reset();
    self.held.forget();
    if (self.cache != nullptr) {
        self.cache->take_in_after_fork();
    }
    keep_only_table_of(self);
    os::unmap(header_, kLogOffset);
    self.chunk = nullptr;
    self.small = nullptr;
    self.sampling.chunk = nullptr;
    if (!open(shard_file, tables_file, program, parent, 0)) {
        return false;
    }
    self.thread = header_->threads++;
    self.os_tid = os::thread_id();
    return map_kept_table(self);
}

ThreadRecorder* ShardWriter::start_thread(uint64_t stack_start, uint64_t stack_end) {
    auto* self = map_private<ThreadRecorder>(sizeof(ThreadRecorder));
    if (self == nullptr) {
        return nullptr;
    }
    self->granules = map_private<GranuleSet>(sizeof(GranuleSet));
    if (cache_shape_.ways != 0) {
        void* memory = map_private<void>(CacheModel::bytes(cache_shape_));
        if (memory == nullptr) {
            return nullptr;
        }
        self->cache = CacheModel::create(memory, cache_shape_, wide_vectors_);
    }
    self->os_tid = os::thread_id();
    self->stack_start = stack_start;
    self->stack_end = stack_end;
    {
        SpinGuard guard(registry_lock_);
        self->thread = header_->threads++;
        CountTable* table =
            self->granules != nullptr ? table_for(*self, *self, current_phase_) : nullptr;
        if (table != nullptr) {
            self->current.store(table, std::memory_order_relaxed);
            self->next = threads_;
            threads_ = self;
        }
    }
    if (self->current.load(std::memory_order_relaxed) == nullptr) {
        set_flag(kShardThreadsLost);
    }
    auto* record = static_cast<ThreadStartRecord*>(
        append(*self, RecordType::kThreadStart, self->thread, sizeof(ThreadStartRecord)));
    record->time = os::ticks();
    record->stack_start = stack_start;
    record->stack_end = stack_end;
    record->os_tid = self->os_tid;
    record->cpu = os::current_cpu();
    commit(*self, record);
    return self;
}

ThreadRecorder* ShardWriter::start_writer() {
    auto* self = map_private<ThreadRecorder>(sizeof(ThreadRecorder));
    if (self != nullptr) {
        self->os_tid = os::thread_id();
    }
    return self;
}

void ShardWriter::publish_table(ThreadRecorder& self, const void** word) {
    SpinGuard guard(registry_lock_);
    self.table_word = word;
    *word = self.current.load(std::memory_order_relaxed)->slots;
}

void ShardWriter::publish_table(ThreadRecorder& self, TableWord& word) {
    SpinGuard guard(registry_lock_);
    word.table = self.current.load(std::memory_order_relaxed)->slots;
    word.next = self.table_words;
    self.table_words = &word;
}

void ShardWriter::name_thread(ThreadRecorder& self, const ThreadRecorder& of, const char* name) {
    auto* record = static_cast<ThreadEndRecord*>(
        append(self, RecordType::kThreadEnd, of.thread, sizeof(ThreadEndRecord)));
    record->time = os::ticks();
    record->os_tid = of.os_tid;
    record->cpu = &self == &of ? os::current_cpu() : kUnknownCpu;
    copy_string(record->name, sizeof record->name, name);
    commit(self, record);
}

void ShardWriter::end_thread(ThreadRecorder* self, const char* name) {
    settle(*self, true);
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
        }
    }
    name_thread(*self, *self, name);
    {
        SpinGuard guard(registry_lock_);
        while (self->first_table != 0) {
            release_table(tables_[self->first_table - 1], evicted_);
        }
    }
    end_sampling(*self);
    close_chunk(self->chunk);
    close_chunk(self->small);
    if (self->granules != nullptr) {
        os::unmap(self->granules, sizeof(GranuleSet));
    }
    if (self->cache != nullptr) {
        os::unmap(self->cache, CacheModel::bytes(cache_shape_));
    }
    os::unmap(self, sizeof(ThreadRecorder));
}

ChunkHeader* ShardWriter::new_chunk(ThreadRecorder& self, ChunkKind kind) {
    std::atomic_ref<uint32_t> chunks(header_->chunks);
    void* memory = nullptr;
    if (!disk_full_.load(std::memory_order_relaxed)) {
        const uint64_t offset = kLogOffset + uint64_t{chunks.fetch_add(1)} * kChunkBytes;
        const long extended =
            os::call(SYS_fallocate, shard_file_, 0, static_cast<long>(offset), kChunkBytes);
        memory = extended < 0 ? nullptr : os::map_file(shard_file_, offset, kChunkBytes);
        stamp();
    }
    if (memory == nullptr || os::failed(memory)) {
        disk_full_.store(true);
        set_flag(kShardDiskFull);
        memory = os::map_sparse(kChunkBytes);
    }
    auto* chunk = static_cast<ChunkHeader*>(memory);
    chunk->kind = static_cast<uint32_t>(kind);
    chunk->thread = self.thread;
    chunk->used = sizeof(ChunkHeader);
    return chunk;
}

void* ShardWriter::append(ThreadRecorder& self, RecordType type, uint32_t id, size_t bytes,
                          uint8_t flags) {
    const size_t rounded = (bytes + 7) & ~size_t{7};
    if (self.chunk == nullptr || self.chunk->used + rounded > kChunkBytes) {
        if (self.chunk != nullptr) {
            os::unmap(self.chunk, kChunkBytes);
        }
        self.chunk = new_chunk(self, ChunkKind::kLog);
    }
    auto* header =
        reinterpret_cast<RecordHeader*>(reinterpret_cast<char*>(self.chunk) + self.chunk->used);
    header->type = static_cast<uint8_t>(type);
    header->flags = flags;
    header->words = static_cast<uint16_t>(rounded / 8);
    header->id = id;
    return header;
}

void ShardWriter::commit(ThreadRecorder& self, const void* record) {
    const auto* header = static_cast<const RecordHeader*>(record);
    const uint32_t words = header->words;
    switch (static_cast<RecordType>(header->type)) {
        case RecordType::kFree:
        case RecordType::kUnmap:
        case RecordType::kModuleUnload:
        case RecordType::kThreadEnd:
            owners_changed_.store(os::ticks(), std::memory_order_relaxed);
            break;
        default:
            break;
    }
    std::atomic_ref<uint32_t>(self.chunk->used).fetch_add(words * 8, std::memory_order_release);
}

void ShardWriter::query_placement(ThreadRecorder& self, uint64_t start, uint64_t end,
                                  uint64_t time) {
    constexpr uint32_t kBatch = 512;
    void* pages[kBatch];
    int nodes[kBatch];
    for (uint64_t at = start; at < end;) {
        uint32_t count = 0;
        while (count < kBatch && at + count * kPageBytes < end &&
               touched(window_page(at + count * kPageBytes))) {
            pages[count] = reinterpret_cast<void*>(at + count * kPageBytes);
            ++count;
        }
        if (count == 0) {
            at += kPageBytes;
            continue;
        }
        if (os::query_nodes(pages, count, nodes) < 0) {
            return;
        }
        bool placed = false;
        for (uint32_t i = 0; i < count; ++i) {
            placed = placed || nodes[i] >= 0;
        }
        if (!placed) {
            at += count * kPageBytes;
            continue;
        }
        auto* record = static_cast<PlacementRecord*>(append(
            self, RecordType::kPlacement, 0, sizeof(PlacementRecord) + count * sizeof(int16_t)));
        record->time = time;
        record->first_page = window_page(at);
        record->pages = count;
        auto* out = reinterpret_cast<int16_t*>(record + 1);
        for (uint32_t i = 0; i < count; ++i) {
            out[i] = static_cast<int16_t>(nodes[i]);
        }
        commit(self, record);
        at += count * kPageBytes;
    }
}

void ShardWriter::add_small_block(ThreadRecorder& self, uint64_t address, uint64_t bytes,
                                  uint64_t stack_id) {
    if (self.small == nullptr) {
        self.small = new_chunk(self, ChunkKind::kSmallBlocks);
        self.small->used = sizeof(ChunkHeader) + kSmallEntries * sizeof(SmallBlocksRecord);
    }
    const uint32_t page = window_page(address);
    auto* entries = reinterpret_cast<SmallBlocksRecord*>(self.small + 1);
    const uint64_t hash = (page * 0x9e3779b97f4a7c15u) ^ (stack_id * 0xc2b2ae3d27d4eb4fu);
    SmallBlocksRecord& entry = entries[(hash >> 40) % kSmallEntries];
    if (entry.blocks != 0 && (entry.header.id != page || entry.stack_id != stack_id)) {
        auto* record = static_cast<SmallBlocksRecord*>(
            append(self, RecordType::kSmallBlocks, page, sizeof(SmallBlocksRecord)));
        record->header.id = entry.header.id;
        record->stack_id = entry.stack_id;
        record->bytes = entry.bytes;
        record->blocks = entry.blocks;
        commit(self, record);
        entry.blocks = entry.bytes = 0;
    }
    entry.header = {static_cast<uint8_t>(RecordType::kSmallBlocks), 0,
                    sizeof(SmallBlocksRecord) / 8, page};
    entry.stack_id = stack_id;
    entry.bytes += bytes;
    entry.blocks += 1;
}

void ShardWriter::close() {
    for (uint32_t i = 0; i < header_->tables; ++i) {
        if (tables_[i].slots != nullptr) {
            os::unmap(table_memory(tables_[i].slots), kTableStride);
            os::unmap(tables_[i].granules, sizeof(GranuleSet));
        }
        if (tables_[i].counters != nullptr) {
            os::unmap(tables_[i].counters, sizeof(CounterSet));
        }
    }
    while (threads_ != nullptr) {
        ThreadRecorder* thread = threads_;
        threads_ = thread->next;
        os::unmap(thread->granules, sizeof(GranuleSet));
        if (thread->cache != nullptr) {
            os::unmap(thread->cache, CacheModel::bytes(cache_shape_));
        }
        if (thread->sampling.table != nullptr) {
            os::unmap(table_memory(thread->sampling.table), kTableStride);
        }
        for (ChunkHeader* chunk : {thread->chunk, thread->small, thread->sampling.chunk}) {
            if (chunk != nullptr) {
                os::unmap(chunk, kChunkBytes);
            }
        }
        os::unmap(thread, sizeof(ThreadRecorder));
    }
    os::unmap(touched_, kWindowPages);
    os::unmap(tables_, kMaxTables * sizeof(CountTable));
    os::unmap(phase_used_, kMaxPhases * sizeof(uint64_t));
    os::unmap(evictions_, kMaxPhases);
    os::unmap(header_, kLogOffset);
    os::close(shard_file_);
    os::close(tables_file_);
    header_ = nullptr;
    tables_ = nullptr;
    touched_ = nullptr;
}

void ShardWriter::set_flag(ShardFlags flag) {
    std::atomic_ref<uint32_t>(header_->flags).fetch_or(flag);
}

void ShardWriter::stamp() {
    header_->last_ticks = os::ticks();
    header_->last_ns = os::realtime_ns();
}

bool ShardWriter::owns(uint64_t address) const {
    for (uint32_t i = 0; header_ != nullptr && i < header_->tables; ++i) {
        if (tables_[i].slots != nullptr &&
            address - reinterpret_cast<uint64_t>(table_memory(tables_[i].slots)) < kTableStride) {
            return true;
        }
    }
    return false;
}

bool ShardWriter::survive_full_disk(uint64_t address) {
    if (!owns(address)) {
        return false;
    }
    set_flag(kShardDiskFull);
    void* page = reinterpret_cast<void*>(address & ~(kPageBytes - 1));
    return !os::failed(os::map_sparse(kPageBytes, page, true));
}

}  // namespace numascape
