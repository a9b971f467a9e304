// SPDX-License-Identifier: Apache-2.0
//
// The only boundary between the code that runs inside the recorded program and the operating
// system. Raw system calls: no C library, no errno, no locks, no vector registers. Every function
// may therefore be called while counting. Most return the value of the kernel: a negative errno on
// failure.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <atomic>
#include <cerrno>

#include "pages.h"
#include "processor.h"
#include "ticks.h"

namespace numascape::os {

inline bool failed(const void* mapping) {
    return reinterpret_cast<intptr_t>(mapping) < 0 && reinterpret_cast<intptr_t>(mapping) > -4096;
}

// The recorder's own mappings are here. Linux puts the mappings of a program elsewhere. This is
// necessary, because a program may unmap memory and map there again later: the recorder must not
// take this place in between. Pages of the program must also stay within one 2^40 window.
inline constexpr uint64_t kOwnMappings = 0x0e00'0000'0000;
// Hidden, because the linker would otherwise make it unique, and a library with a unique symbol is
// never unloaded.
__attribute__((visibility("hidden"))) inline std::atomic<uint64_t> next_own_mapping{kOwnMappings};

// A place for a mapping of this many bytes, where nothing was mapped before.
inline void* own_place(size_t bytes) {
    const uint64_t rounded = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
    return reinterpret_cast<void*>(next_own_mapping.fetch_add(rounded));
}

// Maps at the recorder's own place. Each library that contains this code begins with the same
// place. If another library has used it, the next place to try is far away.
inline void* map_at_own_place(size_t bytes, int flags, int file, uint64_t offset) {
    constexpr int kTries = 64;
    constexpr uint64_t kFar = uint64_t{1} << 32;
    const auto map = [&](void* at, int where) {
        return call(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(bytes),
                    PROT_READ | PROT_WRITE, flags | where, file, static_cast<long>(offset));
    };
    for (int i = 0; i < kTries; ++i) {
        const long mapped = map(own_place(bytes), MAP_FIXED_NOREPLACE);
        if (mapped != -EEXIST) {
            return reinterpret_cast<void*>(mapped);
        }
        next_own_mapping.fetch_add(kFar);
    }
    return reinterpret_cast<void*>(map(nullptr, 0));
}

// Maps a range of a file, shared: at the recorder's own place, or at `place` and nowhere else. With
// `fixed`, the mapping replaces what is there. Post: failed(result), or the range is mapped
// read-write.
inline void* map_file(int file, uint64_t offset, size_t bytes, void* place = nullptr,
                      bool fixed = false) {
    constexpr int kFlags = MAP_SHARED | MAP_NORESERVE;
    if (place == nullptr) {
        return map_at_own_place(bytes, kFlags, file, offset);
    }
    return reinterpret_cast<void*>(call(
        SYS_mmap, reinterpret_cast<long>(place), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
        kFlags | (fixed ? MAP_FIXED : MAP_FIXED_NOREPLACE), file, static_cast<long>(offset)));
}

// The same for a sparse file: without read-ahead, which would fill its holes with zero pages.
inline void* map_sparse_file(int file, uint64_t offset, size_t bytes, void* place = nullptr,
                             bool fixed = false) {
    void* memory = map_file(file, offset, bytes, place, fixed);
    if (!failed(memory)) {
        call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes), MADV_RANDOM);
    }
    return memory;
}

// Private zeroed memory that takes no memory until touched: at the recorder's own place, or at
// `hint` if that is free or `fixed`. It never has huge pages, so that a touched byte costs one
// page.
inline void* map_sparse(size_t bytes, void* hint = nullptr, bool fixed = false) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = hint == nullptr
                       ? map_at_own_place(bytes, kFlags, -1, 0)
                       : reinterpret_cast<void*>(
                             call(SYS_mmap, reinterpret_cast<long>(hint), static_cast<long>(bytes),
                                  PROT_READ | PROT_WRITE, kFlags | (fixed ? MAP_FIXED : 0), -1, 0));
    if (!failed(memory)) {
        call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes),
             MADV_NOHUGEPAGE);
    }
    return memory;
}

inline void unmap(void* memory, size_t bytes) {
    call(SYS_munmap, reinterpret_cast<long>(memory), static_cast<long>(bytes));
}

// Makes any access to the range a fault.
inline void forbid(void* memory, size_t bytes) {
    call(SYS_mprotect, reinterpret_cast<long>(memory), static_cast<long>(bytes), PROT_NONE);
}

// Frees the memory of the range (and, for a shared file mapping, the blocks of the file). It then
// reads as zero.
inline void discard(void* memory, size_t bytes, bool shared) {
    call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes),
         shared ? MADV_REMOVE : MADV_DONTNEED);
}

// Asks for the nodes of `count` pages (move_pages without target nodes). Post: nodes[i] >= 0, or a
// negative errno (-ENOENT: never touched). Returns < 0 when the kernel has no such call.
inline long query_nodes(void* const* pages, uint64_t count, int* nodes) {
    return call(SYS_move_pages, 0, static_cast<long>(count), reinterpret_cast<long>(pages), 0,
                reinterpret_cast<long>(nodes), 0);
}

// Whether the word at `address`, a multiple of 8, can be read. Makes a call with an invalid
// operation: the kernel first reads the set of signals at `address`, and then refuses the
// operation. Much faster than read_memory.
inline bool is_readable(uint64_t address) {
    constexpr long kUnknown = -1;
    return call(SYS_rt_sigprocmask, kUnknown, static_cast<long>(address), 0, 8) != -EFAULT;
}

// Copies from this process's memory, as much as is mapped. Returns the bytes copied.
inline size_t read_memory(uint64_t address, void* into, size_t bytes) {
    iovec to{into, bytes};
    // The kernel copies only whole elements. There is one for each page, so that a mapped part is
    // copied.
    iovec from[16];
    size_t pieces = 0;
    for (size_t done = 0; done < bytes && pieces < 16; ++pieces) {
        const size_t left = kPageBytes - (address + done) % kPageBytes;
        const size_t piece = left < bytes - done ? left : bytes - done;
        from[pieces] = {reinterpret_cast<void*>(address + done), piece};
        done += piece;
    }
    const long got = call(SYS_process_vm_readv, call(SYS_getpid), reinterpret_cast<long>(&to), 1,
                          reinterpret_cast<long>(from), static_cast<long>(pieces), 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
}

// The time of a clock; 0 if there is no such clock.
inline uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    call(SYS_clock_gettime, clock, reinterpret_cast<long>(&now));
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t realtime_ns() {
    return clock_ns(CLOCK_REALTIME);
}

// The clock of the CPU time of a process.
inline clockid_t clock_of_process(uint32_t process) {
    constexpr clockid_t kOfScheduler = 2;  // in nanoseconds
    return static_cast<clockid_t>(~process << 3) | kOfScheduler;
}

inline long truncate(int file, uint64_t bytes) {
    return call(SYS_ftruncate, file, static_cast<long>(bytes));
}

// Whether the process' limit forbids files of this size. Creating one would raise a signal.
inline bool beyond_file_limit(uint64_t bytes) {
    uint64_t limit[2] = {~uint64_t{0}, ~uint64_t{0}};
    call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, reinterpret_cast<long>(limit));
    return bytes > limit[0];
}

// Allocates disk space now, so that a full disk is an error here and not a SIGBUS later.
inline int reserve(int file, uint64_t offset, uint64_t bytes) {
    return static_cast<int>(call(SYS_fallocate, file, FALLOC_FL_KEEP_SIZE,
                                 static_cast<long>(offset), static_cast<long>(bytes)));
}

// A file in memory only; negative on failure.
inline int memory_file() {
    return static_cast<int>(
        call(SYS_memfd_create, reinterpret_cast<long>("numascape"), 1 /* MFD_CLOEXEC */));
}

// Both give a negative errno on failure.
inline int open(const char* path, int flags, int mode = 0600) {
    return static_cast<int>(call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags, mode));
}
inline long read(int file, void* into, size_t bytes) {
    return call(SYS_read, file, reinterpret_cast<long>(into), static_cast<long>(bytes));
}

inline void close(int file) {
    call(SYS_close, file);
}

inline uint32_t thread_id() {
    return static_cast<uint32_t>(call(SYS_gettid));
}
inline uint32_t process_id() {
    return static_cast<uint32_t>(call(SYS_getpid));
}
inline uint32_t parent_process_id() {
    return static_cast<uint32_t>(call(SYS_getppid));
}
inline void yield() {
    call(SYS_sched_yield);
}

// The processor this thread runs on at this moment.
inline uint32_t current_cpu() {
    uint32_t cpu = 0;
    call(SYS_getcpu, reinterpret_cast<long>(&cpu), 0, 0);
    return cpu;
}

}  // namespace numascape::os
