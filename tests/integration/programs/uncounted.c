// SPDX-License-Identifier: Apache-2.0
// Spends nearly all of its time in the C library.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16, ROUNDS = 200000 };

int main(void) {
    char* text = malloc(BYTES);
    size_t length = 0;
    if (text == NULL) return 1;
    memset(text, 'x', BYTES - 1);
    for (int i = 0; i < ROUNDS; ++i) {
        text[BYTES - 1 - i % 2] = '\0';
        length += strlen(text);
        text[BYTES - 1 - i % 2] = 'x';
    }
    printf("%zu\n", length);
    free(text);
    return 0;
}
