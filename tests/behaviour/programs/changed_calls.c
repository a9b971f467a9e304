// SPDX-License-Identifier: Apache-2.0
// A thread changes the target of a call, eight aligned bytes at once, while others execute this
// call and write to data in its page. Virtual machines change inline caches in this way.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "rounds.h"

enum { TARGETS = 16, CHANGES = 40, CALLS = 4000, CALLERS = 2 };
enum { CALLER = 64, CALL_WORD = CALLER + 8, BEHIND = CALL_WORD + 8, TARGET = 256, DATA = 2048 };
enum { FIRST_VALUE = 1000, TARGET_BYTES = 32 };

static unsigned char* code;
static volatile int finished;

static unsigned char* target(int number) {
    return code + TARGET + number * TARGET_BYTES;
}

// nop; call target
static void point_to(int number) {
    unsigned char bytes[8] = {0x0f, 0x1f, 0x00, 0xe8};
    const int32_t distance = (int32_t)(target(number) - (code + BEHIND));
    uint64_t word;
    memcpy(bytes + 4, &distance, sizeof distance);
    memcpy(&word, bytes, sizeof word);
    __atomic_store_n((uint64_t*)(code + CALL_WORD), word, __ATOMIC_RELEASE);
}

static int call(void) {
    return ((int (*)(void))(code + CALLER))();
}

static void generate(void) {
    for (int i = 0; i < TARGETS; i++) {
        const int value = FIRST_VALUE + i;  // mov eax, value; ret
        target(i)[0] = 0xb8;
        memcpy(target(i) + 1, &value, sizeof value);
        target(i)[5] = 0xc3;
    }
    memcpy(code + CALLER, "\x48\x83\xec\x08\x0f\x1f\x40\x00", 8);  // sub rsp, 8; nop
    point_to(0);
    memcpy(code + BEHIND, "\x48\x83\xc4\x08\xc3", 5);  // add rsp, 8; ret
}

static void* execute(void* counter) {
    for (int i = 0; i < CALLS || !finished; i++) {
        const int value = call();
        CHECK(value >= FIRST_VALUE && value < FIRST_VALUE + TARGETS);
        if (i % 64 == 0) ++*(volatile long*)counter;
    }
    return NULL;
}

static long work(void) {
    pthread_t callers[CALLERS];
    long sum = 0;
    code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    generate();
    finished = 0;
    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&callers[i], NULL, execute, code + DATA + i * 64) == 0);
    for (int i = 0; i < CHANGES; i++) {
        point_to(i % TARGETS);
        CHECK(call() == FIRST_VALUE + i % TARGETS);
        sum += call();
    }
    finished = 1;
    for (int i = 0; i < CALLERS; i++) CHECK(pthread_join(callers[i], NULL) == 0);
    CHECK(munmap(code, PAGE) == 0);
    return sum;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
