// SPDX-License-Identifier: Apache-2.0
//
// ShardWriter's part for cache lines that travel between threads.
#include "os.h"
#include "shard_writer.h"

namespace numascape {
namespace {

constexpr uint32_t kEntries = 680;
static_assert(sizeof(ChunkHeader) + kEntries * sizeof(TransfersRecord) <= kChunkBytes);

// So that the log of a long run stays small: a thread that has logged this many records adds up the
// lines of a page, and later the instructions, too.
constexpr uint32_t kMaxOfLines = 50'000;
constexpr uint32_t kMaxOfPlaces = 100'000;

void copy(const TransfersRecord& from, TransfersRecord& to) {
    const RecordHeader header = to.header;
    to = from;
    to.header = header;
    to.header.id = from.header.id;
    to.header.flags = from.header.flags;
}

bool alike(const TransfersRecord& one, const TransfersRecord& other) {
    return one.header.id == other.header.id && one.from == other.from && one.phase == other.phase &&
           one.line == other.line && one.from_pc == other.from_pc && one.to_pc == other.to_pc;
}

void add(const TransfersRecord& more, TransfersRecord& to) {
    to.from_bytes |= more.from_bytes;
    to.to_bytes |= more.to_bytes;
    to.transfers += more.transfers;
    to.travelling += more.travelling;
    to.judged += more.judged;
    to.shared += more.shared;
}

uint64_t hash_of(const TransfersRecord& record) {
    uint64_t hash = record.header.id * 0x9e3779b97f4a7c15u;
    for (const uint64_t word :
         {uint64_t{record.from} << 32 | record.line, record.from_pc ^ record.phase, record.to_pc}) {
        hash = (hash ^ word) * 0xc2b2ae3d27d4eb4fu;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

void ShardWriter::use_line(ThreadRecorder& self, uint64_t line, const SharedLines::Access* access,
                           uint32_t accesses) {
    if (self.current.load(std::memory_order_relaxed) == nullptr) {
        return;  // the thread is not counted
    }
    const SharedLines::Noted noted = shared_lines_.use(self.thread, line, access, accesses);
    if (noted.any) {
        note_transfer(self, noted.transfer);
    }
}

void ShardWriter::note_transfer(ThreadRecorder& self, const Transfer& transfer) {
    TransferLog& log = self.transfers;
    if (log.chunk == nullptr) {
        log.chunk = new_chunk(self, ChunkKind::kTransfers);
        log.chunk->used = sizeof(ChunkHeader) + kEntries * sizeof(TransfersRecord);
    }
    const bool with_line = transfer.travels && log.logged < kMaxOfLines;
    const bool with_places = log.logged < kMaxOfPlaces;
    const TransfersRecord noted{{0, 0, 0, transfer.page},
                                ticks(),
                                transfer.from,
                                self.thread,
                                self.current.load(std::memory_order_relaxed)->phase,
                                with_line ? transfer.line : kUnknownLine,
                                with_places ? transfer.from_pc : 0,
                                with_places ? transfer.to_pc : 0,
                                with_line ? transfer.from_bytes : 0,
                                with_line ? transfer.to_bytes : 0,
                                transfer.transfers,
                                transfer.travels ? transfer.transfers : 0,
                                transfer.watched ? transfer.transfers : 0,
                                transfer.shared};
    auto* entries = reinterpret_cast<TransfersRecord*>(log.chunk + 1);
    TransfersRecord& entry = entries[(hash_of(noted) >> 20) % kEntries];
    const bool used = entry.header.words != 0;
    if (used && alike(entry, noted) && entry.to == self.thread &&
        entry.time > owners_changed_.load(std::memory_order_relaxed)) {
        add(noted, entry);
        return;
    }
    if (used) {
        auto* record = static_cast<TransfersRecord*>(
            append(self, RecordType::kTransfers, entry.header.id, sizeof(TransfersRecord)));
        copy(entry, *record);
        commit(self, record);
        log.logged += 1;
        entry.header.words = 0;
    }
    copy(noted, entry);
    entry.header.type = static_cast<uint8_t>(RecordType::kTransfers);
    std::atomic_ref<uint16_t>(entry.header.words)
        .store(sizeof(TransfersRecord) / 8, std::memory_order_release);
}

}  // namespace numascape
