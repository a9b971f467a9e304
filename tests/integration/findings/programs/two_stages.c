// SPDX-License-Identifier: Apache-2.0
// One thread fills an array, another one reads it again and again.
// label: inbox = remote first touch
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "labelled.h"

static double* inbox;
static double total;

static void* produce(void* unused) {
    for (int i = 0; i < N; i++) inbox[i] = i;
    return unused;
}

static void* consume(void* unused) {
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int i = 0; i < N; i++) total += inbox[i];
    return unused;
}

int main(void) {
    void* (*const stages[])(void*) = {produce, consume};
    inbox = malloc(N * sizeof *inbox);
    for (int stage = 0; stage < 2; stage++) {
        pthread_t thread;
        pthread_create(&thread, NULL, stages[stage], NULL);
        pthread_join(thread, NULL);
    }
    printf("%g\n", total);
    free(inbox);
}
