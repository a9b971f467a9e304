// SPDX-License-Identifier: Apache-2.0
// label: workspace = partitioned
// Why: Each thread gathers its samples into its own workspace, 14 MB, and makes four passes over it
// for every fit. The main thread zeroes all of them, but the compiler makes malloc and memset a
// calloc, which touches nothing.
// action: workspace = none
// harm: workspace = copy | divide
// label: data = shared, read-mostly
// Why: 18 MB, read at random rows by all threads for every sample, all on the node of the main
// thread.
// action: data = copy | spread | copy or spread
// harm: data = local | divide
// label: rows_done = false sharing of cache lines
// Why: Counters of 8 bytes, side by side, and every thread increments its own for each row.
// action: rows_done = pad
// Errors of a logistic regression by the bootstrap: samples with replacement, each fitted anew.
//   usage: bootstrap_fit [threads] [rows] [samples]
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 8, most_threads = 64, passes = 4 };

struct row {
    double x[columns];
    double y;
};

struct job {
    pthread_t thread;
    int me, threads, samples, rows;
    double sum[columns], squares[columns];
};

static struct row* data;       // rows of the study
static struct row* workspace;  // a sample for each thread
static int sample_size;
static volatile long rows_done[most_threads];  // for the display of the progress

static uint64_t draw(uint64_t* s) {
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * 0x2545F4914F6CDD1Dull;
}

static double unit(uint64_t* s) {
    return (draw(s) >> 11) * 0x1.0p-53;
}

static void read_study(int rows) {
    uint64_t seed = 42;
    for (int i = 0; i < rows; i++) {
        double score = -0.2;
        for (int c = 0; c < columns; c++) {
            data[i].x[c] = c ? unit(&seed) - 0.5 : 1.0;
            score += data[i].x[c] * (c % 3 - 1);
        }
        data[i].y = unit(&seed) < 1 / (1 + exp(-score));
    }
}

static void gather(struct row* sample, int rows, uint64_t* seed) {
    for (int i = 0; i < sample_size; i++) sample[i] = data[draw(seed) % (uint64_t)rows];
}

static void fit(const struct row* sample, int me, double* beta) {
    memset(beta, 0, sizeof(double) * columns);
    for (int p = 0; p < passes; p++) {
        double slope[columns] = {0}, weight = 0;
        for (int i = 0; i < sample_size; i++) {
            const double* x = sample[i].x;
            double score = 0;
            for (int c = 0; c < columns; c++) score += beta[c] * x[c];
            double chance = score / (1 + fabs(score)) * 0.5 + 0.5;  // a cheap sigmoid
            double miss = sample[i].y - chance;
            for (int c = 0; c < columns; c++) slope[c] += miss * x[c];
            weight += chance * (1 - chance);
            rows_done[me]++;
        }
        for (int c = 0; c < columns; c++) beta[c] += slope[c] / weight * (c ? 6.0 : 1.0);
    }
}

static void* work(void* argument) {
    struct job* job = argument;
    struct row* sample = workspace + (size_t)job->me * sample_size;
    for (int s = job->me; s < job->samples; s += job->threads) {
        uint64_t seed = 1000003ull * (s + 1);
        double beta[columns];
        gather(sample, job->rows, &seed);
        fit(sample, job->me, beta);
        for (int c = 0; c < columns; c++) {
            job->sum[c] += beta[c];
            job->squares[c] += beta[c] * beta[c];
        }
    }
    return NULL;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    int rows = argc > 2 ? atoi(argv[2]) : 250000;
    int samples = argc > 3 ? atoi(argv[3]) : 24;
    if (threads < 1 || threads > most_threads) return 2;
    sample_size = rows / 5 * 4;
    size_t bytes = sizeof(struct row) * sample_size * threads;
    data = malloc(sizeof(struct row) * rows);
    workspace = malloc(bytes);
    if (!data || !workspace) return 1;
    memset(workspace, 0, bytes);  // so that a lack of memory shows now, not after hours
    read_study(rows);
    struct job* jobs = calloc(threads, sizeof *jobs);
    if (!jobs) return 1;
    for (int t = 0; t < threads; t++) {
        jobs[t] = (struct job){.me = t, .threads = threads, .samples = samples, .rows = rows};
        if (pthread_create(&jobs[t].thread, NULL, work, &jobs[t])) return 1;
    }
    double sum[columns] = {0}, squares[columns] = {0};
    long total = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(jobs[t].thread, NULL);
        total += rows_done[t];
        for (int c = 0; c < columns; c++) {
            sum[c] += jobs[t].sum[c];
            squares[c] += jobs[t].squares[c];
        }
    }
    for (int c = 0; c < columns; c++) {
        double mean = sum[c] / samples;
        printf("beta %d: %.6f +- %.6f\n", c, mean,
               sqrt(fmax(0, squares[c] / samples - mean * mean)));
    }
    printf("rows %ld\n", total);
    free(jobs);
    free(workspace);
    free(data);
    return 0;
}
