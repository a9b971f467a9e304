// SPDX-License-Identifier: Apache-2.0
#include "code_files.h"

#include <elf.h>
#include <algorithm>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages.h"

namespace numascape {
namespace {

// No executable is larger in memory; a damaged file may say so.
constexpr uint64_t kMaxBytes = uint64_t{1} << 36;
constexpr size_t kMaxHeaders = 512;

uint64_t page_down(uint64_t address) {
    return address & ~(kPageBytes - 1);
}
uint64_t page_up(uint64_t address) {
    return page_down(address + kPageBytes - 1);
}

class OpenFile {
  public:
    explicit OpenFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    OpenFile(const OpenFile&) = delete;
    ~OpenFile() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    int number() const { return file_; }
    bool is_open() const { return file_ >= 0; }

  private:
    int file_;
};

// The loaded segments, in order of their addresses; none if it is not a 64-bit ELF file.
std::vector<Elf64_Phdr> loaded_segments(int file) {
    Elf64_Ehdr header{};
    if (pread(file, &header, sizeof header, 0) != sizeof header ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
        return {};
    }
    std::vector<Elf64_Phdr> all(std::min<size_t>(header.e_phnum, kMaxHeaders));
    const size_t bytes = all.size() * sizeof(Elf64_Phdr);
    if (pread(file, all.data(), bytes, static_cast<off_t>(header.e_phoff)) !=
        static_cast<ssize_t>(bytes)) {
        return {};
    }
    std::erase_if(all, [](const Elf64_Phdr& one) {
        return one.p_type != PT_LOAD || one.p_filesz > one.p_memsz || one.p_memsz > kMaxBytes ||
               one.p_offset > kMaxBytes || one.p_vaddr % kPageBytes != one.p_offset % kPageBytes;
    });
    std::sort(all.begin(), all.end(),
              [](const Elf64_Phdr& a, const Elf64_Phdr& b) { return a.p_vaddr < b.p_vaddr; });
    return all;
}

// Maps the file at addresses with the same distances as in the process.
std::optional<CodeFile> map_file(int file) {
    const std::vector<Elf64_Phdr> loaded = loaded_segments(file);
    if (loaded.empty()) {
        return std::nullopt;
    }
    const uint64_t low = page_down(loaded.front().p_vaddr);
    const uint64_t bytes = page_up(loaded.back().p_vaddr + loaded.back().p_memsz) - low;
    if (bytes > kMaxBytes) {
        return std::nullopt;
    }
    void* room =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return std::nullopt;
    }
    const auto start = reinterpret_cast<uint64_t>(room);
    CodeFile mapped;
    for (const Elf64_Phdr& one : loaded) {
        const uint64_t at = start + page_down(one.p_vaddr) - low;
        const uint64_t offset = page_down(one.p_offset);
        const uint64_t length = page_up(one.p_offset + one.p_filesz) - offset;
        if (length == 0 || at + length > start + bytes) {
            continue;
        }
        void* placed = mmap(reinterpret_cast<void*>(at), length, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                            file, static_cast<off_t>(offset));
        if (placed != MAP_FAILED) {
            mapped.segments.push_back({offset, offset + length, at});
        }
    }
    mapped.frames = find_frame_information(start, start + bytes);
    return mapped;
}

// Processes may see other files by the same path.
std::string identity_of(int file) {
    struct stat status{};
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        return "";
    }
    std::string identity;
    for (const auto part :
         {static_cast<uint64_t>(status.st_dev), uint64_t{status.st_ino},
          static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_mtim.tv_sec),
          static_cast<uint64_t>(status.st_mtim.tv_nsec)}) {
        identity += std::to_string(part) + ":";
    }
    return identity;
}

}  // namespace

uint64_t CodeFile::address_of(uint64_t offset) const {
    for (const Segment& segment : segments) {
        if (offset >= segment.offset && offset < segment.end) {
            return segment.address + (offset - segment.offset);
        }
    }
    return 0;
}

const CodeFile* CodeFiles::find(pid_t process, const std::string& path) {
    // It may have another root directory.
    const OpenFile file("/proc/" + std::to_string(process) + "/root" + path);
    const std::string identity = file.is_open() ? identity_of(file.number()) : "";
    if (identity.empty()) {
        return nullptr;
    }
    const auto [known, fresh] = by_identity_.try_emplace(identity, nullptr);
    if (fresh) {
        if (std::optional<CodeFile> mapped = map_file(file.number())) {
            known->second = &files_.emplace_back(std::move(*mapped));
        }
    }
    return known->second;
}

}  // namespace numascape
