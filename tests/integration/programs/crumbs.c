// SPDX-License-Identifier: Apache-2.0
// Two sites have small blocks on the same pages, and most blocks are hardly used. The few accesses
// of a page are divided: the site with few bytes on it gets none, although its block was touched.
#include <stdlib.h>

enum { BLOCKS = 400 };

static char *crust[BLOCKS], *crumb[BLOCKS];

int main(void) {
    for (int i = 0; i < BLOCKS; i++) {
        crust[i] = malloc(1000);
        if (i % 4 == 1) crumb[i] = malloc(8);
    }
    for (int i = 0; i < BLOCKS / 2; i++) *(volatile char*)crust[i] = 1;
    for (int i = 1; i < BLOCKS / 4; i += 4) *(volatile char*)crumb[i] = 1;
    return 0;
}
