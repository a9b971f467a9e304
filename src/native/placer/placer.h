// SPDX-License-Identifier: Apache-2.0
//
// The preload library that applies a plan to an unmodified program. It replaces the functions of
// the C library that allocate, map, create threads and bind them. Each of them calls the function
// that it replaces, and does more only if the plan says so.
#pragma once

#include <cstddef>

#include <pthread.h>
#include <threads.h>

#include "blocks.h"
#include "find_object.h"
#include "plan.h"

namespace numascape::placer {

// The replaced functions: those of the next library that defines them.
struct RealFunctions {
    void* (*malloc)(std::size_t);
    void* (*calloc)(std::size_t, std::size_t);
    void* (*realloc)(void*, std::size_t);
    void (*free)(void*);
    void* (*aligned_alloc)(std::size_t, std::size_t);
    void* (*memalign)(std::size_t, std::size_t);
    int (*posix_memalign)(void**, std::size_t, std::size_t);
    std::size_t (*malloc_usable_size)(void*);
    int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    int (*thrd_create)(thrd_t*, thrd_start_t, void*);
    int (*pthread_setname_np)(pthread_t, const char*);
    int (*pthread_getaffinity_np)(pthread_t, std::size_t, cpu_set_t*);
    int (*pthread_setaffinity_np)(pthread_t, std::size_t, const cpu_set_t*);
    FindObject find_object;  // null before glibc 2.35
};

// Looks them up at the first call. Until this is done, malloc and calloc use a few pages of our
// own, because the look-up may allocate.
const RealFunctions& real();

// Whether blocks and mappings are placed: not before the library has begun.
extern bool places_blocks;

// Set when the process has forbidden system calls to itself: no more calls are made.
extern bool is_silent;
// Makes such a call, after writing the report; returns the kernel's value.
long call_that_forbids_calls(long number, const long (&arguments)[6]);

// The rule for the memory that the caller allocates; kNone if there is none.
std::uint32_t rule_now(bool is_mapping);

// Sets the policies of memory that the program keeps: a variable, a mapping or a stack. Follows it
// for the report.
void place_now(const Placed& placed);
// The same for a new mapping of `mapped_bytes` whose pages are all untouched. False if the process
// has too many mappings; nothing was done then.
bool place_new(const Placed& placed, std::uint64_t mapped_bytes);
// Must be called before such a mapping is unmapped.
void leave(const Block& block);

// Whether the pointer is to memory that was allocated before the real functions were known.
bool is_early(const void* memory);

}  // namespace numascape::placer
