// SPDX-License-Identifier: Apache-2.0
//
// Included by thread_storage.h alone.
#pragma once

#include <cstdint>

namespace numascape::symbols {

// A segment PT_TLS of an executable.
struct ThreadStorage {
    std::uint64_t address;  // in the file
    std::uint64_t bytes;
    std::uint64_t alignment;
};

// How far the variables begin below the thread pointer. The System V ABI for AMD64 puts them
// directly below it, with the alignment that they have in the file.
inline std::uint64_t below_thread_pointer(const ThreadStorage& storage) {
    const std::uint64_t alignment = storage.alignment == 0 ? 1 : storage.alignment;
    const std::uint64_t padding = -(storage.address + storage.bytes) & (alignment - 1);
    return storage.bytes + padding;
}

}  // namespace numascape::symbols
