// SPDX-License-Identifier: Apache-2.0
//
// Reads a shard. The file may come from an unknown source and end anywhere. Every offset and length
// is checked. A chunk is skipped from its first invalid record on, and counted as damaged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "page_counters.h"
#include "record_view.h"
#include "shard_format.h"

namespace numascape {

// An error of a shard, with a text for the user.
struct ShardError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A file mapped read-only.
class MappedFile {
  public:
    // Throws ShardError when the file cannot be read.
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return {data_, size_}; }
    // Frees the memory of all pages read so far. They can be read again, from the file.
    void release_pages() const;

  private:
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

class ShardReader {
  public:
    // `path` ends in .shard; the tables lie next to it. Throws ShardError: not a shard, another
    // version, unreadable.
    explicit ShardReader(const std::string& path);

    const ShardHeader& header() const { return header_; }
    // All well-formed records, in file order.
    std::vector<RecordView> records() const;
    // The same, but only the records of one chunk are in memory at a time.
    template <typename OnRecord>
    void each_record(OnRecord on_record) const;
    // Views of records stay valid.
    void release_pages() const { file_.release_pages(); }
    // Chunks that could not be read to their end.
    uint64_t damaged() const { return damaged_; }

    struct TableCount {
        uint32_t page;
        uint32_t thread;
        uint32_t phase;
        bool of_lines;  // see CountsFlags
        CountPair counts;
    };
    // A block counter (block_counters.h) of some table as its two words.
    struct TableCounter {
        uint32_t number;
        uint32_t owner;  // thread + 1; 0: the table is free
        uint32_t phase;
        uint64_t words[2];
    };
    // The counts of threads that lived when the process ended, which are still in the tables, and
    // all block counters.
    template <typename OnCount, typename OnCounter>
    void each_table_entry(OnCount on_count, OnCounter on_counter) const;

  private:
    void read_chunk(std::span<const std::byte> chunk, std::vector<RecordView>& out) const;
    std::vector<std::pair<uint64_t, uint64_t>> table_extents(int file, uint64_t size) const;
    struct TableVisitor {
        virtual void page_counter(const TableCount& count) = 0;
        virtual void counter(const TableCounter& counter) = 0;

      protected:
        ~TableVisitor() = default;
    };
    void read_tables(TableVisitor& visitor) const;
    void visit_entries(uint64_t at, std::span<const PageCounter> entries,
                       TableVisitor& visitor) const;

    std::string tables_path_;
    MappedFile file_;
    ShardHeader header_{};
    std::vector<TableOwner> owners_;
    mutable uint64_t damaged_ = 0;
};

template <typename OnRecord>
void ShardReader::each_record(OnRecord on_record) const {
    std::vector<RecordView> of_chunk;
    const auto bytes = file_.bytes();
    for (uint64_t at = kLogOffset; at + sizeof(ChunkHeader) <= bytes.size(); at += kChunkBytes) {
        of_chunk.clear();
        read_chunk(bytes.subspan(at, std::min<uint64_t>(kChunkBytes, bytes.size() - at)), of_chunk);
        for (const RecordView& record : of_chunk) {
            on_record(record);
        }
    }
}

template <typename OnCount, typename OnCounter>
void ShardReader::each_table_entry(OnCount on_count, OnCounter on_counter) const {
    struct Visitor final : TableVisitor {
        Visitor(OnCount& a, OnCounter& b) : on_count(a), on_counter(b) {}
        void page_counter(const TableCount& count) override { on_count(count); }
        void counter(const TableCounter& counter) override { on_counter(counter); }
        OnCount& on_count;
        OnCounter& on_counter;
    } visitor(on_count, on_counter);
    read_tables(visitor);
}

}  // namespace numascape
