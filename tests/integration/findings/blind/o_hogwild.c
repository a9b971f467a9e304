// SPDX-License-Identifier: Apache-2.0
// Main fills the samples. Each thread works on another part of them in each round; all threads
// write the weights.
// label: rows = pages change users
// action: rows = divide | local | spread | copy
// minor: target = pages change users
// action: target = divide | local | spread | copy
// label: w = shared, written
// minor: w = true sharing of cache lines
// action: w = copy | none
/* hogwild - sparse logistic regression by lock-free parallel SGD (Niu et al. 2011).
 *   hogwild [threads] [epochs]
 * Weights are updated without locks on purpose.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NSAMPLE 60000
#define NNZ 32
#define NFEAT 65536

typedef struct {
    uint32_t col[NNZ];
    float val[NNZ];
} row_t;

typedef struct {
    double loss;
    long correct;
} __attribute__((aligned(128))) score_t;

static row_t* rows;
static float* target;
static float* w;
static score_t* score;
static int nthreads, epochs = 8;
static pthread_barrier_t epoch_end;

static double uniform(uint64_t* s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (*s >> 11) * (1.0 / 9007199254740992.0);
}

/* Stands in for the libsvm reader: same result, no file. */
static void load_dataset(void) {
    uint64_t s = 0x853c49e6748fea9bull;
    rows = malloc(NSAMPLE * sizeof *rows);
    target = malloc(NSAMPLE * sizeof *target);
    for (int i = 0; i < NSAMPLE; i++) {
        double z = 0;
        for (int k = 0; k < NNZ; k++) {
            double u = uniform(&s);
            uint32_t c = (uint32_t)(NFEAT * u * u * u);
            rows[i].col[k] = c;
            rows[i].val[k] = (float)(uniform(&s) + 0.25);
            z += rows[i].val[k] * ((c * 2654435761u) >> 31 ? 0.5 : -0.5);
        }
        target[i] = z + 0.4 * (uniform(&s) - 0.5) > 0 ? 1.0f : 0.0f;
    }
}

static float predict(const row_t* r) {
    float z = 0;
    for (int k = 0; k < NNZ; k++) z += w[r->col[k]] * r->val[k];
    return 1.0f / (1.0f + expf(-z));
}

static void* sgd(void* arg) {
    int me = (int)(long)arg;
    float rate = 0.2f;

    for (int e = 0; e < epochs; e++) {
        /* move on to the next shard each epoch so that no worker overfits its own */
        int shard = (me + e) % nthreads;
        int from = (int)((long)NSAMPLE * shard / nthreads);
        int to = (int)((long)NSAMPLE * (shard + 1) / nthreads);
        double loss = 0;
        long ok = 0;

        for (int i = from; i < to; i++) {
            const row_t* r = &rows[i];
            float p = predict(r), y = target[i];
            float g = rate * (p - y);
            for (int k = 0; k < NNZ; k++) w[r->col[k]] -= g * r->val[k];
            loss -= y > 0 ? logf(p + 1e-7f) : logf(1 - p + 1e-7f);
            ok += (p > 0.5f) == (y > 0.5f);
        }
        score[me].loss = loss;
        score[me].correct = ok;
        pthread_barrier_wait(&epoch_end);
        rate *= 0.8f;
    }
    return NULL;
}

int main(int argc, char** argv) {
    nthreads = argc > 1 ? atoi(argv[1]) : 4;
    if (argc > 2) epochs = atoi(argv[2]);
    load_dataset();
    w = calloc(NFEAT, sizeof *w);
    score = aligned_alloc(128, nthreads * sizeof *score);

    pthread_t th[nthreads];
    pthread_barrier_init(&epoch_end, NULL, nthreads);
    for (long t = 0; t < nthreads; t++) pthread_create(&th[t], NULL, sgd, (void*)t);
    for (int t = 0; t < nthreads; t++) pthread_join(th[t], NULL);

    double loss = 0;
    long ok = 0;
    for (int t = 0; t < nthreads; t++) {
        loss += score[t].loss;
        ok += score[t].correct;
    }
    printf("epochs %d loss %.3f accuracy %.2f\n", epochs, loss / NSAMPLE, (double)ok / NSAMPLE);
    return 0;
}
