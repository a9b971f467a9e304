// SPDX-License-Identifier: Apache-2.0
//
// Code whose lines access known structures a known number of times; `line: NAME` marks them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, WORDS = 8192, ROUNDS = 4000 };

typedef double Pair __attribute__((vector_size(16)));

static void* pages(size_t bytes) {
    return aligned_alloc(4096, bytes);
}

__attribute__((noinline)) static void multiply(const double* a, const double* b, double* c) {
    for (int i = 0; i < N; ++i) {
        for (int k = 0; k < N; ++k) {
            for (int j = 0; j < N; ++j) {
                const double left = a[i * N + k];   // line: left
                const double right = b[k * N + j];  // line: right
                __asm__ volatile("" ::"x"(left), "x"(right));
                c[i * N + j] += left * right;  // line: product
                __asm__ volatile("" ::: "memory");
            }
        }
    }
}

__attribute__((noinline)) static void fill(uint64_t* to, uint64_t value) {
    for (int i = 0; i < WORDS; ++i) {
        to[i] = value;  // line: fill
        __asm__ volatile("" ::: "memory");
    }
}

// Reads all of `from`, writes every fourth word of `to`.
__attribute__((noinline)) static void gather(const uint64_t* from, uint64_t* to) {
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; ++i) {
        sum += from[i];  // line: gather
        __asm__ volatile("" : "+r"(sum)::"memory");
        if (i % 4 == 0) {
            to[i] = sum;  // line: keep
        }
    }
}

// Called for two structures in turn.
__attribute__((noinline)) static void bump(uint64_t* words) {
    for (int i = 0; i < 64; ++i) {
        words[i * 128] += 1;  // line: bump
        __asm__ volatile("" ::: "memory");
    }
}

__attribute__((noinline)) static void copy(const void* from, void* to, size_t words) {
    __asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(words)::"memory");  // line: copy
}

__attribute__((noinline)) static void scale(Pair* pairs, Pair by) {
    for (int i = 0; i < WORDS / 2; ++i) {
        pairs[i] *= by;  // line: scale
        __asm__ volatile("" ::: "memory");
    }
}

int main(void) {
    double* a = pages(N * N * sizeof *a);
    double* b = pages(N * N * sizeof *b);
    double* c = pages(N * N * sizeof *c);
    for (int i = 0; i < N * N; ++i) {
        a[i] = b[i] = c[i] = 1;  // line: start
        __asm__ volatile("" ::: "memory");
    }
    multiply(a, b, c);

    uint64_t* often = pages(WORDS * sizeof *often);
    uint64_t* seldom = pages(WORDS * sizeof *seldom);
    fill(often, 1);
    fill(seldom, 2);
    gather(often, seldom);
    for (int round = 0; round < ROUNDS; ++round) {
        bump(round % 4 == 3 ? seldom : often);
    }

    uint64_t* original = pages(WORDS * sizeof *original);
    uint64_t* duplicate = pages(WORDS * sizeof *duplicate);
    fill(original, 3);
    for (int round = 0; round < 3; ++round) {
        copy(original, duplicate, WORDS - 1);
    }

    Pair* vectors = pages(WORDS / 2 * sizeof *vectors);
    for (int i = 0; i < WORDS / 2; ++i) {
        vectors[i] = (Pair){1, 2};
    }
    scale(vectors, (Pair){2, 3});

    printf("%g %llu %g\n", c[0], (unsigned long long)(often[0] + seldom[0] + duplicate[5]),
           vectors[1][1]);
    return 0;
}
