// SPDX-License-Identifier: Apache-2.0
// Accesses whose fetches from memory are known for a given cache. Every array is used by one part
// of main only, and begins on a page. Lines have 64 bytes.
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numascape/phase.h"

enum { LINE = 64, SMALL = 256, LARGE = 4096, PAGES = 16, HELD = 250 };

#define ARRAY(name, lines) static unsigned char name[(lines) * LINE] __attribute__((aligned(4096)))

ARRAY(cold, LARGE);
ARRAY(warm, SMALL);
ARRAY(large, LARGE);
ARRAY(written, LARGE);
ARRAY(modified, LARGE);
ARRAY(steps, PAGES * 64);
ARRAY(words, LARGE);
ARRAY(vectors, LARGE);
ARRAY(fields, LARGE);
ARRAY(from, LARGE);
ARRAY(to, LARGE);
ARRAY(gathered, LARGE);
ARRAY(masked, LARGE);
ARRAY(forked, LARGE);
ARRAY(shared, SMALL);
ARRAY(again, SMALL);
ARRAY(held, HELD);
ARRAY(chain, 2 * LARGE);

static int to_main[2];
static int to_thread[2];

static void read_lines(const volatile unsigned char* array, int lines) {
    for (int i = 0; i < lines; ++i) (void)array[i * LINE];
}

static void write_lines(volatile unsigned char* array, int lines) {
    for (int i = 0; i < lines; ++i) array[i * LINE] = 1;
}

static void add_to_lines(volatile unsigned char* array, int lines) {
    for (int i = 0; i < lines; ++i) array[i * LINE] += 1;
}

static void read_pages(void) {
    for (int page = 0; page < PAGES; ++page) read_lines(steps + page * 4096, 4 * page);
}

// Each iteration reads from two lines.
static void cross_lines(void) {
    for (int i = 0; i < LARGE / 2; ++i) {
        const long at = (2 * i + 1) * LINE;
        __asm__ volatile("mov -4(%0), %%rax" : : "r"(words + at) : "rax");
        __asm__ volatile("movdqu -8(%0), %%xmm0" : : "r"(vectors + at) : "xmm0");
        __asm__ volatile("mov -32(%0), %%rax\n\tmov 8(%0), %%rax" : : "r"(fields + at) : "rax");
    }
}

static void copy(void) {
    void* source = from;
    void* target = to;
    size_t bytes = sizeof from;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(bytes) : : "memory");
}

// Lanes 0, 2, 4 and 6 of a gather on every second line, and a masked load of the words 7 and 8 of
// which only the first is selected.
__attribute__((target("avx2"))) static void select_lanes(void) {
    const __m256i lanes = _mm256_setr_epi32(-1, 0, -1, 0, -1, 0, -1, 0);
    const __m256i index =
        _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(LINE / 4));
    for (int i = 0; i < LARGE; i += 8) {
        const int* at = (const int*)(gathered + i * LINE);
        __asm__ volatile(
            "vmovdqa %1, %%ymm1\n\tvpxor %%xmm0, %%xmm0, %%xmm0\n\t"
            "vpgatherdd %%ymm1, (%0,%2,4), %%ymm0"
            :
            : "r"(at), "x"(lanes), "x"(index)
            : "xmm0", "xmm1", "memory");
    }
    const __m128i first = _mm_setr_epi32(-1, 0, 0, 0);
    for (int i = 0; i < LARGE; i += 2)
        __asm__ volatile("vpmaskmovd 60(%0), %1, %%xmm0"
                         :
                         : "r"(masked + i * LINE), "x"(first)
                         : "xmm0", "memory");
}

static void* read_shared(void* unused) {
    read_lines(shared, SMALL);
    return unused;
}

static void run_threads(void) {
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, read_shared, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
}

// Has read its lines, and waits while the phase changes.
static void* read_held(void* unused) {
    char byte = 0;
    read_lines(held, HELD);
    if (write(to_main[1], &byte, 1) != 1 || read(to_thread[0], &byte, 1) != 1) _exit(1);
    return unused;
}

static void read_in_two_phases(void) {
    pthread_t thread;
    char byte = 0;
    if (pipe(to_main) != 0 || pipe(to_thread) != 0) _exit(1);
    numascape_phase("first");
    read_lines(again, SMALL);
    pthread_create(&thread, NULL, read_held, NULL);
    if (read(to_main[0], &byte, 1) != 1) _exit(1);
    numascape_phase("second");
    read_lines(again, SMALL);
    if (write(to_thread[1], &byte, 1) != 1) _exit(1);
    pthread_join(thread, NULL);
    numascape_phase(NULL);
}

// Every line once, in an order without pattern: a full period of a congruential generator.
static void chase(int rounds) {
    unsigned at = 0;
    for (int i = 0; i < rounds * 2 * LARGE; ++i) {
        (void)*(const volatile unsigned char*)(chain + at * LINE);
        at = (at * 1741 + 2731) % (2 * LARGE);
    }
}

int main(void) {
    read_lines(cold, LARGE);
    for (int pass = 0; pass < 3; ++pass) read_lines(warm, SMALL);
    for (int pass = 0; pass < 3; ++pass) read_lines(large, LARGE);
    for (int pass = 0; pass < 2; ++pass) write_lines(written, LARGE);
    add_to_lines(modified, LARGE);
    read_pages();
    cross_lines();
    copy();
    const int avx2 = __builtin_cpu_supports("avx2");
    if (avx2) select_lanes();
    if (fork() == 0) {
        for (int pass = 0; pass < 2; ++pass) read_lines(forked, LARGE);
        _exit(0);
    }
    wait(NULL);
    run_threads();
    read_in_two_phases();
    chase(2);
    puts(avx2 ? "avx2" : "no avx2");
    return 0;
}
