// SPDX-License-Identifier: Apache-2.0
//
// The preload library that carries out a plan in an unmodified program. It takes the place of the
// C library's functions that allocate, map, create threads and bind them; each does what the
// program asked for by way of the function it replaced, and more only where the plan says so.
#pragma once

#include <cstddef>

#include <pthread.h>
#include <threads.h>

#include "blocks.h"
#include "plan.h"

namespace numascape::placer {

// The functions that ours took the place of: those of the next library that has them.
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
};

// Looks them up when called first. Until that is done, malloc and calloc are answered from a few
// pages of our own, because the look-up may allocate.
const RealFunctions& real();

// Whether blocks and mappings are placed: not before the library has begun.
extern bool places_blocks;

// The rule that says where what the caller allocates lies; kNone when none does.
std::uint32_t rule_now(bool is_mapping);

// Sets the policies of memory that is not only of this moment, and follows it for the report.
void place_now(const Placed& placed);
// The same for a new mapping of `mapped_bytes`, none of whose pages is touched. False when the
// process has too many mappings: then nothing was done.
bool place_new(const Placed& placed, std::uint64_t mapped_bytes);
// Such a mapping is going to be unmapped.
void leave(const Block& block);

// Whether the pointer is to memory given out before the real functions were known.
bool is_early(const void* memory);

}  // namespace numascape::placer
