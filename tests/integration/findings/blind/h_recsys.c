// SPDX-License-Identifier: Apache-2.0
// label: table = shared, read-mostly
// Why: 19 MB embedding table, loaded by main, afterwards only read, at random, by all 8 threads: a
// replica per node makes all lookups local.
// action: table = copy | spread
// harm: table = local | divide
// Labels of what needs no action, added after the first look:
// label: model = cache-resident
// Why: The weights, 2 KB that all threads only read.
// action: model = none
/* Recommendation inference: pooled embedding lookups followed by a small
 * dense layer.  The model is loaded once, then a pool of threads serves a
 * fixed list of requests.
 *   usage: recsys [items] [requests] [threads]                               */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DIM 32
#define HIDDEN 16
#define HIST 24

typedef struct {
    uint32_t items;
    float* table; /* items x DIM, about 19 MB */
    float w1[HIDDEN][DIM];
    float w2[HIDDEN];
} model_t;

typedef struct {
    const model_t* model;
    uint64_t first, last; /* requests first .. last-1 */
    double score;
} job_t;

static uint64_t splitmix(uint64_t* s) {
    uint64_t z = (*s += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static int load_model(model_t* m, uint32_t items) {
    uint64_t s = 7;
    m->items = items;
    m->table = malloc((size_t)items * DIM * sizeof *m->table);
    if (!m->table) return -1;
    for (size_t i = 0; i < (size_t)items * DIM; i += 2) {
        uint64_t r = splitmix(&s);
        m->table[i] = (float)(r & 0xffff) / 65536.0f - 0.5f;
        m->table[i + 1] = (float)((r >> 32) & 0xffff) / 65536.0f - 0.5f;
    }
    for (int h = 0; h < HIDDEN; h++) {
        for (int d = 0; d < DIM; d++) m->w1[h][d] = (float)(splitmix(&s) & 0xff) / 256.0f - 0.5f;
        m->w2[h] = (float)(splitmix(&s) & 0xff) / 256.0f - 0.5f;
    }
    return 0;
}

static float infer(const model_t* m, uint64_t request) {
    float pooled[DIM] = {0};
    uint64_t s = request * 1000003u + 17;
    for (int k = 0; k < HIST; k++) {
        const float* e = m->table + (size_t)(splitmix(&s) % m->items) * DIM;
        for (int d = 0; d < DIM; d++) pooled[d] += e[d];
    }
    float out = 0;
    for (int h = 0; h < HIDDEN; h++) {
        float a = 0;
        for (int d = 0; d < DIM; d++) a += m->w1[h][d] * pooled[d];
        out += m->w2[h] * (a > 0 ? a : 0.01f * a);
    }
    return 1.0f / (1.0f + expf(-out));
}

static void* serve(void* arg) {
    job_t* job = arg;
    double sum = 0;
    for (uint64_t r = job->first; r < job->last; r++) sum += infer(job->model, r);
    job->score = sum;
    return NULL;
}

int main(int argc, char** argv) {
    uint32_t items = argc > 1 ? (uint32_t)atol(argv[1]) : 150000;
    uint64_t requests = argc > 2 ? (uint64_t)atoll(argv[2]) : 60000;
    int nt = argc > 3 ? atoi(argv[3]) : 8;

    static model_t model;
    if (load_model(&model, items) != 0) {
        perror("model");
        return 1;
    }

    pthread_t* tid = calloc((size_t)nt, sizeof *tid);
    job_t* jobs = calloc((size_t)nt, sizeof *jobs);
    for (int t = 0; t < nt; t++) {
        jobs[t] = (job_t){&model, requests * t / nt, requests * (t + 1) / nt, 0};
        if (pthread_create(&tid[t], NULL, serve, &jobs[t]) != 0) return 1;
    }
    double total = 0;
    for (int t = 0; t < nt; t++) {
        pthread_join(tid[t], NULL);
        total += jobs[t].score;
    }
    printf("items=%u requests=%llu mean score=%.9f\n", items, (unsigned long long)requests,
           total / (double)requests);
    free(tid);
    free(jobs);
    free(model.table);
    return 0;
}
