// SPDX-License-Identifier: Apache-2.0
//
// The heap. Allocating or freeing a block smaller than a page costs one comparison more. For larger
// blocks, the call stack decides whether a rule applies. Such a block becomes a mapping of its own,
// at the start of a page. A block of the C library begins at a page only by chance, so `free` looks
// up only such addresses.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <malloc.h>

#include "os.h"
#include "placer.h"
#include "report.h"

namespace numascape::placer {
namespace {

constexpr std::size_t kLargest = PTRDIFF_MAX - 2 * kPageBytes;

bool is_page_start(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory) % kPageBytes == 0;
}

bool is_large(std::size_t bytes) {
    return bytes >= kPageBytes && bytes < kLargest && places_blocks;
}

// The block that begins at `memory` and is ours.
bool find_own(const void* memory, Block& block) {
    return is_page_start(memory) && any_blocks() &&
           find_block(reinterpret_cast<std::uint64_t>(memory), block) && block.mapped_bytes != 0;
}

// `alignment` is a power of 2. nullptr if there is no more memory, or if there are too many
// mappings.
char* map_aligned(std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t more = alignment > kPageBytes ? alignment : 0;
    const long mapped = os::call(SYS_mmap, 0, static_cast<long>(bytes + more),
                                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped < 0 && mapped > -4096) return nullptr;
    auto* start = reinterpret_cast<char*>(mapped);
    if (more == 0) return start;
    const auto address = reinterpret_cast<std::uint64_t>(start);
    const std::uint64_t before = (alignment - address % alignment) % alignment;
    if (before > 0) os::unmap(start, before);
    if (more > before) os::unmap(start + before + bytes, more - before);
    return start + before;
}

}  // namespace
}  // namespace numascape::placer

using namespace numascape::placer;

#pragma GCC visibility push(default)
extern "C" {

// These two functions allocate and free placed blocks. The binary recorder finds them by name.
[[gnu::noinline]] void* numascape_placer_allocate(std::size_t bytes, std::size_t alignment,
                                                  std::uint32_t rule) {
    const std::uint64_t mapped = page_up(bytes);
    char* memory = map_aligned(mapped, alignment);
    if (memory == nullptr) return nullptr;
    const auto address = reinterpret_cast<std::uint64_t>(memory);
    if (!place_new({address, bytes, address, address + mapped, rule}, mapped)) {
        numascape::os::unmap(memory, mapped);
        return nullptr;
    }
    return memory;
}

[[gnu::noinline]] void numascape_placer_free(void* memory) {
    Block block{};
    if (take_block(reinterpret_cast<std::uint64_t>(memory), block)) {
        report_block(block);
        leave(block);
        numascape::os::unmap(memory, block.mapped_bytes);
    }
}

}  // extern "C"
#pragma GCC visibility pop

namespace numascape::placer {
namespace {

// nullptr: the real function must allocate.
[[gnu::noinline]] void* allocate_placed(std::size_t bytes, std::size_t alignment) {
    const int error = errno;
    const std::uint32_t rule = rule_now(false);
    void* memory = rule == kNone ? nullptr : numascape_placer_allocate(bytes, alignment, rule);
    errno = error;
    return memory;
}

[[gnu::noinline]] bool free_at_page_start(void* memory) {
    Block block{};
    if (memory == nullptr || is_early(memory)) return true;
    if (!find_own(memory, block)) return false;
    numascape_placer_free(memory);
    return true;
}

// `usable` bytes of the former block are the program's.
void* move_to(void* memory, const void* former, std::size_t usable, std::size_t bytes) {
    if (memory != nullptr) std::memcpy(memory, former, usable < bytes ? usable : bytes);
    return memory;
}

[[gnu::noinline]] void* reallocate_own(void* former, const Block& block, std::size_t bytes) {
    if (bytes == 0) {
        numascape_placer_free(former);
        return nullptr;
    }
    const std::uint32_t rule = is_large(bytes) ? rule_now(false) : kNone;
    if (rule == block.placed.rule && page_up(bytes) == block.mapped_bytes) return former;
    void* memory = rule == kNone ? nullptr : numascape_placer_allocate(bytes, 1, rule);
    if (memory == nullptr) memory = real().malloc(bytes);
    if (move_to(memory, former, block.mapped_bytes, bytes) != nullptr) {
        numascape_placer_free(former);
    }
    return memory;
}

void* reallocate_early(const void* former, std::size_t bytes) {
    // Its size is unknown, but the memory after it is readable up to the end of the page.
    const auto left = static_cast<std::size_t>(kPageBytes);
    return move_to(real().malloc(bytes), former, left, bytes);
}

}  // namespace
}  // namespace numascape::placer

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t bytes) {
    if (is_large(bytes)) [[unlikely]] {
        if (void* memory = allocate_placed(bytes, 1)) return memory;
    }
    return real().malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
    std::size_t total = 0;
    if (!__builtin_mul_overflow(count, bytes, &total) && is_large(total)) [[unlikely]] {
        if (void* memory = allocate_placed(total, 1)) return memory;  // new pages are zero
    }
    return real().calloc(count, bytes);
}

void free(void* memory) {
    if (is_page_start(memory) && free_at_page_start(memory)) [[unlikely]] {
        return;
    }
    real().free(memory);
}

void cfree(void* memory) {
    free(memory);
}

void* realloc(void* former, std::size_t bytes) {
    Block block{};
    if (former != nullptr && is_page_start(former)) {
        if (is_early(former)) return reallocate_early(former, bytes);
        if (find_own(former, block)) return reallocate_own(former, block, bytes);
    }
    if (is_large(bytes)) [[unlikely]] {
        void* memory = allocate_placed(bytes, 1);
        if (memory != nullptr && former != nullptr) {
            move_to(memory, former, real().malloc_usable_size(former), bytes);
            real().free(former);
        }
        if (memory != nullptr) return memory;
    }
    return real().realloc(former, bytes);
}

void* reallocarray(void* former, std::size_t count, std::size_t bytes) {
    std::size_t total = 0;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(former, total);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (is_large(bytes) && is_power && alignment < kLargest - bytes) [[unlikely]] {
        if (void* memory = allocate_placed(bytes, alignment)) return memory;
    }
    return real().aligned_alloc(alignment, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
    const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (is_large(bytes) && is_power && alignment < kLargest - bytes) [[unlikely]] {
        if (void* memory = allocate_placed(bytes, alignment)) return memory;
    }
    return real().memalign(alignment, bytes);
}

void* valloc(std::size_t bytes) {
    return memalign(numascape::kPageBytes, bytes);
}

void* pvalloc(std::size_t bytes) {
    return memalign(numascape::kPageBytes, bytes < kLargest ? page_up(bytes) : bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    const bool is_valid =
        alignment % sizeof(void*) == 0 && alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (is_large(bytes) && is_valid && alignment < kLargest - bytes) [[unlikely]] {
        if (void* placed = allocate_placed(bytes, alignment)) {
            *memory = placed;
            return 0;
        }
    }
    return real().posix_memalign(memory, alignment, bytes);
}

std::size_t malloc_usable_size(void* memory) {
    Block block{};
    if (memory != nullptr && find_own(memory, block)) return block.mapped_bytes;
    return real().malloc_usable_size(memory);
}

}  // extern "C"
#pragma GCC visibility pop
