// SPDX-License-Identifier: Apache-2.0
// A library that contains mimalloc. With EXPORTED, it exports it and has no other symbols.
#include "embedded_pool.h"

#ifdef EXPORTED
#define VISIBILITY "default"
#else
#define VISIBILITY "hidden"
#endif

__attribute__((noinline, visibility(VISIBILITY))) void* mi_malloc(size_t bytes) {
    return take(bytes);
}

__attribute__((noinline, visibility(VISIBILITY))) void* mi_zalloc_aligned(size_t bytes,
                                                                          size_t alignment) {
    __asm__ volatile("" : : "r"(alignment));
    return take(bytes);
}

#ifdef EXPORTED
void* make_exported(size_t bytes) {
    return mi_zalloc_aligned(bytes, 64);
}
#else
void* make(size_t bytes) {
    return mi_zalloc_aligned(bytes, 64);
}
#endif
