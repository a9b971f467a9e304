// SPDX-License-Identifier: Apache-2.0
// Runs every case of instruction_cases.h on pages of its own and prints, as JSON, the counts that
// each must have. Only the cases' assembly touches `source` and `target`. With a case's name as
// argument it runs only this case, to find the case that breaks a recorder.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "repeat.h"

enum { PAGE = 4096, PAGES_PER_CASE = 3 };  // two that a case may touch, and one that nobody touches

enum feature { BASE, AVX2, AVX512 };

struct page_count {
    long reads, writes;
};

#define CASE(name, feature, s0, s1, t0, t1) extern void case_##name(char* source, char* target);
#include "instruction_cases.h"
#undef CASE

static const struct instruction_case {
    const char* name;
    enum feature feature;
    void (*run)(char* source, char* target);
    struct page_count source[2], target[2];
} cases[] = {
#define P(reads, writes) {reads, writes}
#define CASE(name, feature, s0, s1, t0, t1) {#name, feature, case_##name, {s0, s1}, {t0, t1}},
#include "instruction_cases.h"
};

enum { CASES = sizeof cases / sizeof *cases };

char source[(size_t)CASES * PAGES_PER_CASE * PAGE] __attribute__((aligned(4096)));
char target[(size_t)CASES * PAGES_PER_CASE * PAGE] __attribute__((aligned(4096)));

static bool supported(enum feature feature) {
    switch (feature) {
        case BASE:
            return true;
        case AVX2:
            return __builtin_cpu_supports("avx2");
        case AVX512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    }
    return false;
}

static void print_pages(const char* array, const struct page_count pages[2]) {
    printf("\"%s\": [[%ld, %ld], [%ld, %ld], [0, 0]]", array, REPEAT * pages[0].reads,
           REPEAT * pages[0].writes, REPEAT * pages[1].reads, REPEAT * pages[1].writes);
}

int main(int argc, char** argv) {
    const char* separator = "";
    printf("{");
    for (int i = 0; i < CASES; i++) {
        const struct instruction_case* c = &cases[i];
        size_t offset = (size_t)i * PAGES_PER_CASE * PAGE;
        if (argc > 1 && strcmp(argv[1], c->name) != 0) continue;
        if (supported(c->feature)) c->run(source + offset, target + offset);
        printf("%s\n\"%s\": {\"first_page\": %d, \"supported\": %s, ", separator, c->name,
               i * PAGES_PER_CASE, supported(c->feature) ? "true" : "false");
        print_pages("source", c->source);
        printf(", ");
        print_pages("target", c->target);
        printf("}");
        separator = ",";
    }
    printf("\n}\n");
    return 0;
}
