// SPDX-License-Identifier: Apache-2.0
#include "components.h"

#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void write_components(const char* path) {
    uint32_t enabled, a, b, c, d;
    FILE* file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    __asm__("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
    for (uint32_t i = 2; i < 32; i++) {
        if ((enabled >> i & 1) != 0) {
            __cpuid_count(0xd, i, a, b, c, d);
            fprintf(file, "%u %u %u %u\n", i, b, a, c >> 1 & 1);
        }
    }
    fclose(file);
}
