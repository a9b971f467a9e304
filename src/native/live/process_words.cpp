// SPDX-License-Identifier: Apache-2.0
#include "process_words.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace numascape::live {

namespace {

// UIO_MAXIOV of Linux.
constexpr std::size_t kWordsPerCall = 1024;

}  // namespace

std::vector<std::uint64_t> read_words(int pid, std::span<const std::uint64_t> addresses) {
    std::vector<std::uint64_t> words(addresses.size());
    std::vector<iovec> places;
    for (std::size_t at = 0; at < addresses.size();) {
        const std::size_t count = std::min(kWordsPerCall, addresses.size() - at);
        places.clear();
        for (const std::uint64_t address : addresses.subspan(at, count)) {
            places.push_back({reinterpret_cast<void*>(address), sizeof(std::uint64_t)});
        }
        const iovec room{words.data() + at, count * sizeof(std::uint64_t)};
        const ssize_t bytes = process_vm_readv(pid, &room, 1, places.data(), count, 0);
        if (bytes < 0 && errno != EFAULT) {
            throw std::system_error(errno, std::generic_category(), "process_vm_readv");
        }
        // It ends at the first address without memory; go on behind it.
        const std::size_t read = bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(words[0]);
        if (read < count) words[at + read] = 0;  // it may be read in part
        at += std::min(count, read + 1);
    }
    return words;
}

}  // namespace numascape::live
