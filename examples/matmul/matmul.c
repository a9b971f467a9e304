// SPDX-License-Identifier: Apache-2.0
// C = A x B with POSIX threads, in two versions that compute the same numbers.
//
//   naive  thread t computes columns t, t+T, t+2T, ... of C. A page of C holds 512 neighbouring
//          columns of one row, so every thread writes to every page of C.
//   block  C is cut into a grid of blocks, one per thread. By default the grid has two rows:
//          half of the threads own the upper half of C, the other threads the lower half.
//
// main() initialises all three matrices, so in both versions all pages start on its node.
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../options.h"

enum { MAX_SIZE = 32768, MAX_THREADS = 4096 };

static size_t size = 512;
static size_t thread_count = 4;
static size_t grid_rows = 2;
static double *A, *B, *C;  // row-major, size x size

struct block {
    size_t first_row, end_row;
    size_t first_column, end_column, column_step;
};

static double dot(const double* row_of_a, const double* column_of_b) {
    double sum = 0.0;
    for (size_t k = 0; k < size; k++) sum += row_of_a[k] * column_of_b[k * size];
    return sum;
}

static void* multiply(void* argument) {
    const struct block* block = argument;
    for (size_t i = block->first_row; i < block->end_row; i++)
        for (size_t j = block->first_column; j < block->end_column; j += block->column_step)
            C[i * size + j] = dot(A + i * size, B + j);
    return NULL;
}

static struct block interleaved_columns(size_t thread) {
    return (struct block){0, size, thread, size, thread_count};
}

static struct block grid_block(size_t thread) {
    size_t grid_columns = thread_count / grid_rows;
    size_t row = thread / grid_columns, column = thread % grid_columns;
    return (struct block){.first_row = row * size / grid_rows,
                          .end_row = (row + 1) * size / grid_rows,
                          .first_column = column * size / grid_columns,
                          .end_column = (column + 1) * size / grid_columns,
                          .column_step = 1};
}

static void run_threads(struct block (*share)(size_t thread)) {
    pthread_t threads[MAX_THREADS];
    struct block blocks[MAX_THREADS];
    for (size_t t = 0; t < thread_count; t++) {
        blocks[t] = share(t);
        int error = pthread_create(&threads[t], NULL, multiply, &blocks[t]);
        if (error != 0) {
            fprintf(stderr, "cannot start thread %zu: %s\n", t, strerror(error));
            exit(1);
        }
    }
    for (size_t t = 0; t < thread_count; t++) pthread_join(threads[t], NULL);
}

static void initialise(void) {
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            A[i * size + j] = (double)i + 1.0;
            B[i * size + j] = (double)j - 2.0;
            C[i * size + j] = 0.0;
        }
}

// A's rows and B's columns are constant, so c_ij = size (i + 1) (j - 2), exact in a double.
static bool correct(void) {
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            if (C[i * size + j] != (double)size * ((double)i + 1.0) * ((double)j - 2.0))
                return false;
    return true;
}

static void usage(void) {
    fprintf(stderr, "usage: matmul [-n SIZE] [-t THREADS] [-r GRID_ROWS] naive|block\n");
    exit(2);
}

int main(int argc, char** argv) {
    for (int option; (option = getopt(argc, argv, "n:t:r:")) != -1;) switch (option) {
            case 'n':
                size = (size_t)whole_number("-n", optarg, 1, MAX_SIZE);
                break;
            case 't':
                thread_count = (size_t)whole_number("-t", optarg, 1, MAX_THREADS);
                break;
            case 'r':
                grid_rows = (size_t)whole_number("-r", optarg, 1, MAX_THREADS);
                break;
            default:
                usage();
        }
    if (optind != argc - 1) usage();
    const char* version = argv[optind];
    bool naive = strcmp(version, "naive") == 0;
    if (!naive && strcmp(version, "block") != 0) usage();
    if (thread_count == 1) grid_rows = 1;
    if (!naive && thread_count % grid_rows != 0) {
        fprintf(stderr, "%zu threads do not fill a grid of %zu rows; change -t or -r\n",
                thread_count, grid_rows);
        return 2;
    }

    size_t bytes = size * size * sizeof(double);
    A = malloc(bytes);
    B = malloc(bytes);
    C = malloc(bytes);
    if (A == NULL || B == NULL || C == NULL) out_of_memory(3 * bytes);

    initialise();
    run_threads(naive ? interleaved_columns : grid_block);
    bool right = correct();
    printf("matmul %s: %zu x %zu, %zu threads, result %s\n", version, size, size, thread_count,
           right ? "correct" : "WRONG");

    free(C);
    free(B);
    free(A);
    return right ? 0 : 1;
}
