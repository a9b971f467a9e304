// SPDX-License-Identifier: Apache-2.0
// Heat in a square plate, with MPI: each rank has a slab of rows, and gets its neighbours' nearest
// rows by messages (a halo exchange). The ranks of a host have their slabs in one shared window, so
// that one rank can fill the field, for example from a file. Who *fills* it decides on which node
// its pages lie:
//
//   serial    the first rank of the host fills the window: it touches every page first
//   parallel  each rank fills its own slab
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../options.h"

enum { MAX_SIZE = 1 << 16, MAX_STEPS = 1000000 };

struct slab {
    size_t size;   // rows and columns of the plate
    size_t begin;  // first row of this rank
    size_t rows;
    double* field;  // in the window of the host
    double* next;
    double* above;  // the nearest rows of the neighbours
    double* below;
};

struct neighbours {
    int before, after;  // MPI_PROC_NULL at the ends
};

static size_t first_row(size_t size, int rank, int ranks) {
    return size * (size_t)rank / (size_t)ranks;
}

static void fill(double* field, size_t begin, size_t rows, size_t size) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < size; c++)
            field[r * size + c] = (begin + r) % 64 < 8 && c % 64 < 8 ? 100.0 : 20.0;
}

// The first rank of the host fills the slabs of all ranks.
static void fill_serially(const struct slab* slab, MPI_Comm host, MPI_Win window) {
    int rank, ranks;
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &ranks);
    unsigned long mine[2] = {slab->begin, slab->rows};
    unsigned long* all = malloc(sizeof mine * (size_t)ranks);
    if (all == NULL) out_of_memory(sizeof mine * (size_t)ranks);
    MPI_Allgather(mine, 2, MPI_UNSIGNED_LONG, all, 2, MPI_UNSIGNED_LONG, host);
    for (int other = 0; rank == 0 && other < ranks; other++) {
        MPI_Aint bytes;
        int unit;
        double* field;
        MPI_Win_shared_query(window, other, &bytes, &unit, &field);
        fill(field, all[2 * other], all[2 * other + 1], slab->size);
    }
    free(all);
}

static void exchange_halo(struct slab* slab, struct neighbours with) {
    int row = (int)slab->size;
    double* last = slab->field + (slab->rows - 1) * slab->size;
    MPI_Sendrecv(slab->field, row, MPI_DOUBLE, with.before, 0, slab->below, row, MPI_DOUBLE,
                 with.after, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, row, MPI_DOUBLE, with.after, 1, slab->above, row, MPI_DOUBLE, with.before, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    // No heat flows across the edge of the plate.
    if (with.before == MPI_PROC_NULL) memcpy(slab->above, slab->field, sizeof *last * slab->size);
    if (with.after == MPI_PROC_NULL) memcpy(slab->below, last, sizeof *last * slab->size);
}

static void step(struct slab* slab) {
    size_t n = slab->size;
    for (size_t r = 0; r < slab->rows; r++) {
        const double* here = slab->field + r * n;
        const double* above = r == 0 ? slab->above : here - n;
        const double* below = r == slab->rows - 1 ? slab->below : here + n;
        for (size_t c = 0; c < n; c++) {
            double left = here[c == 0 ? c : c - 1], right = here[c == n - 1 ? c : c + 1];
            slab->next[r * n + c] =
                here[c] + 0.2 * (above[c] + below[c] + left + right - 4 * here[c]);
        }
    }
    memcpy(slab->field, slab->next, sizeof *slab->field * slab->rows * n);
}

static double heat(const struct slab* slab) {
    double own = 0.0, all;
    for (size_t i = 0; i < slab->rows * slab->size; i++) own += slab->field[i];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double* allocate(size_t elements) {
    double* block = malloc(sizeof *block * elements);
    if (block == NULL) out_of_memory(sizeof *block * elements);
    return block;
}

static void usage(void) {
    fprintf(stderr, "usage: halo [-n SIZE] [-s STEPS] serial|parallel\n");
    exit(2);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t size = 512;
    int steps = 20;
    for (int option; (option = getopt(argc, argv, "n:s:")) != -1;) switch (option) {
            case 'n':
                size = (size_t)whole_number("-n", optarg, ranks, MAX_SIZE);
                break;
            case 's':
                steps = (int)whole_number("-s", optarg, 1, MAX_STEPS);
                break;
            default:
                usage();
        }
    if (optind != argc - 1) usage();
    const char* version = argv[optind];
    bool serial = strcmp(version, "serial") == 0;
    if (!serial && strcmp(version, "parallel") != 0) usage();

    struct slab slab = {.size = size, .begin = first_row(size, rank, ranks)};
    slab.rows = first_row(size, rank + 1, ranks) - slab.begin;
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Win window;
    MPI_Win_allocate_shared((MPI_Aint)(sizeof(double) * slab.rows * size), sizeof(double),
                            MPI_INFO_NULL, host, &slab.field, &window);
    slab.next = allocate(slab.rows * size);
    slab.above = allocate(size);
    slab.below = allocate(size);
    struct neighbours with = {rank == 0 ? MPI_PROC_NULL : rank - 1,
                              rank == ranks - 1 ? MPI_PROC_NULL : rank + 1};

    MPI_Win_fence(0, window);
    if (serial)
        fill_serially(&slab, host, window);
    else
        fill(slab.field, slab.begin, slab.rows, size);
    MPI_Win_fence(0, window);
    double before = heat(&slab);
    for (int s = 0; s < steps; s++) {
        exchange_halo(&slab, with);
        step(&slab);
    }
    double after = heat(&slab);
    bool right = fabs(after - before) <= 1e-9 * before;
    if (rank == 0)
        printf("halo %s: %zu^2 cells, %d steps, %d ranks, heat %.9g, %s\n", version, size, steps,
               ranks, after, right ? "conserved" : "WRONG");

    free(slab.next);
    free(slab.above);
    free(slab.below);
    MPI_Win_free(&window);
    MPI_Comm_free(&host);
    MPI_Finalize();
    return right ? 0 : 1;
}
