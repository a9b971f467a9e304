// SPDX-License-Identifier: Apache-2.0
//
// The whole boundary between the code that runs inside somebody else's program and the operating
// system. Raw system calls: no libc state, no errno, no locks, no vector registers, so that every
// function may be called from the counting path. All return the kernel's value: negative errno on
// failure.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

namespace numascape::os {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
    long result = 0;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

inline bool failed(const void* mapping) {
    return reinterpret_cast<intptr_t>(mapping) < 0 && reinterpret_cast<intptr_t>(mapping) > -4096;
}

// Shared mapping of a file's range; `hint` may be null. With `fixed` the hint replaces what is
// there. Post: failed(result) or the range is mapped read-write.
inline void* map_file(int file, uint64_t offset, size_t bytes, void* hint = nullptr,
                      bool fixed = false) {
    return reinterpret_cast<void*>(call(
        SYS_mmap, reinterpret_cast<long>(hint), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_NORESERVE |
            (fixed ? MAP_FIXED : (hint != nullptr ? MAP_FIXED_NOREPLACE : 0)),
        file, static_cast<long>(offset)));
}

// The same for a sparse file that is touched here and there: without reading ahead, which would
// fill its holes with pages of zeros.
inline void* map_sparse_file(int file, uint64_t offset, size_t bytes, void* hint = nullptr,
                             bool fixed = false) {
    void* memory = map_file(file, offset, bytes, hint, fixed);
    if (!failed(memory)) {
        call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes), MADV_RANDOM);
    }
    return memory;
}

// Private zeroed memory that costs nothing until touched; never backed by huge pages, so that a
// touched byte costs one page.
inline void* map_sparse(size_t bytes, void* hint = nullptr, bool fixed = false) {
    void* memory = reinterpret_cast<void*>(call(
        SYS_mmap, reinterpret_cast<long>(hint), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (fixed ? MAP_FIXED : 0), -1, 0));
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

// Gives the range's memory (and, for a shared file mapping, the file's blocks) back; reads as zero.
inline void discard(void* memory, size_t bytes, bool shared) {
    call(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes),
         shared ? MADV_REMOVE : MADV_DONTNEED);
}

// Nodes of `count` pages (move_pages with no target: a query). Post: nodes[i] >= 0, or a negative
// errno (-ENOENT: never touched). Returns < 0 when the kernel has no such call.
inline long query_nodes(void* const* pages, uint64_t count, int* nodes) {
    return call(SYS_move_pages, 0, static_cast<long>(count), reinterpret_cast<long>(pages), 0,
                reinterpret_cast<long>(nodes), 0);
}

// Copies from this process's memory, as much as is mapped. Returns the bytes copied.
inline size_t read_memory(uint64_t address, void* into, size_t bytes) {
    iovec to{into, bytes};
    // The kernel copies whole elements: one for each page, so that a mapped part arrives.
    constexpr size_t kPage = 4096;
    iovec from[16];
    size_t pieces = 0;
    for (size_t done = 0; done < bytes && pieces < 16; ++pieces) {
        const size_t left = kPage - (address + done) % kPage;
        const size_t piece = left < bytes - done ? left : bytes - done;
        from[pieces] = {reinterpret_cast<void*>(address + done), piece};
        done += piece;
    }
    const long got = call(SYS_process_vm_readv, call(SYS_getpid), reinterpret_cast<long>(&to), 1,
                          reinterpret_cast<long>(from), static_cast<long>(pieces), 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
}

inline uint64_t realtime_ns() {
    timespec now{};
    call(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&now));
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline int truncate(int file, uint64_t bytes) {
    return static_cast<int>(call(SYS_ftruncate, file, static_cast<long>(bytes)));
}

// Takes disk space now, so that a full disk is an error here and not a SIGBUS later.
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

// Time-stamp counter; synchronised over the processors of every machine with constant_tsc.
inline uint64_t ticks() {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return uint64_t{high} << 32 | low;
}

// The processor this thread runs on at this moment.
inline uint32_t current_cpu() {
    uint32_t cpu = 0;
    call(SYS_getcpu, reinterpret_cast<long>(&cpu), 0, 0);
    return cpu;
}

}  // namespace numascape::os
