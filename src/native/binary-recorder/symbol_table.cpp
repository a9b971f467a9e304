// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <algorithm>
#include <string_view>

#include "dr_api.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

// A read-only view of the file; every access is checked against its size.
struct File {
    const char* data = nullptr;
    uint64_t bytes = 0;

    template <typename T>
    const T* at(uint64_t offset, uint64_t count = 1) const {
        if (offset > bytes || count > (bytes - offset) / sizeof(T)) {
            return nullptr;
        }
        return reinterpret_cast<const T*>(data + offset);
    }
    std::string_view text(uint64_t offset, uint64_t limit) const {
        if (offset >= limit || limit > bytes) {
            return {};
        }
        const auto rest = std::string_view(data + offset, limit - offset);
        return {rest.data(), std::min(rest.find('\0'), rest.size())};
    }
};

uint64_t lowest_load_address(const File& file, const Elf64_Ehdr& header) {
    uint64_t lowest = ~uint64_t{0};
    const auto* segments = file.at<Elf64_Phdr>(header.e_phoff, header.e_phnum);
    for (unsigned i = 0; segments != nullptr && i < header.e_phnum; ++i) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < lowest) {
            lowest = segments[i].p_vaddr & ~uint64_t{4095};
        }
    }
    return lowest == ~uint64_t{0} ? 0 : lowest;
}

void search(const File& file, uint64_t start, const SymbolVisitor& visit) {
    const auto* header = file.at<Elf64_Ehdr>(0);
    if (header == nullptr || __builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_shentsize != sizeof(Elf64_Shdr)) {
        return;
    }
    const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    const uint64_t bias = start - lowest_load_address(file, *header);
    for (unsigned i = 0; sections != nullptr && i < header->e_shnum; ++i) {
        const Elf64_Shdr& table = sections[i];
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum) {
            continue;
        }
        const Elf64_Shdr& names = sections[table.sh_link];
        const uint64_t symbols = table.sh_size / sizeof(Elf64_Sym);
        const auto* symbol = file.at<Elf64_Sym>(table.sh_offset, symbols);
        if (symbol == nullptr || names.sh_offset > file.bytes ||
            names.sh_size > file.bytes - names.sh_offset) {
            continue;
        }
        for (uint64_t s = 0; s < symbols; ++s) {
            if (ELF64_ST_TYPE(symbol[s].st_info) != STT_FUNC || symbol[s].st_value == 0) {
                continue;
            }
            const std::string_view name =
                file.text(names.sh_offset + symbol[s].st_name, names.sh_offset + names.sh_size);
            visit.symbol(name, bias + symbol[s].st_value, visit.argument);
        }
    }
}

}  // namespace

void each_function_symbol(const char* path, uint64_t start, const SymbolVisitor& visit) {
    const file_t handle = dr_open_file(path, DR_FILE_READ);
    if (handle == INVALID_FILE) {
        return;
    }
    uint64 size = 0;
    if (dr_file_size(handle, &size) && size > 0) {
        size_t mapped = size;
        void* data = dr_map_file(handle, &mapped, 0, static_cast<byte*>(os::own_place(size)),
                                 DR_MEMPROT_READ, 0);
        if (data != nullptr) {
            search({static_cast<const char*>(data), size}, start, visit);
            dr_unmap_file(data, mapped);
        }
    }
    dr_close_file(handle);
}

}  // namespace numascape
