// SPDX-License-Identifier: Apache-2.0
// Libraries are loaded and unloaded, and others are loaded at their addresses.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "rounds.h"

enum { TIMES = 20 };

static long work(void) {
    long right = 0;
    for (int i = 0; i < TIMES; i++) {
        void* mathematics = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        CHECK(mathematics != NULL);
        double (*cosine)(double) = (double (*)(double))dlsym(mathematics, "cos");
        right += cosine(0.0) == 1.0;
        CHECK(dlclose(mathematics) == 0);

        void* resolver = dlopen("libresolv.so.2", RTLD_NOW);
        CHECK(resolver != NULL);
        unsigned (*get)(const unsigned char*) =
            (unsigned (*)(const unsigned char*))dlsym(resolver, "ns_get16");
        right += get((const unsigned char*)"\1\2") == 258;
        CHECK(dlclose(resolver) == 0);
    }
    return right;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
