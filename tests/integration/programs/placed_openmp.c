// SPDX-License-Identifier: Apache-2.0
// Prints the processors that OpenMP sees, and "NUMBER CPU" for each thread of a team. Then it tries
// to bind its threads elsewhere, and prints them again.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

// As in omp.h, which not every installation of clang has.
int omp_get_num_procs(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);

static void print_team(void) {
#pragma omp parallel
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < omp_get_num_threads(); i++) {
#pragma omp ordered
            printf("%d %d\n", omp_get_thread_num(), sched_getcpu());
        }
    }
}

int main(void) {
    printf("procs %d\n", omp_get_num_procs());
    print_team();
#pragma omp parallel
    {
        cpu_set_t all;
        CPU_ZERO(&all);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &all);
        if (sched_setaffinity(0, sizeof all, &all) != 0) printf("refused\n");
        if (pthread_setaffinity_np(pthread_self(), sizeof all, &all) != 0) printf("refused\n");
    }
    print_team();
    return 0;
}
