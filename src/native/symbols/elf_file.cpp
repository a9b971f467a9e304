// SPDX-License-Identifier: Apache-2.0
#include "elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "processor.h"
#include "thread_storage.h"

namespace numascape::symbols {
FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
}

int FileDescriptor::release() {
    return std::exchange(fd_, -1);
}

FileDescriptor open_regular_file(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status;
    const bool regular =
        file.get() >= 0 && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    return regular ? std::move(file) : FileDescriptor();
}

Elf* open_elf(int fd) {
    elf_version(EV_CURRENT);
    Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
    if (elf == nullptr) return nullptr;
    GElf_Ehdr header;
    const bool usable = elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 &&
                        gelf_getehdr(elf, &header) != nullptr &&
                        header.e_machine == os::kElfMachine &&
                        (header.e_type == ET_EXEC || header.e_type == ET_DYN);
    if (usable) return elf;
    elf_end(elf);
    return nullptr;
}

std::optional<SegmentRange> segment_range(Elf* elf) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
    std::optional<SegmentRange> range;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return std::nullopt;
        if (segment.p_type != PT_LOAD) continue;
        const GElf_Xword alignment = segment.p_align == 0 ? 1 : segment.p_align;
        if (!range) range = SegmentRange{segment.p_vaddr & -alignment, 0};
        range->end = std::max(range->end, segment.p_vaddr + segment.p_memsz);
    }
    return range;
}

std::optional<ThreadSegment> thread_segment(Elf* elf) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return std::nullopt;
        if (segment.p_type != PT_TLS) continue;
        return ThreadSegment{
            segment.p_memsz,
            below_thread_pointer({segment.p_vaddr, segment.p_memsz, segment.p_align})};
    }
    return std::nullopt;
}

}  // namespace numascape::symbols
