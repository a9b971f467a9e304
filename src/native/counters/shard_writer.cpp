// SPDX-License-Identifier: Apache-2.0
#include "shard_writer.h"

#include "os.h"

namespace numascape {
namespace {

// Addresses for the recorder's own large mappings: far from where Linux puts a program's, which
// must stay within one 2^40 window.
constexpr uint64_t kTablesBase = 0x1000'0000'0000;
constexpr uint64_t kPrivateBase = 0x0e00'0000'0000;

constexpr uint32_t kSmallEntries = 1024;
static_assert(sizeof(ChunkHeader) + kSmallEntries * sizeof(SmallBlocksRecord) <= kChunkBytes);
constexpr uint32_t kPagesPerCountsRecord = 2048;

// What the program has done with a page since the kernel gave it; kWritten implies kUsed.
enum PageUse : uint8_t { kUsed = 1, kWritten = 2 };

void copy_string(char* to, size_t room, const char* from) {
    size_t i = 0;
    for (; from != nullptr && from[i] != '\0' && i + 1 < room; ++i) {
        to[i] = from[i];
    }
    to[i] = '\0';
}

template <typename T>
T* map_private(size_t bytes) {
    static std::atomic<uint64_t> next{kPrivateBase};
    const uint64_t rounded = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
    void* hint = reinterpret_cast<void*>(next.fetch_add(rounded));
    void* memory = os::map_sparse(rounded, hint);
    return os::failed(memory) ? nullptr : static_cast<T*>(memory);
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
    if (live_ == nullptr) {
        live_ = map_private<ThreadRecorder*>(kMaxTables * sizeof(ThreadRecorder*));
        touched_ = map_private<std::atomic<uint8_t>>(kWindowPages);
    }
    return live_ != nullptr && touched_ != nullptr;
}

bool ShardWriter::reopen_after_fork(ThreadRecorder& self, int shard_file, int tables_file,
                                    const char* program, const char* parent) {
    registry_lock_.reset();
    for (uint32_t i = 0; i < header_->tables; ++i) {
        if (live_[i] != nullptr && live_[i] != &self) {
            os::unmap(live_[i]->table, kTableBytes);
        }
        live_[i] = nullptr;
    }
    os::unmap(header_, kLogOffset);
    self.chunk = nullptr;
    self.small = nullptr;
    if (!open(shard_file, tables_file, program, parent, 0)) {
        return false;
    }
    self.thread = header_->threads++;
    self.os_tid = os::thread_id();
    if (self.table == nullptr) {
        return true;
    }
    self.table_index = header_->tables++;
    if (os::truncate(tables_file_, kTableBytes) < 0 ||
        os::failed(os::map_sparse_file(tables_file_, 0, kTableBytes, self.table, true))) {
        return false;
    }
    os::discard(self.granules, sizeof(GranuleSet), false);
    live_[self.table_index] = &self;
    owners_[self.table_index].store(self.thread + 1, std::memory_order_release);
    return true;
}

Slot* ShardWriter::take_table(ThreadRecorder& self) {
    uint32_t index = 0;
    while (index < header_->tables && live_[index] != nullptr) {
        ++index;
    }
    if (index == kMaxTables) {
        return nullptr;
    }
    if (index == header_->tables) {
        if (os::truncate(tables_file_, (uint64_t{index} + 1) * kTableBytes) < 0) {
            return nullptr;
        }
        header_->tables = index + 1;
    }
    const uint64_t offset = uint64_t{index} * kTableBytes;
    void* table = os::map_sparse_file(tables_file_, offset, kTableBytes,
                                      reinterpret_cast<void*>(kTablesBase + offset));
    if (os::failed(table)) {
        // After a fork the address may hold the forking thread's table: any address will do.
        table = os::map_sparse_file(tables_file_, offset, kTableBytes);
    }
    if (os::failed(table)) {
        return nullptr;
    }
    self.table_index = index;
    return static_cast<Slot*>(table);
}

ThreadRecorder* ShardWriter::start_thread(uint64_t stack_start, uint64_t stack_end) {
    auto* self = map_private<ThreadRecorder>(sizeof(ThreadRecorder));
    if (self == nullptr) {
        return nullptr;
    }
    self->granules = map_private<GranuleSet>(sizeof(GranuleSet));
    self->os_tid = os::thread_id();
    self->stack_start = stack_start;
    self->stack_end = stack_end;
    {
        SpinGuard guard(registry_lock_);
        self->thread = header_->threads++;
        self->table = self->granules != nullptr ? take_table(*self) : nullptr;
        if (self->table != nullptr) {
            live_[self->table_index] = self;
            owners_[self->table_index].store(self->thread + 1, std::memory_order_release);
        }
    }
    if (self->table == nullptr) {
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
    const uint64_t time = os::ticks();
    if (self->table != nullptr) {
        SpinGuard guard(registry_lock_);
        for (uint32_t word = 0; word < kGranules / 64; ++word) {
            uint64_t bits = self->granules->words[word].load(std::memory_order_relaxed);
            for (; bits != 0; bits &= bits - 1) {
                const uint32_t granule = word * 64 + static_cast<uint32_t>(__builtin_ctzll(bits));
                const uint32_t first = granule * kSlotsPerGranule;
                retire_granule(*self, *self, granule, first, first + kSlotsPerGranule, time);
            }
        }
    }
    name_thread(*self, *self, name);
    if (self->table != nullptr) {
        SpinGuard guard(registry_lock_);
        // Every slot that was used is zero now: the next thread can have the table as it is.
        owners_[self->table_index].store(0, std::memory_order_release);
        os::unmap(self->table, kTableBytes);
        live_[self->table_index] = nullptr;
    }
    close_chunk(self->chunk);
    close_chunk(self->small);
    if (self->granules != nullptr) {
        os::unmap(self->granules, sizeof(GranuleSet));
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
    const uint32_t words = static_cast<const RecordHeader*>(record)->words;
    std::atomic_ref<uint32_t>(self.chunk->used).fetch_add(words * 8, std::memory_order_release);
}

void ShardWriter::touch(ThreadRecorder& self, uint32_t page, uint64_t pc, uint8_t flags) {
    bool written = (flags & kTouchedByKernel) != 0;  // the kernel fills buffers
    if (!written) {
        self.granules->insert(page / kSlotsPerGranule);
        written = self.table[page].negated_writes != 0;
    }
    const uint8_t now = written ? kUsed | kWritten : kUsed;
    std::atomic<uint8_t>& touched = touched_[page];
    if ((touched.load(std::memory_order_relaxed) & now) == now) {
        return;
    }
    const uint8_t before = touched.fetch_or(now, std::memory_order_relaxed);
    if ((before & now) == now) {
        return;
    }
    if (before != 0) {
        flags |= kWrittenAfterReads;
    }
    auto* record = static_cast<FirstTouchRecord*>(
        append(self, RecordType::kFirstTouch, page, sizeof(FirstTouchRecord), flags));
    record->time = os::ticks();
    record->pc = pc;
    commit(self, record);
}

// In the code cache a full disk is a signal that the client gets; in our own code it would end the
// program, so the disk is asked first.
void ShardWriter::back_granule(ThreadRecorder& self, uint32_t granule) {
    constexpr int kNoSpace = -28;         // ENOSPC
    constexpr int kQuotaExceeded = -122;  // EDQUOT
    const uint64_t in_table = uint64_t{granule} * kPageBytes;
    const int error =
        os::reserve(tables_file_, self.table_index * kTableBytes + in_table, kPageBytes);
    if (error == kNoSpace || error == kQuotaExceeded) {
        survive_full_disk(reinterpret_cast<uint64_t>(self.table) + in_table);
    }
}

void ShardWriter::count(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t reads,
                        uint64_t writes, uint64_t pc) {
    if (self.table == nullptr) {
        return;
    }
    const uint64_t last = address + bytes - 1;
    for (uint64_t at = address & ~(kPageBytes - 1); at <= last; at += kPageBytes) {
        const uint32_t page = window_page(at);
        if (!self.granules->contains(page / kSlotsPerGranule)) {
            back_granule(self, page / kSlotsPerGranule);
        }
        Slot& slot = self.table[page];
        const bool fresh =
            (reads != 0 && slot.negated_reads == 0) || (writes != 0 && slot.negated_writes == 0);
        slot.negated_reads -= reads;
        slot.negated_writes -= writes;
        if (fresh) {
            touch(self, page, pc);
        }
        if (at + kPageBytes < at) {
            break;
        }
    }
}

void ShardWriter::retire_granule(ThreadRecorder& self, const ThreadRecorder& of, uint32_t granule,
                                 uint32_t first, uint32_t end, uint64_t time) {
    const uint32_t from = granule * kSlotsPerGranule;
    uint32_t page = first > from ? first : from;
    const uint32_t stop = end < from + kSlotsPerGranule ? end : from + kSlotsPerGranule;
    while (page < stop) {
        if (of.table[page].empty()) {
            ++page;
            continue;
        }
        uint32_t run = 1;
        while (page + run < stop && !of.table[page + run].empty()) {
            ++run;
        }
        auto* record = static_cast<CountsRecord*>(append(
            self, RecordType::kCounts, of.thread, sizeof(CountsRecord) + run * sizeof(CountPair)));
        record->time = time;
        record->first_page = page;
        record->pages = run;
        auto* pairs = reinterpret_cast<CountPair*>(record + 1);
        for (uint32_t i = 0; i < run; ++i, ++page) {
            std::atomic_ref<uint64_t> reads(of.table[page].negated_reads);
            std::atomic_ref<uint64_t> writes(of.table[page].negated_writes);
            pairs[i] = {0 - reads.exchange(0), 0 - writes.exchange(0)};
        }
        commit(self, record);
    }
}

void ShardWriter::retire(ThreadRecorder& self, uint32_t first, uint32_t end, uint64_t time) {
    if (first >= end) {
        return;
    }
    SpinGuard guard(registry_lock_);
    const uint32_t first_granule = first / kSlotsPerGranule;
    const uint32_t last_granule = (end - 1) / kSlotsPerGranule;
    for (uint32_t i = 0; i < header_->tables; ++i) {
        const ThreadRecorder* thread = live_[i];
        if (thread == nullptr) {
            continue;
        }
        for (uint32_t granule = first_granule; granule <= last_granule;) {
            const uint64_t word =
                thread->granules->words[granule / 64].load(std::memory_order_relaxed) >>
                (granule % 64);
            if (word == 0) {
                granule = (granule / 64 + 1) * 64;
                continue;
            }
            granule += static_cast<uint32_t>(__builtin_ctzll(word));
            if (granule <= last_granule) {
                retire_granule(self, *thread, granule, first, end, time);
            }
            ++granule;
        }
    }
}

void ShardWriter::forget_touches(uint32_t first, uint32_t end) {
    constexpr uint32_t kWhole = static_cast<uint32_t>(kPageBytes);
    while (first < end) {
        const uint32_t whole_pages = first % kWhole == 0 ? (end - first) / kWhole : 0;
        if (whole_pages != 0) {
            os::discard(&touched_[first], uint64_t{whole_pages} * kPageBytes, false);
            first += whole_pages * kWhole;
        } else {
            touched_[first++].store(0, std::memory_order_relaxed);
        }
    }
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
        ThreadRecorder* thread = live_[i];
        if (thread == nullptr) {
            continue;
        }
        os::unmap(thread->table, kTableBytes);
        os::unmap(thread->granules, sizeof(GranuleSet));
        for (ChunkHeader* chunk : {thread->chunk, thread->small}) {
            if (chunk != nullptr) {
                os::unmap(chunk, kChunkBytes);
            }
        }
        os::unmap(thread, sizeof(ThreadRecorder));
    }
    os::unmap(touched_, kWindowPages);
    os::unmap(live_, kMaxTables * sizeof(ThreadRecorder*));
    os::unmap(header_, kLogOffset);
    os::close(shard_file_);
    os::close(tables_file_);
    header_ = nullptr;
    live_ = nullptr;
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
        const auto* thread = live_[i];
        if (thread != nullptr &&
            address - reinterpret_cast<uint64_t>(thread->table) < kTableBytes) {
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
