// SPDX-License-Identifier: Apache-2.0
#include "call_notes.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace numascape::symbols {
namespace {

constexpr char kSection[] = ".debug_numascape";
constexpr std::uint64_t kLargestSection = std::uint64_t{256} << 20;

Elf_Scn* find_section(Elf* elf) {
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return nullptr;
    for (Elf_Scn* at = elf_nextscn(elf, nullptr); at != nullptr; at = elf_nextscn(elf, at)) {
        GElf_Shdr header;
        if (gelf_getshdr(at, &header) == nullptr) continue;
        const char* name = elf_strptr(elf, names, header.sh_name);
        if (name == nullptr || std::strcmp(name, kSection) != 0) continue;
        std::uint64_t size = header.sh_size;
        if ((header.sh_flags & SHF_COMPRESSED) != 0) {
            GElf_Chdr compressed;
            if (gelf_getchdr(at, &compressed) == nullptr) return nullptr;
            size = compressed.ch_size;
            if (size > kLargestSection || elf_compress(at, 0, 0) < 0) return nullptr;
        }
        return size <= kLargestSection ? at : nullptr;
    }
    return nullptr;
}

// Removes the text before the first `separator`, and the separator, from `text`, and returns it.
std::string_view next_part(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

std::string normal(std::string_view path) {
    return std::filesystem::path(path).lexically_normal().string();
}

std::string key_of(const std::string& file, std::string_view line, std::string_view column) {
    std::string key = file;
    key.append(1, '\n').append(line).append(1, '\t').append(column);
    return key;
}

}  // namespace

CallNotes::CallNotes(Elf* elf) {
    Elf_Scn* section = find_section(elf);
    const Elf_Data* data = section == nullptr ? nullptr : elf_rawdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) {
        read({static_cast<const char*>(data->d_buf), data->d_size});
    }
}

void CallNotes::read(std::string_view text) {
    while (!text.empty()) {
        read_file(next_part(text, '\0'));
    }
}

void CallNotes::read_file(std::string_view text) {
    const std::string file = normal(next_part(text, '\n'));
    while (!text.empty()) {
        std::string_view note = next_part(text, '\n');
        const std::string_view line = next_part(note, '\t');
        const std::string_view column = next_part(note, '\t');
        std::string& notes = notes_[key_of(file, line, column)];
        notes.append(note).append(1, '\n');
    }
}

std::string CallNotes::find(const std::string& file, std::uint32_t line,
                            std::uint32_t column) const {
    if (notes_.empty()) return "";
    const auto at = notes_.find(key_of(normal(file), std::to_string(line), std::to_string(column)));
    return at == notes_.end() ? "" : at->second;
}

}  // namespace numascape::symbols
