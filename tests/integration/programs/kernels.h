// SPDX-License-Identifier: Apache-2.0
// Loops with fixed machine code (kernels.S), so that their accesses are known in closed form. Each
// touches memory only through its arguments: no stack operand, no global.
#ifndef NUMASCAPE_TEST_KERNELS_H
#define NUMASCAPE_TEST_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PAGE = 4096 };

// `count` 8-byte loads (stores, additions in memory) at base, base + stride, ...; stride in bytes,
// negative to run backwards. An addition in memory is one read and one write.
void read_strided(const void* base, long count, long stride);
void write_strided(void* base, long count, long stride);
void add_strided(void* base, long count, long stride);

// Sum of a[k] * b[k * n] for k < n: n loads from a and n from b.
double dot_column(const double* a, const double* b, long n);

// *to = value: one store.
void store(double* to, double value);

#ifdef __cplusplus
}
#endif

#endif
