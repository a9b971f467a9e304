// SPDX-License-Identifier: Apache-2.0
//
// The page cache of a file, mapped into this process so that its pages can be asked for and moved.
#pragma once

#include <cstdint>
#include <string>

namespace numascape::live {

// Maps a whole file for reading, and those of its pages that are in memory. No page is read into
// memory. Throws std::system_error: EPERM if the kernel does not report which pages are in memory,
// because the user neither owns the file nor may write it; EINVAL if the file is empty, or not a
// regular file.
class CachedFile {
  public:
    explicit CachedFile(const std::string& path);
    ~CachedFile();
    CachedFile(const CachedFile&) = delete;
    CachedFile& operator=(const CachedFile&) = delete;

    std::uint64_t start() const { return reinterpret_cast<std::uint64_t>(start_); }
    std::uint64_t bytes() const { return bytes_; }  // whole pages

  private:
    void map_resident() const;

    std::byte* start_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace numascape::live
