// SPDX-License-Identifier: Apache-2.0
// Every program here does work that has the same result each time.
//   PROGRAM         does it once
//   PROGRAM repeat  does it until there is input, and writes "round" each time: for recorders that
//                   come and go
// Either way it prints the result, and ends with 7.
#ifndef ROUNDS_H
#define ROUNDS_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RIGHT = 7, PAGE = 4096 };

#define CHECK(condition)                                         \
    do {                                                         \
        if (!(condition)) wrong(__FILE__, __LINE__, #condition); \
    } while (0)

static inline void wrong(const char* file, int line, const char* condition) {
    dprintf(1, "%s:%d: not so: %s (errno: %s)\n", file, line, condition, strerror(errno));
    _exit(1);
}

static inline int input_has_come(void) {
    struct pollfd input = {0, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

static inline int rounds(int count, long (*work)(void)) {
    const long result = work();
    if (count > 1) do {
            CHECK(write(1, "round\n", 6) == 6);
            CHECK(work() == result);
        } while (!input_has_come());
    dprintf(1, "%ld\n", result);
    return RIGHT;
}

#endif
