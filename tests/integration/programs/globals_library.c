// SPDX-License-Identifier: Apache-2.0
// A shared library with globals; LIBRARY is `shared_library` or `plugin`.
#include "kernels.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

enum { WORDS = 1024 };

char JOIN(LIBRARY, _exported)[2 * PAGE] __attribute__((aligned(4096)));
static char JOIN(LIBRARY, _static)[2 * PAGE] __attribute__((aligned(4096)));

void JOIN(use_, LIBRARY)(void) {
    write_strided(JOIN(LIBRARY, _exported), WORDS, 8);
    read_strided(JOIN(LIBRARY, _static), WORDS / 4, 32);
}
