// SPDX-License-Identifier: Apache-2.0
//
// file-pages: finds the nodes of the pages of files that are in memory.
//
// Input: paths, each ended by a zero byte. Output: a line of JSON for each path, in order:
//   {"size": 1048576, "resident": 256, "dirty": 0, "nodes": {"0": 256}}
//   {"error": "Permission denied"}
// resident: pages in memory, or -1 if the kernel does not report them. dirty: the same for changed
// pages. nodes: pages by node, with "-1" for unknown nodes; null if the kernel does not report
// them.
//
// No page is read into memory. mincore(2) reports which pages are in memory, but reports all pages
// of a file that the user neither owns nor may write (mm/mincore.c, can_do_mincore). cachestat(2)
// (Linux 6.5) refuses such files, so it is called first; without it, the same rule is applied here.
// To find the node of a resident page, this process reads one byte of it, which maps the page, and
// calls move_pages(2) without target nodes. If a page is evicted in between, MADV_RANDOM keeps the
// kernel from reading ahead; it also prevents mapping of neighbours.
#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/file_access.h"
#include "node_pages.h"

using namespace numascape::host;
using numascape::live::Descriptor;
using numascape::live::mincore_is_true;

namespace {

// The same on every architecture; headers before Linux 6.5 do not have it and its structures.
constexpr long kCachestat = 451;
struct CachestatRange {
    std::uint64_t offset, length;
};
struct Cachestat {
    std::uint64_t cache, dirty, writeback, evicted, recently_evicted;
};

// Bytes that are mapped at once; a multiple of every page size.
constexpr std::size_t kWindow = std::size_t{64} << 20;

struct Found {
    long long resident = -1;
    long long dirty = -1;
    bool told = false;
    NodeCounts nodes;
};

sigjmp_buf g_vanished;

// The file became shorter between two calls, so the page does not exist any more.
void on_bus_error(int) {
    siglongjmp(g_vanished, 1);
}

void count_window(int file, std::size_t offset, std::size_t bytes, Found& found) {
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) {
        found.told = false;
        return;
    }
    madvise(mapped, bytes, MADV_RANDOM);
    const std::size_t page = page_size();
    std::vector<unsigned char> here((bytes + page - 1) / page);
    std::vector<void*> pages;
    if (mincore(mapped, bytes, here.data()) == 0) {
        for (std::size_t i = 0; i < here.size(); i++) {
            if (here[i] & 1) pages.push_back(static_cast<std::byte*>(mapped) + i * page);
        }
    } else {
        found.told = false;
    }
    if (sigsetjmp(g_vanished, 1) == 0) {
        for (void* address : pages) {
            static_cast<void>(*static_cast<const volatile std::byte*>(address));
        }
    }
    count_nodes(pages, found.nodes);
    munmap(mapped, bytes);
}

Found examine(int file, const struct stat& status) {
    Found found;
    const auto size = static_cast<std::size_t>(status.st_size);
    CachestatRange range{0, 0};
    Cachestat cached{};
    bool refused = false;
    if (syscall(kCachestat, file, &range, &cached, 0) == 0) {
        found.resident = static_cast<long long>(cached.cache);
        found.dirty = static_cast<long long>(cached.dirty + cached.writeback);
    } else {
        // In a container, root may have no rights on the file.
        refused = errno == EPERM;
    }
    found.told = !refused && mincore_is_true(file, status);
    if (found.told && found.resident != 0) {
        for (std::size_t offset = 0; offset < size; offset += kWindow) {
            count_window(file, offset, std::min(kWindow, size - offset), found);
        }
        if (found.told && found.resident < 0) {
            found.resident = 0;
            for (const auto& [node, count] : found.nodes) {
                found.resident += static_cast<long long>(count);
            }
        }
    }
    return found;
}

void print_error(int number) {
    std::printf("{\"error\": \"%s\"}\n", std::strerror(number));
}

void report(const std::string& path) {
    // Never blocks on a pipe, and follows no link to a device.
    const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (file.number < 0 || fstat(file.number, &status) != 0) return print_error(errno);
    if (!S_ISREG(status.st_mode)) return print_error(EINVAL);
    const Found found = examine(file.number, status);
    std::printf("{\"size\": %lld, \"resident\": %lld, \"dirty\": %lld, \"nodes\": ",
                static_cast<long long>(status.st_size), found.resident, found.dirty);
    if (found.told) {
        print_counts(found.nodes);
    } else {
        std::printf("null");
    }
    std::printf("}\n");
}

}  // namespace

int main() {
    struct sigaction action{};
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, nullptr);
    std::string path;
    while (std::getline(std::cin, path, '\0')) {
        try {
            report(path);
        } catch (const std::exception& error) {
            std::printf("{\"error\": \"%s\"}\n", error.what());
        }
        std::fflush(stdout);
    }
    return 0;
}
