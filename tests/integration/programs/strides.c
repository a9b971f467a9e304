// SPDX-License-Identifier: Apache-2.0
// Loops over page-aligned globals in several orders; each array is named for its order.
#include "kernels.h"

enum { PAGES = 8, WORDS = PAGES * PAGE / 8 };

#define PAGES_OF(name) char name[PAGES * PAGE] __attribute__((aligned(4096)))
PAGES_OF(forward);
PAGES_OF(backward);
PAGES_OF(every_third);
PAGES_OF(one_a_page);
PAGES_OF(misaligned);
PAGES_OF(repeated);
PAGES_OF(added);
PAGES_OF(columns);
PAGES_OF(untouched);

int main(void) {
    read_strided(forward, WORDS, 8);
    write_strided(backward + sizeof backward - 8, WORDS, -8);
    read_strided(every_third, (WORDS + 2) / 3, 24);
    write_strided(one_a_page, PAGES, PAGE);
    read_strided(misaligned + 4, WORDS - 1, 8);  // one in 512 straddles
    for (int i = 0; i < 1000; i++) read_strided(repeated, WORDS, 8);
    add_strided(added, WORDS, 8);
    for (int i = 0; i < 200; i++) read_strided(columns + 8 * i, 10, 3072);
    return 0;
}
