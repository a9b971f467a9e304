// SPDX-License-Identifier: Apache-2.0
#include "shard_writer.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr uint32_t kSmallEntries = 1021;
static_assert(sizeof(ChunkHeader) + kSmallEntries * sizeof(SmallBlocksRecord) <= kChunkBytes);

void copy_string(char* to, size_t room, const char* from) {
    size_t i = 0;
    for (; from != nullptr && from[i] != '\0' && i + 1 < room; ++i) {
        to[i] = from[i];
    }
    to[i] = '\0';
}

}  // namespace

bool ShardWriter::open(int shard_file, int tables_file, const char* program, const char* parent,
                       uint32_t flags) {
    shard_file_.take(shard_file, shard_path_);
    tables_file_.take(tables_file, tables_path_);
    if (grow_file_(shard_file, kLogOffset) < 0 || os::reserve(shard_file, 0, kLogOffset) < 0) {
        return false;
    }
    void* mapped = os::map_file(shard_file, 0, kLogOffset);
    if (os::failed(mapped)) {
        return false;
    }
    auto* header = static_cast<ShardHeader*>(mapped);
    header->version = kShardVersion;
    header->flags = flags;
    header->burst_groups = burst_groups_;
    header->burst_levels = burst_levels_;
    header->pid = os::process_id();
    header->parent_pid = os::parent_process_id();
    os::find_forbidden_ticks();
    header->start_ticks = header->last_ticks = os::ticks();
    header->start_ns = header->last_ns = os::realtime_ns();
    copy_string(header->parent_shard, sizeof header->parent_shard, parent);
    copy_string(header->program, sizeof header->program, program);
    for (unsigned i = 0; i < sizeof kShardMagic; ++i) {
        header->magic[i] = kShardMagic[i];  // last: a file without it is no shard
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
        self.cache->drain_after_fork();
    }
    keep_only_table_of(self);
    os::unmap(header_, kLogOffset);
    self.chunk = nullptr;
    self.small = nullptr;
    self.sampling.chunk = nullptr;
    self.transfers.chunk = nullptr;
    self.kernel_accesses.chunk = nullptr;
    for (ThreadRecorder* idle = idle_threads_; idle != nullptr; idle = idle->next) {
        unmap_chunks(*idle);  // the parent's
    }
    if (!open(shard_file, tables_file, program, parent, 0)) {
        return false;
    }
    self.thread = header_->threads++;
    self.os_tid = os::thread_id();
    if (shared_lines_.is_open()) {
        shared_lines_.after_fork(self.thread, self.cache);
    }
    return map_kept_table(self);
}

// Null if the disk is full.
void* ShardWriter::extend_log(uint32_t chunks) {
    std::atomic_ref<uint32_t> used(header_->chunks);
    const uint64_t offset = kLogOffset + uint64_t{used.fetch_add(chunks)} * kChunkBytes;
    const uint64_t bytes = chunks * kChunkBytes;
    const int file = shard_file_.get();
    const bool allowed =
        !os::beyond_file_limit(offset + bytes) || grow_file_(file, offset + bytes) >= 0;
    const long extended = allowed ? os::call(SYS_fallocate, file, 0, static_cast<long>(offset),
                                             static_cast<long>(bytes))
                                  : -EFBIG;
    void* memory = extended < 0 ? nullptr : os::map_file(file, offset, bytes);
    return memory == nullptr || os::failed(memory) ? nullptr : memory;
}

// Memory that is already allocated.
void* ShardWriter::reserved_chunk() {
    const uint32_t next = reserved_used_.fetch_add(1);
    return reserved_ != nullptr && next < kReservedChunks ? reserved_ + next * kChunkBytes
                                                          : wasted_;
}

void ShardWriter::make_no_calls(ThreadRecorder* self) {
    if (self != nullptr) {
        self->sampling.weight = 0;
    }
    stamp();
    reserved_ = static_cast<char*>(extend_log(kReservedChunks));
    // Twice the size: threads that share it may each write a record at its end.
    wasted_ = static_cast<char*>(os::map_sparse(2 * kChunkBytes));
    reserved_used_.store(0);
    set_flag(kShardCallsForbidden);
    quiet_.store(true);
}

void ShardWriter::make_calls() {
    quiet_.store(false);
    clear_flag(kShardCallsForbidden);
}

ChunkHeader* ShardWriter::new_chunk(ThreadRecorder& self, ChunkKind kind) {
    void* memory = nullptr;
    if (!makes_calls()) {
        memory = reserved_chunk();
    } else if (!disk_full_.load(std::memory_order_relaxed)) {
        memory = extend_log(1);
        stamp();
    }
    if (memory == nullptr) {
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
        if (self.chunk != nullptr && makes_calls()) {
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
    const uint64_t left = kPageBytes - address % kPageBytes;  // on its first page
    add_small_part(self, address, bytes < left ? bytes : left, 1, stack_id);
    if (bytes > left) {
        add_small_part(self, address + left, bytes - left, 0, stack_id);
    }
}

void ShardWriter::add_small_part(ThreadRecorder& self, uint64_t address, uint64_t bytes,
                                 uint64_t blocks, uint64_t stack_id) {
    if (self.small == nullptr) {
        self.small = new_chunk(self, ChunkKind::kSmallBlocks);
        self.small->used = sizeof(ChunkHeader) + kSmallEntries * sizeof(SmallBlocksRecord);
    }
    const uint32_t page = window_page(address);
    auto* entries = reinterpret_cast<SmallBlocksRecord*>(self.small + 1);
    const uint64_t hash = (page * 0x9e3779b97f4a7c15u) ^ (stack_id * 0xc2b2ae3d27d4eb4fu);
    SmallBlocksRecord& entry = entries[(hash >> 40) % kSmallEntries];
    const bool is_used = entry.blocks != 0 || entry.bytes != 0;
    if (is_used && (entry.header.id != page || entry.stack_id != stack_id)) {
        auto* record = static_cast<SmallBlocksRecord*>(
            append(self, RecordType::kSmallBlocks, page, sizeof(SmallBlocksRecord)));
        record->header.id = entry.header.id;
        record->stack_id = entry.stack_id;
        record->bytes = entry.bytes;
        record->blocks = entry.blocks;
        record->parts = entry.parts;
        commit(self, record);
        entry.blocks = entry.bytes = 0;
        entry.parts = {};
    }
    entry.header = {static_cast<uint8_t>(RecordType::kSmallBlocks), 0,
                    sizeof(SmallBlocksRecord) / 8, page};
    entry.stack_id = stack_id;
    entry.bytes += bytes;
    entry.blocks += blocks;
    entry.parts |= PageParts::of(address % kPageBytes, bytes);
}

void ShardWriter::close() {
    for (uint32_t i = 0; i < header_->tables; ++i) {
        if (tables_[i].page_counters != nullptr) {
            os::unmap(table_memory(tables_[i].page_counters), kTableStride);
            os::unmap(tables_[i].granules, sizeof(GranuleSet));
        }
        if (tables_[i].counters != nullptr) {
            os::unmap(tables_[i].counters, sizeof(CounterSet));
        }
    }
    for (ThreadRecorder** list : {&threads_, &idle_threads_}) {
        while (*list != nullptr) {
            ThreadRecorder* thread = *list;
            *list = thread->next;
            unmap_recorder(thread);
        }
    }
    shared_lines_.close();
    os::unmap(touched_, kWindowPages);
    os::unmap(tables_, kMaxTables * sizeof(CountTable));
    os::unmap(phase_used_, kMaxPhases * sizeof(uint64_t));
    os::unmap(evictions_, kMaxPhases);
    if (uint16_t* instructions = instructions_.exchange(nullptr)) {
        os::unmap(instructions, kCounters * sizeof(uint16_t));
    }
    os::unmap(header_, kLogOffset);
    shard_file_.close();
    tables_file_.close();
    header_ = nullptr;
    tables_ = nullptr;
    touched_ = nullptr;
}

void ShardWriter::set_flag(ShardFlags flag) {
    const std::atomic_ref<uint32_t> flags(header_->flags);
    if ((flags.load(std::memory_order_relaxed) & flag) == 0) {
        flags.fetch_or(flag);
    }
}

void ShardWriter::clear_flag(ShardFlags flag) {
    std::atomic_ref<uint32_t>(header_->flags).fetch_and(~uint32_t{flag});
}

bool ShardWriter::is_of_this_process() const {
    return header_ != nullptr && header_->pid == os::process_id();
}

void ShardWriter::close_files_of_parent() {
    shard_file_.close();
    tables_file_.close();
}

void ShardWriter::stamp() {
    header_->last_ticks = os::ticks();
    header_->last_ns = os::realtime_ns();
}

bool ShardWriter::owns(uint64_t address) const {
    const auto is_in = [address](PageCounter* table) {
        return table != nullptr &&
               address - reinterpret_cast<uint64_t>(table_memory(table)) < kTableStride;
    };
    for (uint32_t i = 0; header_ != nullptr && i < header_->tables; ++i) {
        const ThreadRecorder* thread = tables_[i].thread;
        if (is_in(tables_[i].page_counters) ||
            (thread != nullptr && is_in(thread->sampling.table))) {
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
