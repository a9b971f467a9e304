// SPDX-License-Identifier: Apache-2.0
#include "shard_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace numascape {
namespace {

std::string reason() {
    return std::strerror(errno);
}

class Descriptor {
  public:
    explicit Descriptor(const std::string& path)
        : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~Descriptor() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return file_; }

  private:
    int file_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
    const Descriptor file(path);
    struct stat status{};
    if (file.get() < 0 || fstat(file.get(), &status) != 0) {
        throw ShardError{path + ": " + reason()};
    }
    size_ = static_cast<size_t>(status.st_size);
    if (size_ == 0) {
        return;
    }
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) {
        throw ShardError{path + ": " + reason()};
    }
    data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) {
        munmap(const_cast<std::byte*>(data_), size_);
    }
}

void MappedFile::release_pages() const {
    if (data_ != nullptr) {
        madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
    }
}

ShardReader::ShardReader(const std::string& path) : file_(path) {
    const auto bytes = file_.bytes();
    if (bytes.size() < sizeof(ShardHeader) ||
        std::memcmp(bytes.data(), kShardMagic, sizeof kShardMagic) != 0) {
        throw ShardError{path + " is not a shard of Numascape (or was cut off at its start)"};
    }
    std::memcpy(&header_, bytes.data(), sizeof header_);
    if (header_.version != kShardVersion) {
        throw ShardError{path + " has shard version " + std::to_string(header_.version) +
                         "; this Numascape reads version " + std::to_string(kShardVersion)};
    }
    header_.program[sizeof header_.program - 1] = '\0';
    header_.parent_shard[sizeof header_.parent_shard - 1] = '\0';
    if (bytes.size() >= kLogOffset) {
        const auto* owners = reinterpret_cast<const TableOwner*>(bytes.data() + kOwnersOffset);
        owners_.assign(owners, owners + std::min(header_.tables, kMaxTables));
    } else {
        damaged_ += 1;
    }
    const std::string suffix = ".shard";
    tables_path_ = path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : path;
    tables_path_ += ".tables";
}

void ShardReader::read_chunk(std::span<const std::byte> chunk, std::vector<RecordView>& out) const {
    const auto* chunk_header = reinterpret_cast<const ChunkHeader*>(chunk.data());
    const auto kind = static_cast<ChunkKind>(chunk_header->kind);
    // Tables of records, some of them unused.
    const size_t entry = kind == ChunkKind::kSmallBlocks      ? sizeof(SmallBlocksRecord)
                         : kind == ChunkKind::kSamples        ? sizeof(SampleRecord)
                         : kind == ChunkKind::kTransfers      ? sizeof(TransfersRecord)
                         : kind == ChunkKind::kKernelAccesses ? sizeof(KernelAccessRecord)
                                                              : 0;
    if (chunk_header->kind == 0) {
        return;  // handed out, never used
    }
    const bool known = entry != 0 || kind == ChunkKind::kLog;
    if (!known || chunk_header->used > chunk.size() || chunk_header->used < sizeof(ChunkHeader)) {
        damaged_ += 1;
        return;
    }
    uint32_t writer = chunk_header->thread;
    size_t at = sizeof(ChunkHeader);
    while (at + sizeof(RecordHeader) <= chunk_header->used) {
        const auto* header = reinterpret_cast<const RecordHeader*>(chunk.data() + at);
        size_t length = size_t{header->words} * 8;
        if (entry != 0 && header->words == 0) {
            at += entry;
            continue;
        }
        const size_t least = fixed_bytes(static_cast<RecordType>(header->type));
        if (least == 0 || length < least || length > chunk_header->used - at) {
            damaged_ += 1;
            return;
        }
        const RecordView record(header, writer);
        if (!consistent(record, header_.threads)) {
            damaged_ += 1;
        } else if (record.type() == RecordType::kWriter) {
            writer = header->id;
        } else {
            out.push_back(record);
        }
        at += length;
    }
}

std::vector<RecordView> ShardReader::records() const {
    std::vector<RecordView> out;
    each_record([&](const RecordView& record) { out.push_back(record); });
    return out;
}

// The ranges of the sparse file with data; the whole file if the file system does not report them.
std::vector<std::pair<uint64_t, uint64_t>> ShardReader::table_extents(int file,
                                                                      uint64_t size) const {
    std::vector<std::pair<uint64_t, uint64_t>> extents;
    for (uint64_t at = 0; at < size;) {
        const off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
        if (data < 0) {
            if (errno != ENXIO) {
                throw ShardError{tables_path_ + ": " + reason()};
            }
            break;
        }
        off_t hole = lseek(file, data, SEEK_HOLE);
        if (hole < 0) {
            hole = static_cast<off_t>(size);
        }
        extents.emplace_back(data, hole);
        at = static_cast<uint64_t>(hole);
    }
    return extents;
}

void ShardReader::read_tables(TableVisitor& visitor) const {
    const Descriptor file(tables_path_);
    struct stat status{};
    if (file.get() < 0 || fstat(file.get(), &status) != 0) {
        throw ShardError{tables_path_ + ": " + reason() + " (the counts are in this file)"};
    }
    std::vector<PageCounter> buffer(1 << 16);
    const size_t room = buffer.size() * sizeof(PageCounter);
    for (const auto& [start, end] :
         table_extents(file.get(), static_cast<uint64_t>(status.st_size))) {
        for (uint64_t at = start / sizeof(PageCounter) * sizeof(PageCounter); at < end;) {
            // Never beyond the table.
            const uint64_t rest = kTableStride - at % kTableStride;
            const ssize_t got =
                pread(file.get(), buffer.data(), std::min({uint64_t{room}, end - at, rest}),
                      static_cast<off_t>(at));
            if (got < 0) {
                throw ShardError{tables_path_ + ": " + reason()};
            }
            const auto entries = static_cast<size_t>(got) / sizeof(PageCounter);
            if (entries == 0) {
                break;
            }
            visit_entries(at, std::span(buffer).first(entries), visitor);
            at += entries * sizeof(PageCounter);
        }
    }
}

void ShardReader::visit_entries(uint64_t at, std::span<const PageCounter> entries,
                                TableVisitor& visitor) const {
    const uint64_t table = at / kTableStride;
    if (table >= owners_.size()) {
        return;
    }
    const TableOwner owner = owners_[table];
    const auto thread = static_cast<uint32_t>(owner);
    const bool of_lines = (owner & kOwnsLines) != 0;
    const auto phase = static_cast<uint32_t>((owner & ~kOwnsLines) >> 32);
    if (thread > header_.threads || phase >= kMaxPhases) {
        return;
    }
    for (const PageCounter& entry : entries) {
        const uint64_t position = at % kTableStride / sizeof(PageCounter);
        at += sizeof(PageCounter);
        if (entry.empty()) {
            continue;
        }
        if (position < kCounters) {
            // These counters also include ended threads.
            visitor.counter({kCounters - 1 - static_cast<uint32_t>(position),
                             thread,
                             phase,
                             {entry.negated_reads, entry.negated_writes}});
        } else if (thread != 0) {
            visitor.page_counter({static_cast<uint32_t>(position - kCounters), thread - 1, phase,
                                  of_lines, entry.counts()});
        }
    }
}

}  // namespace numascape
