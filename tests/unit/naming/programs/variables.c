// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

double A[1000][1000];
static int initialised[3] = {1, 2, 3};
extern int library_counts[64];
__thread int per_thread[100];
int original = 7;
extern int another_name __attribute__((alias("original")));
extern int _original __attribute__((alias("original")));
const char message[] = "constant";

static int* count(void) {
    static int cache[17];
    return cache;
}

static int* count_too(void) {
    static int cache[19];
    return cache;
}

int main(void) {
    printf("A %p %zu\n", (void*)A, sizeof A);
    printf("initialised %p %zu\n", (void*)initialised, sizeof initialised);
    printf("original %p %zu\n", (void*)&original, sizeof original);
    printf("message %p %zu\n", (const void*)message, sizeof message);
    printf("count.cache %p %zu\n", (void*)count(), sizeof(int[17]));
    printf("count_too.cache %p %zu\n", (void*)count_too(), sizeof(int[19]));
    printf("library_counts %p %zu\n", (void*)library_counts, sizeof library_counts);
    per_thread[3] = 1;
    FILE* maps = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(maps)) != EOF;) putchar(c);
    return 0;
}
