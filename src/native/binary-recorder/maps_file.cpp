// SPDX-License-Identifier: Apache-2.0
#include "dr_api.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

uint64_t parse_hex(const char*& at) {
    uint64_t value = 0;
    for (;; ++at) {
        if (*at >= '0' && *at <= '9') {
            value = value * 16 + static_cast<uint64_t>(*at - '0');
        } else if (*at >= 'a' && *at <= 'f') {
            value = value * 16 + static_cast<uint64_t>(*at - 'a') + 10;
        } else {
            return value;
        }
    }
}

// One line: "start-end perms offset dev inode   path" (proc(5)).
MappedRange parse_line(char* line) {
    const char* at = line;
    MappedRange range{};
    range.start = parse_hex(at);
    ++at;
    range.end = parse_hex(at);
    ++at;
    range.accessible = at[0] == 'r' || at[1] == 'w';
    range.writable = at[1] == 'w';
    range.shared = at[3] == 's';
    for (int field = 0; field < 4; ++field) {
        while (*at != '\0' && *at != ' ') {
            ++at;
        }
        while (*at == ' ') {
            ++at;
        }
    }
    range.path = at;
    return range;
}

bool is_ours(const MappedRange& range) {
    auto* address = reinterpret_cast<byte*>(range.start);
    return dr_memory_is_dr_internal(address) || dr_memory_is_in_client(address) ||
           (range.start >= 0x0e00'0000'0000 && range.start < 0x5000'0000'0000) ||
           shard.owns(range.start);
}

}  // namespace

void each_mapping(void (*visit)(const MappedRange&, void*), void* argument) {
    constexpr size_t kRoom = 64 * 1024;
    constexpr size_t kLongestLine = 8 * 1024;
    const file_t file = dr_open_file("/proc/self/maps", DR_FILE_READ);
    if (file == INVALID_FILE) {
        return;
    }
    auto* buffer = static_cast<char*>(dr_global_alloc(kRoom));
    size_t filled = 0;
    for (;;) {
        const ssize_t got = dr_read_file(file, buffer + filled, kRoom - 1 - filled);
        if (got <= 0) {
            break;
        }
        filled += static_cast<size_t>(got);
        size_t line = 0;
        for (size_t i = 0; i < filled; ++i) {
            if (buffer[i] == '\n') {
                buffer[i] = '\0';
                const MappedRange range = parse_line(buffer + line);
                if (!is_ours(range)) {
                    visit(range, argument);
                }
                line = i + 1;
            }
        }
        filled -= line;
        __builtin_memmove(buffer, buffer + line, filled);
        if (filled > kLongestLine) {
            filled = 0;  // not a line of this file
        }
    }
    dr_global_free(buffer, kRoom);
    dr_close_file(file);
}

}  // namespace numascape
