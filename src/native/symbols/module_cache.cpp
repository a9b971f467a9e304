// SPDX-License-Identifier: Apache-2.0
#include "module_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "elf_file.h"

namespace numascape::symbols {
namespace {

constexpr char kMagic[8] = {'N', 'U', 'M', 'A', 'S', 'Y', 'M', '2'};
// A file of this size has a million frames; a larger one would take long to read.
constexpr std::size_t kLargestFile = std::size_t{64} << 20;
// A file with more addresses than this is written again only if the new ones are at least 1/16 of
// the known ones. To write fewer takes less time than to read debug information for one address.
constexpr std::size_t kFewAddresses = std::size_t{1} << 14;
constexpr std::size_t kNewShare = 16;
constexpr std::size_t kMaxWithoutLine = std::size_t{1} << 12;

using Parts = std::vector<std::span<const std::byte>>;

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return std::as_bytes(std::span(values));
}

// FNV-1a over words of 8 bytes of all parts together; it detects damage, not intent: see may_trust.
std::uint64_t checksum(const Parts& parts) {
    std::uint64_t sum = 0xcbf29ce484222325;
    std::uint64_t word = 0;
    std::size_t filled = 0;
    const auto add_word = [&] {
        sum = (sum ^ word) * 0x100000001b3;
        word = 0;
        filled = 0;
    };
    for (std::span<const std::byte> rest : parts) {
        while (!rest.empty()) {
            const std::size_t length = std::min(sizeof word - filled, rest.size());
            std::memcpy(reinterpret_cast<std::byte*>(&word) + filled, rest.data(), length);
            rest = rest.subspan(length);
            filled += length;
            if (filled == sizeof word) add_word();
        }
    }
    if (filled != 0) add_word();
    return sum;
}

// Only files that this user wrote, and that no other user can write.
bool may_trust(const struct stat& status) {
    return S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 022) == 0 &&
           status.st_size > 0 && static_cast<std::size_t>(status.st_size) <= kLargestFile;
}

std::vector<std::byte> read_trusted(const std::string& path) {
    const FileDescriptor file(
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    struct stat status;
    if (file.get() < 0 || fstat(file.get(), &status) != 0 || !may_trust(status)) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t length = ::read(file.get(), bytes.data() + done, bytes.size() - done);
        if (length <= 0) return {};
        done += static_cast<std::size_t>(length);
    }
    futimens(file.get(), nullptr);  // the files that were not used for longest are removed first
    return bytes;
}

bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t length = write(file, bytes.data(), bytes.size());
        if (length <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(length));
    }
    return true;
}

void write_beside_and_rename(const std::string& path, const Parts& parts) {
    std::string beside = path + ".XXXXXX";
    const FileDescriptor file(mkostemp(beside.data(), O_CLOEXEC));  // with mode 0600
    if (file.get() < 0) return;
    const bool is_written = std::all_of(
        parts.begin(), parts.end(), [&](const auto& part) { return write_all(file.get(), part); });
    if (!is_written || rename(beside.c_str(), path.c_str()) != 0) unlink(beside.c_str());
}

// Takes arrays from the front of `bytes`.
class Taker {
  public:
    explicit Taker(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename T>
    bool take(std::size_t count, std::vector<T>& values) {
        static_assert(std::is_trivially_copyable_v<T>);
        if (count > bytes_.size() / sizeof(T)) return false;
        values.resize(count);
        if (count != 0) std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
        bytes_ = bytes_.subspan(count * sizeof(T));
        return true;
    }
    bool is_empty() const { return bytes_.empty(); }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace

struct ModuleCache::Header {
    char magic[8];
    std::uint64_t checksum;  // of all that follows this field
    std::uint64_t texts, characters, addresses, frames, globals;
    std::uint64_t has_globals;
};

ModuleCache::ModuleCache(const std::string& folder, const std::string& name)
    : path_(folder + "/" + name) {
    const std::vector<std::byte> bytes = read_trusted(path_);
    if (bytes.empty() || read(bytes)) return;
    texts_ = {};
    ranges_.clear();
    frames_.clear();
    globals_.reset();
    known_ = 0;
    without_line_ = 0;
}

bool ModuleCache::read(std::span<const std::byte> bytes) {
    Header header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    constexpr std::size_t summed = offsetof(Header, texts);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return false;
    if (header.checksum != checksum({bytes.subspan(summed)})) return false;

    Taker rest(bytes.subspan(sizeof header));
    std::vector<std::uint32_t> text_ends, first_frames;
    std::vector<char> characters;
    std::vector<std::uint64_t> addresses;
    std::vector<CachedGlobal> globals;
    if (!rest.take(header.addresses, addresses) || !rest.take(header.frames, frames_) ||
        !rest.take(header.globals, globals) || !rest.take(header.texts, text_ends) ||
        !rest.take(header.addresses, first_frames) || !rest.take(header.characters, characters) ||
        !rest.is_empty()) {
        return false;
    }
    std::uint32_t begin = 0;
    for (const std::uint32_t end : text_ends) {
        if (end < begin || end > characters.size()) return false;
        if (texts_.number({characters.data() + begin, end - begin}) + 1 != texts_.size()) {
            return false;
        }
        begin = end;
    }
    if (header.has_globals != 0) globals_ = std::move(globals);
    return has_only_known_texts() && take_frames(addresses, first_frames);
}

bool ModuleCache::has_only_known_texts() const {
    const auto is_text = [&](std::uint32_t text) { return text < texts_.size(); };
    const auto of_frame = [&](const CachedFrame& frame) {
        return is_text(frame.function) && is_text(frame.file) && is_text(frame.call_notes);
    };
    const auto of_global = [&](const CachedGlobal& global) {
        return is_text(global.name) && is_text(global.file) && is_text(global.function);
    };
    return std::all_of(frames_.begin(), frames_.end(), of_frame) &&
           (!globals_ || std::all_of(globals_->begin(), globals_->end(), of_global));
}

bool ModuleCache::take_frames(std::span<const std::uint64_t> addresses,
                              std::span<const std::uint32_t> first_frames) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const std::uint32_t first = first_frames[i];
        const std::size_t end = i + 1 < addresses.size() ? first_frames[i + 1] : frames_.size();
        if (first >= end || end > frames_.size()) return false;
        ranges_[addresses[i]] = {first, static_cast<std::uint32_t>(end)};
    }
    known_ = addresses.size();
    without_line_ = static_cast<std::size_t>(std::count_if(
        frames_.begin(), frames_.end(), [](const auto& frame) { return frame.line == 0; }));
    return true;
}

std::optional<std::vector<Frame>> ModuleCache::frames(std::uint64_t pc) const {
    const auto range = ranges_.find(pc);
    if (range == ranges_.end()) return std::nullopt;
    std::vector<Frame> frames;
    for (std::uint32_t i = range->second.first; i < range->second.second; ++i) {
        const CachedFrame& known = frames_[i];
        Frame& frame = frames.emplace_back();
        frame.function = texts_.at(known.function);
        frame.file = texts_.at(known.file);
        frame.line = known.line;
        frame.column = known.column;
        frame.offset = known.offset;
        frame.inlined = known.inlined != 0;
        frame.entry_line = known.entry_line;
        frame.call_notes = texts_.at(known.call_notes);
    }
    return frames;
}

void ModuleCache::add_frames(std::uint64_t pc, const std::vector<Frame>& frames) {
    const auto first = static_cast<std::uint32_t>(frames_.size());
    for (const Frame& frame : frames) {
        without_line_ += frame.line == 0 ? 1 : 0;
        frames_.push_back({.offset = frame.offset,
                           .function = texts_.number(frame.function),
                           .file = texts_.number(frame.file),
                           .call_notes = texts_.number(frame.call_notes),
                           .line = frame.line,
                           .column = frame.column,
                           .entry_line = frame.entry_line,
                           .inlined = frame.inlined ? 1U : 0U});
    }
    ranges_[pc] = {first, static_cast<std::uint32_t>(frames_.size())};
}

std::optional<std::vector<Global>> ModuleCache::globals() const {
    if (!globals_) return std::nullopt;
    std::vector<Global> globals;
    globals.reserve(globals_->size());
    for (const CachedGlobal& known : *globals_) {
        globals.push_back({.name = std::string(texts_.at(known.name)),
                           .file = std::string(texts_.at(known.file)),
                           .module = {},
                           .function = std::string(texts_.at(known.function)),
                           .address = known.address,
                           .size = known.size,
                           .line = known.line,
                           .points_to_data = known.points_to_data != 0});
    }
    return globals;
}

bool ModuleCache::has_room_for_symbols() const {
    return without_line_ < kMaxWithoutLine;
}

void ModuleCache::set_globals(std::span<const Global> globals, std::uint64_t bias) {
    globals_.emplace();
    globals_->reserve(globals.size());
    for (const Global& global : globals) {
        globals_->push_back({.address = global.address - bias,
                             .size = global.size,
                             .name = texts_.number(global.name),
                             .file = texts_.number(global.file),
                             .function = texts_.number(global.function),
                             .line = global.line,
                             .points_to_data = global.points_to_data ? 1U : 0U});
    }
    has_new_globals_ = true;
}

void ModuleCache::save() const {
    const std::size_t added = ranges_.size() - known_;
    const std::size_t least = known_ > kFewAddresses ? known_ / kNewShare : 1;
    if (!has_new_globals_ && (added == 0 || added < least)) return;
    write();
}

void ModuleCache::write() const {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> by_frame;
    by_frame.reserve(ranges_.size());
    for (const auto& [address, range] : ranges_) by_frame.emplace_back(range.first, address);
    std::sort(by_frame.begin(), by_frame.end());
    std::vector<std::uint64_t> addresses;
    std::vector<std::uint32_t> first_frames;
    for (const auto& [first, address] : by_frame) {
        first_frames.push_back(first);
        addresses.push_back(address);
    }
    const std::vector<CachedGlobal> none;
    const std::vector<CachedGlobal>& globals = globals_ ? *globals_ : none;
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.texts = texts_.size();
    header.characters = texts_.characters().size();
    header.addresses = addresses.size();
    header.frames = frames_.size();
    header.globals = globals.size();
    header.has_globals = globals_ ? 1 : 0;

    const std::span<const std::byte> first = std::as_bytes(std::span(&header, 1));
    const Parts rest = {bytes_of(addresses),    bytes_of(frames_),
                        bytes_of(globals),      bytes_of(texts_.ends()),
                        bytes_of(first_frames), std::as_bytes(std::span(texts_.characters()))};
    Parts summed = rest;
    summed.insert(summed.begin(), first.subspan(offsetof(Header, texts)));
    header.checksum = checksum(summed);
    Parts parts = rest;
    parts.insert(parts.begin(), first);
    std::size_t size = 0;
    for (const auto& part : parts) size += part.size();
    if (size <= kLargestFile) write_beside_and_rename(path_, parts);
}

}  // namespace numascape::symbols
