// SPDX-License-Identifier: Apache-2.0
// Threads call generated code and get signals all the time, while another thread writes into the
// page of this code. So a signal may arrive in a copy of the code that is no longer used.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "rounds.h"

enum { PAGES = 10, WRITES = 5, THREADS = 3, CALLS = 300, AT_A_TIME = 100 };

typedef uint32_t (*Function)(uint32_t);

static _Atomic(Function) function;
static atomic_long calls;
static atomic_int done;
static _Thread_local volatile sig_atomic_t handled;

static void handle(int number) {
    (void)number;
    handled = 1;
}

static void* call(void* nothing) {
    while (!done) {
        const Function now = function;
        for (uint32_t i = 0; i < AT_A_TIME; i++) CHECK(now(i) == i + 5);
        calls += AT_A_TIME;
    }
    return nothing;
}

static long work(void) {
    // lea eax, [rdi + 5]; ret
    static const unsigned char add_five[] = {0x8d, 0x47, 0x05, 0xc3};
    unsigned char* code = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    for (int i = 0; i < PAGES; i++) memcpy(code + i * PAGE, add_five, sizeof add_five);
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    function = (Function)(void*)code;
    done = 0;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, call, NULL) == 0);
    for (int i = 0; i < PAGES; i++) {
        function = (Function)(void*)(code + i * PAGE);
        for (int k = 0; k < WRITES; k++) {
            const long enough = calls + CALLS;
            while (calls < enough) {
                for (int t = 0; t < THREADS; t++) CHECK(pthread_kill(threads[t], SIGUSR1) == 0);
                sched_yield();
            }
            ((volatile unsigned char*)code)[i * PAGE + PAGE / 2] = (unsigned char)k;
        }
    }
    done = 1;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(munmap(code, PAGES * PAGE) == 0);
    return PAGES * WRITES;
}

int main(int count, char** words) {
    (void)words;
    return rounds(count, work);
}
