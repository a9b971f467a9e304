// SPDX-License-Identifier: Apache-2.0
// Loads libunloaded_a.so, calls it and unloads it; then the same with libunloaded_b.so, which gets
// the same addresses, ROUNDS times. A mark begins each round. Prints "right" if all functions gave
// the right results; returns 3 if the addresses differ.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "numascape/phase.h"

enum { ROUNDS = 3 };

static void* address;

static int call(const char* folder, const char* name, long expected) {
    char path[4200];
    snprintf(path, sizeof path, "%s/libunloaded_%s.so", folder, name);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 1;
    long (*fill)(void) = (long (*)(void))dlsym(library, "fill");
    if (address == NULL) address = (void*)fill;
    const int moved = address != (void*)fill;
    const int wrong = fill() != expected;
    dlclose(library);
    return moved ? 3 : wrong;
}

int main(int argc, char** argv) {
    static char folder[4096];
    snprintf(folder, sizeof folder, "%s", argv[0]);
    *strrchr(folder, '/') = '\0';
    (void)argc;
    for (int i = 0; i < ROUNDS; i++) {
        numascape_phase("a");
        int status = call(folder, "a", 1000);
        numascape_phase("b");
        if (status == 0) status = call(folder, "b", 2000);
        if (status != 0) return status;
    }
    puts("right");
    return 7;
}
