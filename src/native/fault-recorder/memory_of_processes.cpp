// SPDX-License-Identifier: Apache-2.0
#include "memory_of_processes.h"

#include <algorithm>
#include <cstring>

#include <sys/uio.h>

namespace numascape {

void MemoryOfProcesses::begin_round() {
    ++round_;
}

std::span<const std::byte> MemoryOfProcesses::at(pid_t process, uint64_t address) {
    if (pages_.size() > kMaxPages) {
        pages_.clear();
    }
    const Page& first = page(process, address / kPageBytes);
    if (!first.readable) {
        return {};
    }
    const size_t offset = address % kPageBytes;
    const size_t here = std::min(kMaxBytes, kPageBytes - offset);
    const std::span<const std::byte> begin(first.bytes.data() + offset, here);
    if (here == kMaxBytes) {
        return begin;
    }
    const Page& next = page(process, address / kPageBytes + 1);
    if (!next.readable) {
        return begin;
    }
    std::copy(begin.begin(), begin.end(), across_.begin());
    std::copy_n(next.bytes.begin(), kMaxBytes - here, across_.begin() + here);
    return across_;
}

std::optional<uint64_t> MemoryOfProcesses::number(pid_t process, uint64_t address, size_t bytes) {
    const std::span<const std::byte> found = at(process, address);
    if (bytes > sizeof(uint64_t) || found.size() < bytes) {
        return std::nullopt;
    }
    uint64_t number = 0;
    std::memcpy(&number, found.data(), bytes);
    return number;
}

const MemoryOfProcesses::Page& MemoryOfProcesses::page(pid_t process, uint64_t number) {
    Page& page = pages_[{process, number}];
    if (page.round == round_) {
        return page;
    }
    page.round = round_;
    std::array<std::byte, kPageBytes> bytes;
    const iovec into{bytes.data(), bytes.size()};
    const iovec from{reinterpret_cast<void*>(number * kPageBytes), bytes.size()};
    if (process_vm_readv(process, &into, 1, &from, 1, 0) == static_cast<ssize_t>(bytes.size())) {
        page.bytes = bytes;
        page.readable = true;
    }
    return page;
}

}  // namespace numascape
