// SPDX-License-Identifier: Apache-2.0
#include "dynamic_symbols.h"

#include "program_headers.h"

namespace numascape {
namespace {

constexpr unsigned kMaxEntries = 256;  // of the dynamic section
constexpr unsigned kLongestChain = 4096;
constexpr size_t kLongestName = 64;

template <typename T>
bool read(uint64_t at, T& value) {
    return os::read_memory(at, &value, sizeof value) == sizeof value;
}

struct SymbolTables {
    uint64_t symbols = 0;
    uint64_t names = 0;
    uint64_t hashes = 0;
};

// The loader of glibc replaces the addresses in the dynamic section of a module by those in memory.
// In a module that it has not processed yet, and with musl, they are those of the file.
uint64_t address_of(const Elf64_Dyn& entry, uint64_t start, uint64_t bias) {
    return entry.d_un.d_ptr < start ? entry.d_un.d_ptr + bias : entry.d_un.d_ptr;
}

SymbolTables find_tables(uint64_t start, const ProgramHeaders& headers) {
    SymbolTables found;
    for (unsigned i = 0; headers.dynamic != 0 && i < kMaxEntries; ++i) {
        Elf64_Dyn entry{};
        if (!read(headers.dynamic + i * sizeof entry, entry) || entry.d_tag == DT_NULL) {
            break;
        }
        const uint64_t address = address_of(entry, start, headers.bias);
        if (entry.d_tag == DT_SYMTAB) {
            found.symbols = address;
        } else if (entry.d_tag == DT_STRTAB) {
            found.names = address;
        } else if (entry.d_tag == DT_GNU_HASH) {
            found.hashes = address;
        }
    }
    return found;
}

// GNU's hash function of symbols: Bernstein's, from 5381.
uint32_t hash_of(const char* name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) {
        hash = hash * 33 + static_cast<unsigned char>(*name);
    }
    return hash;
}

bool has_name(uint64_t at, const char* name) {
    char text[kLongestName] = {};
    os::read_memory(at, text, sizeof text);
    const size_t bytes = __builtin_strlen(name) + 1;
    return bytes <= sizeof text && __builtin_memcmp(text, name, bytes) == 0;
}

}  // namespace

uint64_t dynamic_symbol(uint64_t start, uint64_t end, const char* name) {
    struct Header {
        uint32_t buckets;
        uint32_t first_symbol;
        uint32_t filter_words;
        uint32_t filter_shift;
    };
    ProgramHeaders headers;
    if (!read_program_headers(start, headers)) {
        return 0;
    }
    const SymbolTables tables = find_tables(start, headers);
    Header header{};
    if (tables.symbols == 0 || tables.names == 0 || tables.hashes == 0 ||
        !read(tables.hashes, header) || header.buckets == 0) {
        return 0;
    }
    const uint64_t buckets =
        tables.hashes + sizeof header + uint64_t{header.filter_words} * sizeof(uint64_t);
    const uint64_t chains = buckets + uint64_t{header.buckets} * sizeof(uint32_t);
    const uint32_t hash = hash_of(name);
    uint32_t symbol = 0;
    if (!read(buckets + hash % header.buckets * sizeof(uint32_t), symbol) ||
        symbol < header.first_symbol) {
        return 0;
    }
    for (unsigned steps = 0; steps < kLongestChain; ++steps, ++symbol) {
        // The lowest bit marks the end of a chain.
        uint32_t known = 0;
        Elf64_Sym entry{};
        if (!read(chains + uint64_t{symbol - header.first_symbol} * sizeof known, known)) {
            return 0;
        }
        if ((known | 1) == (hash | 1) && read(tables.symbols + symbol * sizeof entry, entry) &&
            entry.st_value != 0 && has_name(tables.names + entry.st_name, name)) {
            const uint64_t address = headers.bias + entry.st_value;
            return address >= start && address < end ? address : 0;
        }
        if ((known & 1) != 0) {
            return 0;
        }
    }
    return 0;
}

}  // namespace numascape
