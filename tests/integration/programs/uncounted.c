// SPDX-License-Identifier: Apache-2.0
// Spends nearly all of its time in the C library: as much on a fast machine as on a slow one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 16, ROUNDS = 1000 };

int main(void) {
    char* text = malloc(BYTES);
    size_t length = 0;
    if (text == NULL) return 1;
    memset(text, 'x', BYTES - 1);
    while (clock() < CLOCKS_PER_SEC) {
        for (int i = 0; i < ROUNDS; ++i) {
            text[BYTES - 1 - i % 2] = '\0';
            length += strlen(text);
            text[BYTES - 1 - i % 2] = 'x';
        }
    }
    printf("%zu\n", length);
    free(text);
    return 0;
}
