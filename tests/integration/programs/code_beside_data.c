// SPDX-License-Identifier: Apache-2.0
// code_beside_data ROUNDS: generated code reads `items` and counts what it read in its own page.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ITEMS = 1 << 12, PAGE = 4096 };

int main(int count, char** words) {
    // xor eax, eax; again: add eax, [rdi]; inc dword [rdx]; add rdi, 4; dec esi; jnz again; ret
    static const unsigned char code[] = {0x31, 0xc0, 0x03, 0x07, 0xff, 0x02, 0x48, 0x83,
                                         0xc7, 0x04, 0xff, 0xce, 0x75, 0xf4, 0xc3};
    if (count != 2) return 2;
    const long rounds = atol(words[1]);
    unsigned char* page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t* items = malloc(sizeof(uint32_t) * ITEMS);
    if (page == MAP_FAILED || items == NULL) return 1;
    memcpy(page, code, sizeof code);
    for (uint32_t i = 0; i < ITEMS; i++) items[i] = 1;
    volatile uint32_t* counted = (volatile uint32_t*)(void*)(page + PAGE / 2);
    int (*sum)(const uint32_t*, int, volatile uint32_t*) =
        (int (*)(const uint32_t*, int, volatile uint32_t*))(void*)page;
    for (long i = 0; i < rounds; i++) {
        if (sum(items, ITEMS, counted) != ITEMS) return 1;
    }
    return *counted == (uint32_t)(rounds * ITEMS) ? 7 : 1;
}
