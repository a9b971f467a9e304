// SPDX-License-Identifier: Apache-2.0
#include "process_maps.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "os.h"
#include "pages.h"

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

void skip_field(const char*& at) {
    while (*at != '\0' && *at != ' ') {
        ++at;
    }
    while (*at == ' ') {
        ++at;
    }
}

// One line: "start-end perms offset dev inode   path" (proc(5)).
MappedRange parse_line(const char* at) {
    MappedRange range{};
    range.start = parse_hex(at);
    ++at;
    range.end = parse_hex(at);
    ++at;
    range.accessible = at[0] == 'r' || at[1] == 'w';
    range.writable = at[1] == 'w';
    range.executable = at[2] == 'x';
    range.shared = at[3] == 's';
    skip_field(at);
    range.object.offset = parse_hex(at);
    skip_field(at);
    range.object.device = parse_hex(at) << 32;
    ++at;
    range.object.device |= parse_hex(at);
    skip_field(at);
    for (; *at >= '0' && *at <= '9'; ++at) {
        range.object.inode = range.object.inode * 10 + static_cast<uint64_t>(*at - '0');
    }
    skip_field(at);
    range.path = at;
    if (std::string_view(at).starts_with("/SYSV")) {
        range.object.device |= kSegmentOfSystemV;
    }
    return range;
}

// struct procmap_query of Linux 6.11 (include/uapi/linux/fs.h).
struct MappingQuery {
    uint64_t size, flags, address;
    uint64_t start, end, permissions, page_size, offset, inode;
    uint32_t device_major, device_minor, name_size, build_id_size;
    uint64_t name_address, build_id_address;
};
static_assert(sizeof(MappingQuery) == 104);
constexpr uint64_t kReadableOrWritable = 3;

// Negative: the kernel's error. -ENOENT if there is no mapping; others if it cannot be asked.
long query_mapping(uint64_t address, MappingQuery& query) {
    constexpr long kQuery = _IOWR('f', 17, MappingQuery);
    query = {};
    query.size = sizeof query;
    query.address = address;
    const int file = os::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return file;
    }
    const long result = os::call(SYS_ioctl, file, kQuery, reinterpret_cast<long>(&query));
    os::close(file);
    return result;
}

}  // namespace

bool is_own_place(uint64_t address) {
    // There is room for several libraries, because all of ours begin with the same place
    // (map_at_own_place in os.h).
    constexpr uint64_t kRoom = 0x40'0000'0000;
    // The patches of DynamoRIO determine the places of its mappings, also of those at fixed
    // addresses. The last place is that of the release thread (release_thread.cpp).
    const MappingRange places[] = {
        {0x0d00'0000'0000, 0x0d00'0000'0000 + kRoom},
        {0x0dfe'0000'0000, os::kOwnMappings},
        {os::kOwnMappings, os::next_own_mapping.load() + kRoom},
        {0x0fff'0000'0000, 0x1000'0000'0000},
    };
    return std::any_of(std::begin(places), std::end(places), [address](const MappingRange& place) {
        return place.start <= address && address < place.end;
    });
}

void each_process_mapping(void (*visit)(const MappedRange&, void*), void* argument) {
    constexpr size_t kRoom = 64 * 1024;
    constexpr size_t kLongestLine = 8 * 1024;
    const int file = os::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    void* room = os::map_sparse(kRoom);
    auto* buffer = static_cast<char*>(room);
    size_t filled = 0;
    while (!os::failed(room)) {
        const long got = os::read(file, buffer + filled, kRoom - 1 - filled);
        if (got <= 0) {
            break;
        }
        filled += static_cast<size_t>(got);
        size_t line = 0;
        for (size_t i = 0; i < filled; ++i) {
            if (buffer[i] == '\n') {
                buffer[i] = '\0';
                const MappedRange range = parse_line(buffer + line);
                const auto own = reinterpret_cast<uint64_t>(room);
                if (range.start != own && !is_own_place(range.start)) {
                    visit(range, argument);
                }
                line = i + 1;
            }
        }
        filled -= line;
        for (size_t i = 0; i < filled; ++i) {
            buffer[i] = buffer[line + i];
        }
        if (filled > kLongestLine) {
            filled = 0;  // such a long line is not of this file
        }
    }
    if (!os::failed(room)) {
        os::unmap(room, kRoom);
    }
    os::close(file);
}

MappingRange query_mapping(uint64_t address) {
    MappingQuery query;
    return query_mapping(address, query) < 0 ? MappingRange{0, 0}
                                             : MappingRange{query.start, query.end};
}

MappedObject shared_object_at(uint64_t address) {
    struct Search {
        uint64_t address;
        MappedObject found;
    } search{address, {}};
    each_process_mapping(
        [](const MappedRange& range, void* argument) {
            auto* to = static_cast<Search*>(argument);
            if (range.shared && range.start <= to->address && to->address < range.end) {
                to->found = range.object;
                to->found.offset += to->address - range.start;
            }
        },
        &search);
    return search.found;
}

MappedObject object_of_file(int file, uint64_t offset) {
    struct stat status{};
    if (os::call(SYS_fstat, file, reinterpret_cast<long>(&status)) < 0 ||
        !S_ISREG(status.st_mode)) {
        return {};  // two mappings of a device may be different memory
    }
    const uint64_t device = uint64_t{major(status.st_dev)} << 32 | minor(status.st_dev);
    return {device, status.st_ino, offset};
}

bool ends_guard(uint64_t address) {
    struct Search {
        uint64_t address;
        uint64_t bytes;  // of the inaccessible mapping
    } search{address, 0};
    MappingQuery query;
    const long result = query_mapping(address - 1, query);
    if (result >= 0) {
        search.bytes = (query.permissions & kReadableOrWritable) == 0 ? address - query.start : 0;
    } else if (result != -ENOENT) {
        each_process_mapping(
            [](const MappedRange& range, void* argument) {
                auto* to = static_cast<Search*>(argument);
                if (range.end == to->address && !range.accessible) {
                    to->bytes = range.end - range.start;
                }
            },
            &search);
    }
    constexpr uint64_t kLargestGuard = uint64_t{1} << 20;  // larger ones are reserved address space
    return search.bytes != 0 && search.bytes <= kLargestGuard;
}

MappingRange stack_within(MappingRange mapping, uint64_t stack_pointer) {
    // Above the first stack pointer, a thread has only its thread-local variables and its control
    // block.
    constexpr uint64_t kAbove = uint64_t{1} << 16;
    constexpr uint64_t kShortStack = uint64_t{1} << 16;  // four times the stack of Go's threads
    if (mapping.end - stack_pointer <= kAbove || ends_guard(mapping.start)) {
        return mapping;
    }
    const uint64_t end = (stack_pointer + kPageBytes - 1) & ~(kPageBytes - 1);
    const uint64_t below = end - mapping.start;
    return {end - (below < kShortStack ? below : kShortStack), end};
}

MappingRange find_main_stack() {
    MappingRange stack{0, 0};
    each_process_mapping(
        [](const MappedRange& range, void* argument) {
            if (std::string_view(range.path) == "[stack]") {
                *static_cast<MappingRange*>(argument) = {range.start, range.end};
            }
        },
        &stack);
    constexpr uint64_t kMax = uint64_t{1} << 30;
    rlimit limit{};
    os::call(SYS_prlimit64, 0, RLIMIT_STACK, 0, reinterpret_cast<long>(&limit));
    const uint64_t most = limit.rlim_cur < kMax ? limit.rlim_cur : kMax;
    if (stack.end - stack.start < most) {
        stack.start = stack.end - most;
    }
    return stack;
}

char* append_number(char* to, uint64_t number) {
    char digits[24];
    size_t count = 0;
    do {
        digits[count++] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) {
        *to++ = digits[--count];
    }
    *to = '\0';
    return to;
}

char* append_text(char* to, const char* text, size_t room) {
    for (; *text != '\0' && room > 1; --room) {
        *to++ = *text++;
    }
    *to = '\0';
    return to;
}

void read_thread_name(uint32_t os_tid, char (&name)[16]) {
    char path[64];
    char* end = append_text(path, "/proc/self/task/", sizeof path);
    append_text(append_number(end, os_tid), "/comm", 16);
    name[0] = '\0';
    const int file = os::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    const long got = os::read(file, name, sizeof name - 1);
    os::close(file);
    for (long i = 0; i < 16; ++i) {
        if (i >= got || name[i] == '\n') {
            name[i] = '\0';
        }
    }
}

void read_own_name(char (&name)[16]) {
    name[0] = '\0';
    os::call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name));
}

}  // namespace numascape
