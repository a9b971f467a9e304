// SPDX-License-Identifier: Apache-2.0
//
// reloaded FIRST SECOND: loads a library, calls its function, unloads it, and loads another library
// at the same addresses. Prints what the second one's function returns.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char* argv[]) {
    if (argc != 3) return 2;
    void* first = dlopen(argv[1], RTLD_NOW);
    void* second = NULL;
    int (*allocate)(void**, long, long) = NULL;
    long (*sum)(void) = NULL;
    void* block = NULL;
    if (first != NULL) *(void**)&allocate = dlsym(first, "posix_memalign");
    if (allocate == NULL || allocate(&block, 8, 8) != 0) return 3;
    const uintptr_t there = (uintptr_t)allocate;
    dlclose(first);
    second = dlopen(argv[2], RTLD_NOW);
    if (second != NULL) *(void**)&sum = dlsym(second, "sum");
    if (sum == NULL) return 4;
    printf("%ld, %s\n", sum(),
           there == (uintptr_t)dlsym(second, "inside") ? "in place" : "elsewhere");
    return 0;
}
