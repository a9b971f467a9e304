// SPDX-License-Identifier: Apache-2.0
// A library with a thread that waits for work: it reads a variable of the library again and again.
#include <pthread.h>
#include <stdatomic.h>

int begin_to_wait(void);
void end_waiting(void);

static atomic_bool stop;
static pthread_t waiting;

static void* wait_for_work(void* unused) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
    }
    return unused;
}

int begin_to_wait(void) {
    return pthread_create(&waiting, NULL, wait_for_work, NULL);
}

void end_waiting(void) {
    atomic_store(&stop, 1);
    pthread_join(waiting, NULL);
}
