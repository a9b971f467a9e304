// SPDX-License-Identifier: Apache-2.0
#include "debug_files.h"

#include <elfutils/libdwelf.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "elf_file.h"

namespace numascape::symbols {
namespace {

// CRC-32 of a file as .gnu_debuglink stores it (reflected polynomial of ISO 3309).
GElf_Word file_crc(int fd) {
    std::array<GElf_Word, 256> table;
    for (GElf_Word i = 0; i < table.size(); ++i) {
        GElf_Word value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xedb88320U : 0U);
        table[i] = value;
    }
    GElf_Word crc = ~GElf_Word{0};
    std::vector<unsigned char> buffer(1 << 16);
    off_t position = 0;
    ssize_t length = 0;
    while ((length = pread(fd, buffer.data(), buffer.size(), position)) > 0) {
        for (ssize_t i = 0; i < length; ++i) crc = table[(crc ^ buffer[i]) & 0xff] ^ (crc >> 8);
        position += length;
    }
    return ~crc;
}

std::vector<std::filesystem::path> debuglink_candidates(const std::filesystem::path& file,
                                                        const std::filesystem::path& link) {
    if (link.is_absolute()) return {link};  // dwz's shared file, as the linker recorded it
    const std::filesystem::path folder = file.parent_path();
    return {folder / link, folder / ".debug" / link,
            std::filesystem::path("/usr/lib/debug") / folder.relative_path() / link};
}

}  // namespace

std::vector<std::string> debug_file_candidates(Elf* elf, const std::string& path,
                                               const std::string& build_id) {
    std::vector<std::string> candidates;
    if (build_id.size() > 2) {
        candidates.push_back("/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" +
                             build_id.substr(2) + ".debug");
    }
    GElf_Word crc = 0;
    const char* link = dwelf_elf_gnu_debuglink(elf, &crc);
    if (link == nullptr) return candidates;
    for (const auto& candidate : debuglink_candidates(path, link)) {
        candidates.push_back(candidate.string());
    }
    return candidates;
}

int find_local_debug_file(Dwfl_Module* module, void** userdata, const char* module_name,
                          Dwarf_Addr base, const char* file_name, const char* debuglink_file,
                          GElf_Word debuglink_crc, char** debuginfo_file_name) {
    const int by_build_id =
        dwfl_build_id_find_debuginfo(module, userdata, module_name, base, file_name, debuglink_file,
                                     debuglink_crc, debuginfo_file_name);
    if (by_build_id >= 0 || file_name == nullptr || debuglink_file == nullptr) return by_build_id;

    for (const auto& candidate : debuglink_candidates(file_name, debuglink_file)) {
        if (candidate == file_name) continue;
        FileDescriptor file = open_regular_file(candidate.string());
        if (file.get() < 0) continue;
        // dwz's link carries no checksum.
        if (debuglink_crc != 0 && file_crc(file.get()) != debuglink_crc) continue;
        *debuginfo_file_name = strdup(candidate.c_str());
        return file.release();
    }
    return -1;
}

}  // namespace numascape::symbols
