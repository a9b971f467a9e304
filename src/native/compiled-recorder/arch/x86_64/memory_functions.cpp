// SPDX-License-Identifier: Apache-2.0
//
// The functions that compilers call for large copies, without vector registers: the counting code
// must not use those of the C library.
#include <cstddef>

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

HIDDEN void* memcpy(void* to, const void* from, size_t bytes) {
    void* at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
    return to;
}

HIDDEN void* memset(void* to, int value, size_t bytes) {
    void* at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
    return to;
}

}  // extern "C"
