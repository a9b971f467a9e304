// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication by POSIX threads; main computes nothing.
#include <pthread.h>

#include "columns.h"

static void* run(void* argument) {
    multiply_columns((long)argument);
    return NULL;
}

int main(int argc, char** argv) {
    read_arguments(argc, argv);
    pthread_t* handles = malloc((size_t)threads * sizeof *handles);
    if (handles == NULL) return 1;
    for (long t = 0; t < threads; t++)
        if (pthread_create(&handles[t], NULL, run, (void*)t) != 0) return 1;
    for (long t = 0; t < threads; t++) pthread_join(handles[t], NULL);
    free(handles);
    return 0;
}
