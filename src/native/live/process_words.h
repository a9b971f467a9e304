// SPDX-License-Identifier: Apache-2.0
//
// Words in the memory of another process: process_vm_readv(2). The process is not stopped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace numascape::live {

// The words of 8 bytes at these addresses; 0 where the process has no memory. Pages that are not in
// memory would be brought there: ask only for those that are. Throws std::system_error (EPERM: this
// user may not read the memory; ESRCH: the process has ended).
std::vector<std::uint64_t> read_words(int pid, std::span<const std::uint64_t> addresses);

}  // namespace numascape::live
