// SPDX-License-Identifier: Apache-2.0
// fill() writes 1000 or 2000 words: see unloading.c. Both libraries have the same layout.
enum { WORDS = 4096 };

#ifdef SECOND
long second_words[WORDS] __attribute__((aligned(4096)));
#define words second_words
enum { COUNT = 2000 };
#else
long first_words[WORDS] __attribute__((aligned(4096)));
#define words first_words
enum { COUNT = 1000 };
#endif

long fill(void) {
    long count = 0;
    for (int i = 0; i < COUNT; i++) {
#ifdef SECOND
        words[i] = i;  // line: second
#else
        words[i] = i;  // line: first
#endif
        __asm__ volatile("" : : : "memory");
        count++;
    }
    return count;
}
