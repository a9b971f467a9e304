// SPDX-License-Identifier: Apache-2.0
// Three threads come in turn. The C library gives each of them the same stack. Each writes 1500
// words of it once.
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 3, WORDS = 1500 };

static void* fill(void* nothing) {
    volatile long words[WORDS];
    for (int i = 0; i < WORDS; ++i) words[i] = i;
    (void)words[0];
    return nothing;
}

int main(void) {
    for (int i = 0; i < THREADS; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, fill, NULL) != 0) return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
