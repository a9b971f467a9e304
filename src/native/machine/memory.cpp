// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace numascape::machine {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMaxPagesAsked = 16384;
constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

std::size_t page_size() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool bind(void* start, std::size_t bytes, int node) {
    std::vector<unsigned long> nodes(kMaxNodes / kWordBits);
    const auto bit = static_cast<std::size_t>(node);
    if (bit >= kMaxNodes) {
        errno = EINVAL;
        fail("mbind");
    }
    nodes[bit / kWordBits] |= 1UL << (bit % kWordBits);
    if (syscall(SYS_mbind, start, bytes, MPOL_BIND, nodes.data(), kMaxNodes + 1, 0) == 0) {
        return true;
    }
    if (errno == EPERM || errno == ENOSYS) return false;
    fail("mbind");
}

}  // namespace

Buffer::Buffer(std::size_t bytes, int node) : bytes_(bytes) {
    mapped_ = (bytes + kHugePage - 1) / kHugePage * kHugePage + kHugePage;
    void* mapped = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fail("mmap");
    mapping_ = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    start_ = mapping_ + (kHugePage - address % kHugePage) % kHugePage;
    // Without huge pages, the measurement includes address translation, and reports this.
    madvise(start_, mapped_ - kHugePage, MADV_HUGEPAGE);
    try {
        bound_ = node != kAnyNode && bind(start_, mapped_ - kHugePage, node);
    } catch (...) {
        munmap(mapping_, mapped_);
        throw;
    }
}

Buffer::~Buffer() {
    munmap(mapping_, mapped_);
}

void Buffer::touch() const {
    for (std::size_t offset = 0; offset < bytes_; offset += page_size()) {
        *const_cast<volatile std::byte*>(start_ + offset) = std::byte{0};
    }
}

Placement Buffer::placement(int node) const {
    const std::size_t page = page_size();
    const std::size_t all = (bytes_ + page - 1) / page;
    const std::size_t step = all / kMaxPagesAsked + 1;
    std::vector<void*> addresses;
    for (std::size_t i = 0; i < all; i += step) addresses.push_back(start_ + i * page);
    std::vector<int> nodes(addresses.size());
    Placement found;
    found.pages = addresses.size();
    found.known = syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr,
                          nodes.data(), 0) == 0;
    if (!found.known) return found;
    for (const int where : nodes) {
        if (node != kAnyNode && where != node) found.elsewhere++;
    }
    return found;
}

std::size_t huge_bytes() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    std::string line;
    while (std::getline(rollup, line)) {
        std::istringstream words(line);
        std::string name;
        std::size_t kibibytes = 0;
        if (words >> name >> kibibytes && name == "AnonHugePages:") return kibibytes << 10;
    }
    return 0;
}

}  // namespace numascape::machine
