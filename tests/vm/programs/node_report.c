// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "node_report.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_PAGES = 1 << 16 };

void report_nodes(const char* name, const void* start, size_t bytes) {
    static void* pages[MOST_PAGES];
    static int nodes[MOST_PAGES];
    const uintptr_t first = (uintptr_t)start / PAGE;
    const uintptr_t end = ((uintptr_t)start + bytes + PAGE - 1) / PAGE;
    const size_t count = end - first < MOST_PAGES ? end - first : MOST_PAGES;
    for (size_t i = 0; i < count; i++) pages[i] = (void*)((first + i) * PAGE);
    if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) < 0) {
        perror("move_pages");
        exit(1);
    }
    printf("%s:", name);
    for (size_t i = 0; i < count; i++) printf(" %d", nodes[i]);
    printf("\n");
    fflush(stdout);
}

void report_cpu(const char* name, int number) {
    printf("%s %d: %d\n", name, number, sched_getcpu());
    fflush(stdout);
}
