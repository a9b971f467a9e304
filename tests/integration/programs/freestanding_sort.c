// SPDX-License-Identifier: Apache-2.0
// A static program without the C library: any two observers see the same instructions. Sorts and
// searches pseudo-random numbers, with recursion, byte accesses and string instructions.
#include "freestanding.h"

enum { COUNT = 4000 };

static unsigned numbers[COUNT], copy[COUNT];
static unsigned char digits[COUNT];
static unsigned state = 12345;

static unsigned next_random(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void quicksort(unsigned* a, long low, long high) {
    if (low >= high) return;
    unsigned pivot = a[(low + high) / 2];
    long i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) {
            unsigned swapped = a[i];
            a[i++] = a[j];
            a[j--] = swapped;
        }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

static long position(const unsigned* a, unsigned wanted) {
    long low = 0, high = COUNT;
    while (low < high) {
        long middle = (low + high) / 2;
        if (a[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int freestanding_main(void) {
    for (long i = 0; i < COUNT; i++) numbers[i] = next_random();
    copy_words(copy, numbers, sizeof numbers);
    quicksort(numbers, 0, COUNT - 1);
    for (long i = 0; i < COUNT; i++) {
        long at = position(numbers, copy[i]);
        if (numbers[at] != copy[i]) return 1;
        digits[at] = (unsigned char)(digits[at] + copy[i] % 10);
    }
    return 0;
}
