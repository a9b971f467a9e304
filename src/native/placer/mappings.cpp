// SPDX-License-Identifier: Apache-2.0
//
// Memory that the program maps itself.
#include <cerrno>

#include <sys/mman.h>

#include "os.h"
#include "placer.h"
#include "report.h"

namespace numascape::placer {
namespace {

void* answer(long result) {
    if (result < 0 && result > -4096) {
        errno = static_cast<int>(-result);
        return MAP_FAILED;
    }
    return reinterpret_cast<void*>(result);
}

void forget(std::uint64_t address) {
    Block block{};
    if (any_blocks() && find_block(address, block) && block.mapped_bytes == 0 &&
        take_block(address, block)) {
        report_block(block);
    }
}

[[gnu::noinline]] void place_mapping(std::uint64_t address, std::size_t bytes) {
    const int error = errno;
    forget(address);
    const std::uint32_t rule = rule_now(true);
    if (rule != kNone) {
        place_now({address, bytes, address, address + page_up(bytes), rule});
    }
    errno = error;
}

}  // namespace
}  // namespace numascape::placer

using namespace numascape::placer;

#pragma GCC visibility push(default)
extern "C" {

void* mmap(void* hint, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    const long result =
        numascape::os::call(SYS_mmap, reinterpret_cast<long>(hint), static_cast<long>(bytes),
                            protection, flags, file, offset);
    void* memory = answer(result);
    // A file's pages belong to the page cache, and lie where that has them.
    if (memory != MAP_FAILED && places_blocks && (flags & MAP_ANONYMOUS) != 0) {
        place_mapping(reinterpret_cast<std::uint64_t>(memory), bytes);
    }
    return memory;
}

void* mmap64(void* hint, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap(hint, bytes, protection, flags, file, offset);
}

int munmap(void* memory, std::size_t bytes) {
    forget(reinterpret_cast<std::uint64_t>(memory));
    const long result =
        numascape::os::call(SYS_munmap, reinterpret_cast<long>(memory), static_cast<long>(bytes));
    return answer(result) == MAP_FAILED ? -1 : 0;
}

}  // extern "C"
#pragma GCC visibility pop
