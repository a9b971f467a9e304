// SPDX-License-Identifier: Apache-2.0
//
// The functions that compilers call for large copies, without vector registers: the counting code
// must not use those of the C library.
#include <cstddef>

#include "processor.h"

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

HIDDEN void* memcpy(void* to, const void* from, size_t bytes) {
    numascape::os::copy_bytes(to, from, bytes);
    return to;
}

HIDDEN void* memset(void* to, int value, size_t bytes) {
    numascape::os::fill_bytes(to, value, bytes);
    return to;
}

}  // extern "C"
