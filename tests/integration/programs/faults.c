// SPDX-License-Identifier: Apache-2.0
//
// faults HOW: handles faults (`handled`), or runs code that it writes again and again (`code`).
// Prints how many KiB of memory the second half took.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define TIMES 10000
#define PAGE 4096

static unsigned char* page;

static void handle(int number) {
    (void)number;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void fault(int i) {
    mprotect(page, PAGE, PROT_NONE);
    *(volatile int*)(void*)page = i;
}

static void change_code(int i) {
    page[0] = 0xb8;  // mov eax, ...; ret
    memcpy(page + 1, &i, sizeof i);
    page[5] = 0xc3;
    ((int (*)(void))page)();
}

static long resident_kib(void) {
    long all = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) return -1;
    fclose(file);
    return resident * 4;
}

int main(int argc, char* argv[]) {
    if (argc != 2) return 2;
    void (*again)(int) = strcmp(argv[1], "code") == 0 ? change_code : fault;
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, handle);
    for (int i = 0; i < 20; i++) resident_kib();  // code that runs for the first time takes memory
    for (int i = 0; i < TIMES; i++) again(i);
    const long before = resident_kib();
    for (int i = 0; i < TIMES; i++) again(i);
    printf("%ld\n", resident_kib() - before);
    return 0;
}
