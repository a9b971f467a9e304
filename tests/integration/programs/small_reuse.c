// SPDX-License-Identifier: Apache-2.0
// Blocks from the allocator's arena, where free() hands the same addresses to the next caller
// again and again: `writer` blocks are only written, `reader` blocks only read, ROUNDS times each.
// Prints as JSON how often a reader got the address that a writer just gave back.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { BLOCK = 16 * PAGE, ROUNDS = 50 };

static void* volatile writer, * volatile reader;

int main(void) {
    void* guard;
    int reuses = 0;
    for (int round = 0; round < ROUNDS; round++) {
        writer = malloc(BLOCK);
        if (round == 0)
            guard = malloc(64);  // separates the hole from the arena's top: the hole is reused
        write_strided(writer, BLOCK / 8, 8);
        uintptr_t address = (uintptr_t)writer;
        free(writer);
        reader = malloc(BLOCK);
        read_strided(reader, BLOCK / 8, 8);
        reuses += address == (uintptr_t)reader;
        free(reader);
    }
    free(guard);
    printf("{\"reuses\": %d, \"rounds\": %d, \"words\": %d}\n", reuses, ROUNDS, BLOCK / 8);
    return 0;
}
