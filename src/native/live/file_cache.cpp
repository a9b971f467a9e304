// SPDX-License-Identifier: Apache-2.0
#include "file_cache.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_access.h"
#include "page_table.h"

namespace numascape::live {

namespace {

// Linux 5.14; not in older headers. Unlike reading a byte, it raises no signal if the file has
// become shorter.
constexpr int kPopulateRead = 22;
// Bytes that are asked for at a time.
constexpr std::uint64_t kWindow = std::uint64_t{64} << 20;

[[noreturn]] void fail(int error, const std::string& path) {
    throw std::system_error(error, std::generic_category(), path);
}

}  // namespace

CachedFile::CachedFile(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (file.number < 0 || fstat(file.number, &status) != 0) fail(errno, path);
    if (!S_ISREG(status.st_mode) || status.st_size == 0) fail(EINVAL, path);
    if (!mincore_is_true(file.number, status)) fail(EPERM, path);
    bytes_ = (static_cast<std::uint64_t>(status.st_size) + kPage - 1) / kPage * kPage;
    void* mapped = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.number, 0);
    if (mapped == MAP_FAILED) fail(errno, path);
    start_ = static_cast<std::byte*>(mapped);
    // The kernel then neither reads ahead nor maps neighbours, if a page is evicted meanwhile.
    madvise(start_, bytes_, MADV_RANDOM);
    try {
        map_resident();
    } catch (...) {
        munmap(start_, bytes_);
        throw;
    }
}

CachedFile::~CachedFile() {
    munmap(start_, bytes_);
}

void CachedFile::map_resident() const {
    std::vector<unsigned char> here(kWindow / kPage);
    for (std::uint64_t offset = 0; offset < bytes_; offset += kWindow) {
        const std::uint64_t size = std::min(kWindow, bytes_ - offset);
        if (mincore(start_ + offset, size, here.data()) != 0) fail(errno, "mincore");
        const std::uint64_t pages = size / kPage;
        for (std::uint64_t page = 0; page < pages;) {
            std::uint64_t end = page;
            while (end < pages && (here[end] & 1) != 0) end++;
            std::byte* start = start_ + offset + page * kPage;
            // EFAULT: the file has become shorter.
            if (end > page && madvise(start, (end - page) * kPage, kPopulateRead) != 0 &&
                errno != EFAULT) {
                fail(errno, "MADV_POPULATE_READ");
            }
            page = std::max(end, page + 1);
        }
    }
}

}  // namespace numascape::live
