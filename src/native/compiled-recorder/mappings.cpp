// SPDX-License-Identifier: Apache-2.0
//
// The program's own mappings (mmap and its like are replaced, see hooks.S), and what the kernel
// writes into its memory.
#include <cstdarg>
#include <cstdio>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

ThreadRecorder* recorded(const Inside& inside) {
    return !inside.nested() && recording() ? begin_thread() : nullptr;
}

void path_of_file(int file, char (&path)[1024]) {
    char link[64];
    append_number(append_text(link, "/proc/self/fd/", sizeof link), static_cast<uint64_t>(file));
    const long length = os::call(SYS_readlink, reinterpret_cast<long>(link),
                                 reinterpret_cast<long>(path), sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
}

// Buffers that a system call filled: the kernel touched their pages for this thread.
void touched_by_kernel(const void* start, long bytes) {
    const Inside inside;
    ThreadRecorder* recorder = bytes > 0 ? recorded(inside) : nullptr;
    if (recorder == nullptr) {
        return;
    }
    const auto from = reinterpret_cast<uint64_t>(start);
    for (uint64_t at = page_floor(from); at < from + static_cast<uint64_t>(bytes);
         at += kPageBytes) {
        shard.touch_by_kernel(*recorder, window_page(at), 0);
    }
}

std::atomic<uint64_t> known_break{0};  // what lies below it is in the shard

}  // namespace

void follow_break(ThreadRecorder& recorder, uint64_t address) {
    uint64_t before = known_break.load(std::memory_order_relaxed);
    if (address < before) {
        return;
    }
    const uint64_t end = page_ceiling(static_cast<uint64_t>(os::call(SYS_brk, 0)));
    const bool ours = before == 0 || address < end;
    if (ours && end > before && known_break.compare_exchange_strong(before, end) && before != 0) {
        write_map(shard, recorder, os::ticks(), before, end - before, 0, "[heap]", kMapHeap);
    }
}

}  // namespace numascape

using namespace numascape;

extern "C" __attribute__((visibility("hidden"))) void* numascape_mmap(const ProgramRegisters* from,
                                                                      uint64_t stack_pointer,
                                                                      uint64_t pc) {
    using Function = void* (*)(void*, size_t, int, int, int, off_t);
    static Function real = nullptr;
    const Inside inside;
    ThreadRecorder* recorder = recorded(inside);
    const auto flags = static_cast<int>(from->rcx);
    const auto file = static_cast<int>(from->r8);
    if (recorder != nullptr && (flags & MAP_FIXED) != 0) {
        leave_range(shard, *recorder, from->rdi, from->rsi);
    }
    void* start = next_of(real, "mmap")(reinterpret_cast<void*>(from->rdi), from->rsi,
                                        static_cast<int>(from->rdx), flags, file,
                                        static_cast<off_t>(from->r9));
    if (recorder != nullptr && start != MAP_FAILED) {
        char path[1024] = "";
        if ((flags & MAP_ANONYMOUS) == 0 && file >= 0) {
            path_of_file(file, path);
        }
        const uint64_t stack_id = call_stacks.identify(*recorder, *from, pc, stack_pointer);
        const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
        write_map(shard, *recorder, os::ticks(), reinterpret_cast<uint64_t>(start),
                  page_ceiling(from->rsi), stack_id, path, shared ? kMapShared : 0);
    }
    return start;
}

extern "C" __attribute__((visibility("hidden"))) void* numascape_mremap(
    const ProgramRegisters* from, uint64_t stack_pointer, uint64_t pc) {
    using Function = void* (*)(void*, size_t, size_t, int, ...);
    static Function real = nullptr;
    const Inside inside;
    ThreadRecorder* recorder = recorded(inside);
    if (recorder != nullptr) {
        leave_range(shard, *recorder, from->rdi, from->rsi);
    }
    void* start = next_of(real, "mremap")(reinterpret_cast<void*>(from->rdi), from->rsi, from->rdx,
                                          static_cast<int>(from->rcx), from->r8);
    if (recorder != nullptr && start != MAP_FAILED) {
        const uint64_t stack_id = call_stacks.identify(*recorder, *from, pc, stack_pointer);
        write_map(shard, *recorder, os::ticks(), reinterpret_cast<uint64_t>(start),
                  page_ceiling(from->rdx), stack_id, "", 0);
    }
    return start;
}

NUMASCAPE_EXPORTED int munmap(void* start, size_t bytes) {
    using Function = int (*)(void*, size_t);
    static Function real = nullptr;
    const Inside inside;
    if (ThreadRecorder* recorder = recorded(inside)) {
        leave_range(shard, *recorder, reinterpret_cast<uint64_t>(start), bytes);
    }
    return next_of(real, "munmap")(start, bytes);
}

NUMASCAPE_EXPORTED int madvise(void* start, size_t bytes, int advice) {
    using Function = int (*)(void*, size_t, int);
    static Function real = nullptr;
    const Inside inside;
    ThreadRecorder* recorder = recorded(inside);
    if (recorder != nullptr && (advice == MADV_DONTNEED || advice == MADV_REMOVE)) {
        const auto first = reinterpret_cast<uint64_t>(start);
        leave_pages(shard, *recorder, page_floor(first), page_ceiling(first + bytes), os::ticks());
    }
    return next_of(real, "madvise")(start, bytes, advice);
}

NUMASCAPE_EXPORTED ssize_t read(int file, void* into, size_t bytes) {
    using Function = ssize_t (*)(int, void*, size_t);
    static Function real = nullptr;
    const ssize_t got = next_of(real, "read")(file, into, bytes);
    touched_by_kernel(into, got);
    return got;
}

NUMASCAPE_EXPORTED ssize_t pread(int file, void* into, size_t bytes, off_t at) {
    using Function = ssize_t (*)(int, void*, size_t, off_t);
    static Function real = nullptr;
    const ssize_t got = next_of(real, "pread")(file, into, bytes, at);
    touched_by_kernel(into, got);
    return got;
}

NUMASCAPE_EXPORTED size_t fread(void* into, size_t size, size_t count, FILE* file) {
    using Function = size_t (*)(void*, size_t, size_t, FILE*);
    static Function real = nullptr;
    const size_t got = next_of(real, "fread")(into, size, count, file);
    touched_by_kernel(into, static_cast<long>(got * size));
    return got;
}
