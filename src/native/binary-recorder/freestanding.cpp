// SPDX-License-Identifier: Apache-2.0
//
// Functions that the compiler expects in every environment, and the few text functions that the
// recorder uses: it has no C library.
#include <cstddef>
#include <cstdint>

#include "processor.h"

extern "C" {

void* memcpy(void* to, const void* from, size_t bytes) {
    numascape::os::copy_bytes(to, from, bytes);
    return to;
}

void* memmove(void* to, const void* from, size_t bytes) {
    if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) >= bytes) {
        return memcpy(to, from, bytes);
    }
    auto* target = static_cast<unsigned char*>(to);
    const auto* source = static_cast<const unsigned char*>(from);
    while (bytes > 0) {
        bytes -= 1;
        target[bytes] = source[bytes];
    }
    return to;
}

void* memset(void* to, int value, size_t bytes) {
    numascape::os::fill_bytes(to, value, bytes);
    return to;
}

int memcmp(const void* one, const void* other, size_t bytes) {
    const auto* a = static_cast<const unsigned char*>(one);
    const auto* b = static_cast<const unsigned char*>(other);
    for (size_t i = 0; i < bytes; ++i) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

void* memchr(const void* in, int value, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(in);
    for (size_t i = 0; i < bytes; ++i) {
        if (at[i] == static_cast<unsigned char>(value)) {
            return const_cast<unsigned char*>(at + i);
        }
    }
    return nullptr;
}

size_t strlen(const char* text) {
    size_t length = 0;
    while (text[length] != '\0') {
        ++length;
    }
    return length;
}

int strcmp(const char* one, const char* other) {
    while (*one != '\0' && *one == *other) {
        ++one;
        ++other;
    }
    const auto a = static_cast<unsigned char>(*one);
    const auto b = static_cast<unsigned char>(*other);
    return a < b ? -1 : a > b;
}

}  // extern "C"
