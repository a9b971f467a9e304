// SPDX-License-Identifier: Apache-2.0
#include "page_table.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace numascape::live {

namespace {

// Of an entry of pagemap.
constexpr std::uint64_t kEntryPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kEntrySwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kEntryFile = std::uint64_t{1} << 61;
// Entries per read: 256 KiB. The kernel holds the lock of the mappings for 512 of them at a time.
constexpr std::size_t kEntries = 1 << 15;

// PAGEMAP_SCAN (Linux 6.7) skips holes and reports huge pages. Headers before it do not have it.
struct ScanArguments {
    std::uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
    std::uint64_t inverted, all_of, any_of, returned;
};
struct ScannedRegion {
    std::uint64_t start, end, categories;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t kScanFile = 1 << 2;
constexpr std::uint64_t kScanPresent = 1 << 3;
constexpr std::uint64_t kScanSwapped = 1 << 4;
constexpr std::uint64_t kScanHuge = 1 << 6;
constexpr std::size_t kRegions = 4096;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void append(std::vector<PageRun>& runs, PageRun next) {
    if (!runs.empty() && runs.back().end == next.start && runs.back().flags == next.flags) {
        runs.back().end = next.end;
    } else {
        runs.push_back(next);
    }
}

std::uint8_t flags_of(const ScannedRegion& region) {
    const bool present = (region.categories & kScanPresent) != 0;
    return static_cast<std::uint8_t>(((region.categories & kScanFile) != 0 ? kFile : 0) |
                                     ((region.categories & kScanHuge) != 0 ? kHuge : 0) |
                                     (present ? 0 : kSwapped));
}

}  // namespace

PageTable::PageTable(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) fail(path.c_str());
}

PageTable::~PageTable() {
    close(file_);
}

void PageTable::find(std::uint64_t start, std::uint64_t end, std::vector<PageRun>& runs,
                     bool with_files) const {
    if (scans_ && scan(start, end, runs, with_files)) return;
    read(start, end, runs);
}

// False if this kernel, or a copy of a pagemap, cannot be scanned.
bool PageTable::scan(std::uint64_t start, std::uint64_t end, std::vector<PageRun>& runs,
                     bool with_files) const {
    std::array<ScannedRegion, kRegions> regions;
    while (start < end) {
        ScanArguments arguments{};
        arguments.size = sizeof arguments;
        arguments.start = start;
        arguments.end = end;
        arguments.regions = reinterpret_cast<std::uint64_t>(regions.data());
        arguments.region_count = regions.size();
        arguments.any_of = kScanPresent | kScanSwapped;
        arguments.returned = kScanPresent | kScanSwapped | kScanHuge | (with_files ? kScanFile : 0);
        const int count = ioctl(file_, kScan, &arguments);
        if (count < 0) {
            if (errno == EINTR) continue;
            if (errno == ESRCH) return true;
            if (errno != ENOTTY && errno != EINVAL && errno != EPERM) fail("PAGEMAP_SCAN");
            scans_ = false;
            return false;
        }
        for (int i = 0; i < count; i++) {
            const auto& region = regions[static_cast<std::size_t>(i)];
            append(runs, {region.start, region.end, flags_of(region)});
        }
        if (arguments.walk_end <= start) break;
        start = arguments.walk_end;
    }
    return true;
}

void PageTable::read(std::uint64_t start, std::uint64_t end, std::vector<PageRun>& runs) const {
    std::vector<std::uint64_t> entries(std::min<std::uint64_t>(kEntries, (end - start) / kPage));
    while (start < end) {
        const std::size_t wanted = std::min<std::uint64_t>(entries.size(), (end - start) / kPage);
        const auto offset = static_cast<off_t>(start / kPage * sizeof(std::uint64_t));
        const ssize_t bytes = pread(file_, entries.data(), wanted * sizeof(std::uint64_t), offset);
        if (bytes < 0) fail("pagemap");
        const std::size_t found = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
        if (found == 0) return;  // the process has ended
        for (std::size_t i = 0; i < found; i++, start += kPage) {
            const std::uint64_t entry = entries[i];
            if ((entry & (kEntryPresent | kEntrySwapped)) == 0) continue;
            const bool present = (entry & kEntryPresent) != 0;
            const auto flags = static_cast<std::uint8_t>((present ? 0 : kSwapped) |
                                                         ((entry & kEntryFile) != 0 ? kFile : 0));
            append(runs, {start, start + kPage, flags});
        }
    }
}

}  // namespace numascape::live
