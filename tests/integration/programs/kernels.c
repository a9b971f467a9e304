// SPDX-License-Identifier: Apache-2.0
// See kernels.h: the same loops in C, for compilers that count. Volatile: each access stays.
#include "kernels.h"

#define WORD_AT(base, offset) (*(volatile long*)((char*)(base) + (offset)))

void read_strided(const void* base, long count, long stride) {
    for (long i = 0; i < count; i++) (void)WORD_AT(base, i * stride);
}

void write_strided(void* base, long count, long stride) {
    for (long i = 0; i < count; i++) WORD_AT(base, i * stride) = count;
}

void add_strided(void* base, long count, long stride) {
    for (long i = 0; i < count; i++) WORD_AT(base, i * stride) += count;
}

double dot_column(const double* a, const double* b, long n) {
    double sum = 0;
    for (long k = 0; k < n; k++) sum += a[k] * b[k * n];
    return sum;
}

void store(double* to, double value) {
    *to = value;
}
