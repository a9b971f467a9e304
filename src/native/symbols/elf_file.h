// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string>

namespace numascape::symbols {

// An open file; -1 when it could not be opened. Closed with the object.
class FileDescriptor {
  public:
    explicit FileDescriptor(int fd = -1) : fd_(fd) {}
    ~FileDescriptor();
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&&) = delete;

    int get() const { return fd_; }
    int release();

  private:
    int fd_;
};

// Opens `path` for reading if it is a regular file; never blocks on a FIFO or a device.
FileDescriptor open_regular_file(const std::string& path);

// Starts reading an ELF file without mapping it: a file cut short while it is read then gives an
// error and not SIGBUS. nullptr when it is no 64-bit ELF file for this machine's architecture.
Elf* open_elf(int fd);

// The addresses that a file's loadable segments cover, as they are in the file.
struct SegmentRange {
    std::uint64_t start;  // of the first, rounded down to its alignment as libdwfl does
    std::uint64_t end;    // one past the last byte in memory, zero-initialised data included
};

// nullopt without loadable segments.
std::optional<SegmentRange> segment_range(Elf* elf);

// The thread-local variables of an executable in the memory of each thread.
struct ThreadSegment {
    std::uint64_t bytes;
    std::uint64_t below_pointer;  // it begins this many bytes below the thread pointer
};

// nullopt without thread-local variables.
std::optional<ThreadSegment> thread_segment(Elf* elf);

}  // namespace numascape::symbols
