// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <cstring>

#include "next_function.h"
#include "os.h"
#include "placer.h"

namespace numascape::placer {
namespace {

// Each allocation gets separate pages here, because free() checks further only at the start of a
// page.
constexpr std::size_t kEarlyBytes = 64 * kPageBytes;
alignas(kPageBytes) char early[kEarlyBytes];
std::atomic<std::size_t> early_used{0};

void* allocate_early(std::size_t bytes) {
    const std::size_t at = early_used.fetch_add(page_up(bytes + 1));
    if (bytes > kEarlyBytes || at > kEarlyBytes - page_up(bytes + 1)) return nullptr;
    return early + at;
}

void* calloc_early(std::size_t count, std::size_t bytes) {
    return allocate_early(count * bytes);
}

void free_early(void*) {}

RealFunctions functions;
// 0: not looked up yet, 1: being looked up, 2: known.
std::atomic<int> state{0};
constinit const RealFunctions early_functions = {
    allocate_early, calloc_early, nullptr, free_early, nullptr, nullptr, nullptr,
    nullptr,        nullptr,      nullptr, nullptr,    nullptr, nullptr, nullptr};

void look_all_up() {
    find_next(functions.malloc, "malloc");
    find_next(functions.calloc, "calloc");
    find_next(functions.realloc, "realloc");
    find_next(functions.free, "free");
    find_next(functions.aligned_alloc, "aligned_alloc");
    find_next(functions.memalign, "memalign");
    find_next(functions.posix_memalign, "posix_memalign");
    find_next(functions.malloc_usable_size, "malloc_usable_size");
    find_next(functions.pthread_create, "pthread_create");
    find_next(functions.thrd_create, "thrd_create");
    find_next(functions.pthread_setname_np, "pthread_setname_np");
    find_next(functions.pthread_getaffinity_np, "pthread_getaffinity_np");
    find_next(functions.pthread_setaffinity_np, "pthread_setaffinity_np");
    find_next(functions.find_object, "_dl_find_object");
}

}  // namespace

const RealFunctions& real() {
    if (state.load(std::memory_order_acquire) == 2) [[likely]] {
        return functions;
    }
    // Called before there are threads: while the linker starts, or in a library's constructor.
    int unknown = 0;
    if (!state.compare_exchange_strong(unknown, 1)) {
        return unknown == 2 ? functions : early_functions;
    }
    look_all_up();
    state.store(2, std::memory_order_release);
    return functions;
}

FindObject find_object_of_c_library() {
    return real().find_object;
}

bool is_early(const void* memory) {
    const auto* at = static_cast<const char*>(memory);
    return at >= early && at < early + kEarlyBytes;
}

}  // namespace numascape::placer
