// SPDX-License-Identifier: Apache-2.0
// The dot product of two long vectors, with MPI and OpenMP. Each rank has a part of both vectors,
// and its threads divide this part. Who *fills* the vectors decides on which node their pages lie:
//
//   serial    one thread of each rank touches every page of the rank first
//   parallel  each thread fills what it uses later
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../options.h"

enum { MAX_LENGTH = 1 << 28, MAX_ROUNDS = 1000000, MAX_THREADS = 4096 };

static double* allocate(size_t elements) {
    double* block = malloc(sizeof *block * elements);
    if (block == NULL) out_of_memory(sizeof *block * elements);
    return block;
}

static void fill(double* x, double* y, long length, bool serial) {
#pragma omp parallel for schedule(static) if (!serial)
    for (long i = 0; i < length; i++) {
        x[i] = 1.0;
        y[i] = 2.0;
    }
}

static double dot(const double* x, const double* y, long length) {
    double own = 0.0, all;
#pragma omp parallel for schedule(static) reduction(+ : own)
    for (long i = 0; i < length; i++) own += x[i] * y[i];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void usage(void) {
    fprintf(stderr, "usage: hybrid [-n LENGTH] [-r ROUNDS] [-t THREADS] serial|parallel\n");
    exit(2);
}

int main(int argc, char** argv) {
    int provided, rank, ranks, rounds = 10;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long length = 1 << 20;
    for (int option; (option = getopt(argc, argv, "n:r:t:")) != -1;) switch (option) {
            case 'n':
                length = whole_number("-n", optarg, 1, MAX_LENGTH);
                break;
            case 'r':
                rounds = (int)whole_number("-r", optarg, 1, MAX_ROUNDS);
                break;
            case 't':
                omp_set_num_threads((int)whole_number("-t", optarg, 1, MAX_THREADS));
                break;
            default:
                usage();
        }
    if (optind != argc - 1) usage();
    const char* version = argv[optind];
    bool serial = strcmp(version, "serial") == 0;
    if (!serial && strcmp(version, "parallel") != 0) usage();

    double* x = allocate((size_t)length);
    double* y = allocate((size_t)length);
    fill(x, y, length, serial);
    double sum = 0.0;
    for (int r = 0; r < rounds; r++) sum = dot(x, y, length);
    double expected = 2.0 * (double)length * ranks;
    bool right = fabs(sum - expected) <= 1e-9 * expected;
    if (rank == 0)
        printf("hybrid %s: %d ranks of %d threads, %ld numbers each, sum %.9g, %s\n", version,
               ranks, omp_get_max_threads(), length, sum, right ? "right" : "WRONG");
    free(x);
    free(y);
    MPI_Finalize();
    return right ? 0 : 1;
}
