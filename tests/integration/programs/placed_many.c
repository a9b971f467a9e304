// SPDX-License-Identifier: Apache-2.0
// There are more blocks than a process may have mappings. They are made in pairs, so that
// neighbours may have different policies. Prints "sound" if all had memory of their own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 50000, BYTES = 4096 };

static char* first[BLOCKS];
static char* second[BLOCKS];

int main(void) {
    for (int i = 0; i < BLOCKS; i++) {
        first[i] = malloc(BYTES);
        second[i] = malloc(BYTES);
        if (first[i] == NULL || second[i] == NULL) return 1;
        memset(first[i], i % 100, BYTES);
        memset(second[i], i % 101, BYTES);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (first[i][0] != i % 100 || second[i][BYTES - 1] != i % 101) return 2;
    }
    for (int i = 0; i < BLOCKS; i++) {
        free(first[i]);
        free(second[BLOCKS - 1 - i]);
    }
    printf("sound\n");
    return 0;
}
