// SPDX-License-Identifier: Apache-2.0
// A small block is on the last page of a large one, of which only the first word is used. Another
// large block replaces an earlier one, beside a small block.
#include <stdint.h>
#include <stdlib.h>

enum { PAGE = 4096, BYTES = 4096 + 512, REPEATS = 100000 };

static volatile uint64_t* last_words(char* block) {
    return (volatile uint64_t*)(block + BYTES - 64);
}

// Samples of one instruction are summed, so each kind of block has its own instruction.
static void use_small(volatile uint64_t* words) {
    for (int i = 0; i < REPEATS; i++) words[i % 4] = 1;
}

static void use(volatile uint64_t* words) {
    for (int i = 0; i < REPEATS; i++) words[i % 4] = 1;
}

int main(void) {
    // Its end is in the middle of a page, and the table is behind it.
    char* start = malloc(BYTES);
    if (start == NULL) return 2;
    uintptr_t middle = ((uintptr_t)start + BYTES + PAGE / 2) % PAGE;
    if (malloc(PAGE - middle + PAGE / 2) == NULL) return 2;
    char* buffer = malloc(BYTES);
    uint64_t* table = malloc(64);
    if (buffer == NULL || table == NULL) return 2;
    if (((uintptr_t)buffer + BYTES - 1) / PAGE != (uintptr_t)table / PAGE) return 3;
    buffer[0] = 1;
    use_small(table);

    char* before = malloc(BYTES);
    uint64_t* beside = malloc(64);
    if (before == NULL || beside == NULL) return 2;
    use(last_words(before));
    free(before);
    char* after = malloc(BYTES);
    if (after != before) return 3;
    use(last_words(after));
    use_small(beside);
    return 0;
}
