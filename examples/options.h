// SPDX-License-Identifier: Apache-2.0
// Reads the examples' command lines: `-n SIZE -t THREADS VERSION`.
#ifndef NUMASCAPE_EXAMPLES_OPTIONS_H
#define NUMASCAPE_EXAMPLES_OPTIONS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

// The whole number `text` if it lies in [least, most]; otherwise ends the program with status 2.
static long whole_number(const char* option, const char* text, long least, long most) {
    char* end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "%s takes a whole number from %ld to %ld, not '%s'\n", option, least, most,
                text);
        exit(2);
    }
    return value;
}

__attribute__((noreturn)) static void out_of_memory(size_t bytes) {
    fprintf(stderr, "no memory for %zu bytes; choose a smaller size\n", bytes);
    exit(2);
}

#endif
