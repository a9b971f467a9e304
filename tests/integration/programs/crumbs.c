// SPDX-License-Identifier: Apache-2.0
// Small blocks of two sites on the same pages, most of them hardly used: a page's few accesses are
// divided so that the site with few bytes there gets none, though its block was touched.
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
