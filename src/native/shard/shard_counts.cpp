// SPDX-License-Identifier: Apache-2.0
//
// The shard's writer: accesses, first touches and the lines that caches fetched.
#include "os.h"
#include "shard_writer.h"

namespace numascape {
namespace {

// The use of a page by the program since the kernel provided the page; kWritten implies kUsed.
enum PageUse : uint8_t { kUsed = 1, kWritten = 2 };

}  // namespace

void ShardWriter::touch(ThreadRecorder& self, const PageCounter* page_counters, uint32_t page,
                        const AccessingCode& code) {
    const CountTable& table = table_at(self, page_counters);
    table.granules->insert(page / kPageCountersPerGranule);
    self.granules->insert(page / kPageCountersPerGranule);
    const bool written = page_counters[page].negated_writes != 0;
    note_touch(self, page, code, table.phase, written ? kUsed | kWritten : kUsed, 0);
}

void ShardWriter::use_page_counters(ThreadRecorder& self, const PageCounter* page_counters,
                                    uint32_t page) {
    table_at(self, page_counters).granules->insert(page / kPageCountersPerGranule);
    self.granules->insert(page / kPageCountersPerGranule);
}

void ShardWriter::touch_by_kernel(ThreadRecorder& self, uint32_t page, bool writes,
                                  const AccessingCode& code) {
    note_touch(self, page, code, current_phase_, writes ? kUsed | kWritten : kUsed,
               kTouchedByKernel);
}

// Strict seccomp also forbids the time-stamp counter; then there is only an order of events.
uint64_t ShardWriter::ticks() {
    return makes_calls() ? os::ticks() : header_->last_ticks++;
}

void ShardWriter::note_touch(ThreadRecorder& self, uint32_t page, const AccessingCode& code,
                             uint32_t phase, uint8_t now, uint8_t flags) {
    std::atomic<uint8_t>& touched = touched_[page];
    if ((touched.load(std::memory_order_relaxed) & now) == now) {
        return;
    }
    const uint8_t before = touched.fetch_or(now, std::memory_order_relaxed);
    if ((before & now) == now) {
        return;
    }
    if ((now & kWritten) != 0) {
        flags |= kTouchWrites;
    }
    // It may write a record of its own, so it comes first.
    const uint64_t callers = code.find_callers != nullptr ? code.find_callers(self, code.from) : 0;
    auto* record = static_cast<FirstTouchRecord*>(
        append(self, RecordType::kFirstTouch, page, sizeof(FirstTouchRecord), flags));
    record->time = ticks();
    record->pc = code.pc & ((uint64_t{1} << 48) - 1);
    record->phase = phase & (kMaxPhases - 1);
    record->callers_id = callers;
    commit(self, record);
}

// In the code cache, a full disk causes a signal that the client handles. In our own code, it would
// end the program, so disk space is allocated first.
void ShardWriter::back_page(const CountTable& table, int64_t offset) {
    if (quiet_.load(std::memory_order_relaxed)) {
        return;
    }
    constexpr int kNoSpace = -28;         // ENOSPC
    constexpr int kQuotaExceeded = -122;  // EDQUOT
    const auto index = static_cast<uint64_t>(&table - tables_);
    const auto at = static_cast<uint64_t>(offset);
    const int error =
        os::reserve(tables_file_.get(), index * kTableStride + kCountersBytes + at, kPageBytes);
    if (error == kNoSpace || error == kQuotaExceeded) {
        survive_full_disk(reinterpret_cast<uint64_t>(table.page_counters) + at);
    }
}

void ShardWriter::count(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t reads,
                        uint64_t writes, const AccessingCode& code) {
    const CountTable* table = self.current.load(std::memory_order_relaxed);
    if (table == nullptr) {
        return;
    }
    const uint64_t last = address + bytes - 1;
    for (uint64_t at = address & ~(kPageBytes - 1); at <= last; at += kPageBytes) {
        const uint32_t page = window_page(at);
        if (!table->granules->contains(page / kPageCountersPerGranule)) {
            back_page(*table, int64_t{page / kPageCountersPerGranule} * int64_t{kPageBytes});
        }
        PageCounter& page_counter = table->page_counters[page];
        const bool fresh = (reads != 0 && page_counter.negated_reads == 0) ||
                           (writes != 0 && page_counter.negated_writes == 0);
        page_counter.negated_reads -= reads;
        page_counter.negated_writes -= writes;
        if (fresh) {
            touch(self, table->page_counters, page, code);
        }
        if (at + kPageBytes < at) {
            break;
        }
    }
}

void ShardWriter::count_traffic(ThreadRecorder& of, const CacheModel::Traffic* traffic,
                                uint32_t count) {
    const CountTable* table = of.current.load(std::memory_order_relaxed);
    const CountTable* lines = table != nullptr ? table->lines : nullptr;
    if (lines == nullptr) {
        return;
    }
    uint32_t backed = kGranules;  // the last granule known to have disk space
    for (const auto* each = traffic; each != traffic + count; ++each) {
        const uint32_t granule = each->page() / kPageCountersPerGranule;
        if (granule != backed && !lines->granules->contains(granule)) {
            back_page(*lines, int64_t{granule} * int64_t{kPageBytes});
            lines->granules->insert(granule);
            of.granules->insert(granule);
        }
        backed = granule;
        PageCounter& page_counter = lines->page_counters[each->page()];
        page_counter.negated_reads -= each->has(CacheModel::kFetched) ? 1 : 0;
        page_counter.negated_writes -= each->has(CacheModel::kDirtied) ? 1 : 0;
    }
}

void ShardWriter::drain_misses(ThreadRecorder& of, bool own) {
    if (of.cache != nullptr) {
        of.cache->drain(own, [&](const CacheModel::Traffic* traffic, uint32_t count) {
            count_traffic(of, traffic, count);
        });
    }
}

void ShardWriter::flush_pending(ThreadRecorder& of, bool own) {
    drain_misses(of, own);
    of.held.flush_pending();
}

void ShardWriter::flush_at_end(const ThreadRecorder* self) {
    if (!registry_lock_.lock_within(kAttemptsAtEnd)) {
        return;
    }
    for (ThreadRecorder* thread = threads_; thread != nullptr; thread = thread->next) {
        if (thread->cache != nullptr) {
            thread->cache->drain_at_end(thread == self,
                                        [&](const CacheModel::Traffic* traffic, uint32_t count) {
                                            count_traffic(*thread, traffic, count);
                                        });
        }
        thread->held.flush_within(kAttemptsAtEnd);
    }
    registry_lock_.unlock();
}

void ShardWriter::forget_touches(uint32_t first, uint32_t end) {
    forget_lines(first, end);
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

}  // namespace numascape
