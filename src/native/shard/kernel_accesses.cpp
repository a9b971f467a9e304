// SPDX-License-Identifier: Apache-2.0
//
// ShardWriter's part for the memory that system calls read and write for a thread. They are no
// accesses of the program, and are counted apart.
#include "os.h"
#include "shard_writer.h"

namespace numascape {
namespace {

constexpr uint32_t kEntries = 900;
static_assert(sizeof(ChunkHeader) + kEntries * sizeof(KernelAccessRecord) <= kChunkBytes);

// So that the log of a long run stays small: a thread that has logged this many records notes only
// every second part, and later every fourth, and so on. Each then stands for all of them.
constexpr uint32_t kLoggedPerShift = 32768;
constexpr uint32_t kMaxShift = 10;

bool alike(const KernelAccessRecord& one, const KernelAccessRecord& other) {
    return one.header.id == other.header.id && one.pages == other.pages &&
           one.phase == other.phase && one.thread == other.thread;
}

void copy(const KernelAccessRecord& from, KernelAccessRecord& to) {
    to.header.id = from.header.id;
    to.time = from.time;
    to.pages = from.pages;
    to.phase = from.phase;
    to.thread = from.thread;
    to.reserved = 0;
    to.read_bytes = from.read_bytes;
    to.written_bytes = from.written_bytes;
    to.seen = from.seen;
}

}  // namespace

// In up to three parts, so that the bytes of each page are exact: the whole pages, and the pages at
// both ends.
void ShardWriter::access_by_kernel(ThreadRecorder& self, uint64_t start, uint64_t bytes,
                                   bool writes) {
    const CountTable* table = self.current.load(std::memory_order_relaxed);
    if (table == nullptr || counts_nothing_) {
        return;
    }
    const uint64_t end = start + bytes;
    for (uint64_t at = start; at < end;) {
        const uint64_t rest = end - at;
        const uint64_t in_page = kPageBytes - at % kPageBytes;
        const bool whole = in_page == kPageBytes && rest >= kPageBytes;
        const uint64_t to_boundary = kWindowPages - window_page(at);
        uint64_t pages = whole ? rest / kPageBytes : 1;
        pages = pages < to_boundary ? pages : to_boundary;
        const uint64_t part = whole ? pages * kPageBytes : in_page < rest ? in_page : rest;
        note_kernel_access(self, {{0, 0, 0, window_page(at)},
                                  0,
                                  static_cast<uint32_t>(pages),
                                  table->phase,
                                  self.thread,
                                  0,
                                  writes ? 0 : part,
                                  writes ? part : 0,
                                  whole ? SeenParts{} : seen_parts(at, 0, part)});
        at += part;
    }
}

void ShardWriter::note_kernel_access(ThreadRecorder& self, const KernelAccessRecord& access) {
    KernelAccessLog& log = self.kernel_accesses;
    const uint32_t steps = log.logged / kLoggedPerShift;
    const uint32_t shift = steps < kMaxShift ? steps : kMaxShift;
    log.parts += 1;
    if (log.parts < uint32_t{1} << shift) {
        return;
    }
    log.parts = 0;
    if (log.chunk == nullptr) {
        log.chunk = new_chunk(self, ChunkKind::kKernelAccesses);
        log.chunk->used = sizeof(ChunkHeader) + kEntries * sizeof(KernelAccessRecord);
    }
    auto* entries = reinterpret_cast<KernelAccessRecord*>(log.chunk + 1);
    const uint64_t hash = access.header.id * 0x9e3779b97f4a7c15u;
    KernelAccessRecord& entry = entries[(hash >> 40) % kEntries];
    const bool used = entry.header.words != 0;
    if (used && alike(entry, access) &&
        entry.time > owners_changed_.load(std::memory_order_relaxed)) {
        entry.read_bytes += access.read_bytes << shift;
        entry.written_bytes += access.written_bytes << shift;
        entry.seen |= access.seen;
        return;
    }
    if (used) {
        auto* record = static_cast<KernelAccessRecord*>(
            append(self, RecordType::kKernelAccess, entry.header.id, sizeof(KernelAccessRecord)));
        copy(entry, *record);
        commit(self, record);
        log.logged += 1;
        entry.header.words = 0;
    }
    copy(access, entry);
    entry.time = ticks();
    entry.read_bytes <<= shift;
    entry.written_bytes <<= shift;
    entry.header.type = static_cast<uint8_t>(RecordType::kKernelAccess);
    std::atomic_ref<uint16_t>(entry.header.words)
        .store(sizeof(KernelAccessRecord) / 8, std::memory_order_release);
}

}  // namespace numascape
