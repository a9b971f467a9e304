// SPDX-License-Identifier: Apache-2.0
//
// Two arrays that stay until the process ends, and a larger one that does not.
#include <stdlib.h>
#include <string.h>

static char* kept;
static char* small;
static char* freed;

int main(void) {
    kept = malloc(4 << 20);
    freed = malloc(8 << 20);
    small = malloc(1 << 20);
    if (kept == NULL || freed == NULL || small == NULL) return 1;
    memset(kept, 1, 4 << 20);
    memset(freed, 1, 8 << 20);
    memset(small, 1, 1 << 20);
    free(freed);
    _Exit(0);
}
