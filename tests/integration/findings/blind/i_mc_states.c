// SPDX-License-Identifier: Apache-2.0
// label: state = false sharing of cache lines
// Why: The generators of the threads have 32 bytes each, side by side, and every draw changes
// them.
// action: state = pad
// harm: spot = spread | copy | local | divide
// Asian options by Monte Carlo: an array with the state of each thread's generator.
//   usage: mc_states [paths] [steps]
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct generator {
    uint64_t s[4];
};
static struct generator* state;

static uint64_t turn(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

static double draw(int thread) {
    uint64_t* s = state[thread].s;
    uint64_t result = turn(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = turn(s[3], 45);
    return (double)(result >> 11) * 0x1.0p-53;
}

int main(int argc, char** argv) {
    int paths = argc > 1 ? atoi(argv[1]) : 20000, steps = argc > 2 ? atoi(argv[2]) : 64;
    int threads = omp_get_max_threads();
    state = malloc(sizeof *state * threads);
    double* payoff = malloc(sizeof(double) * paths);
    if (!state || !payoff) return 1;
    for (int t = 0; t < threads; t++)
        for (int k = 0; k < 4; k++) state[t].s[k] = 0x9E3779B97F4A7C15ull * (4 * t + k + 1);
    const double drift = 0.0001, sigma = 0.02;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        double* spot = malloc(sizeof(double) * steps);
#pragma omp for schedule(static)
        for (int p = 0; p < paths; p++) {
            double price = 100.0, sum = 0;
            for (int s = 0; s < steps; s++) {
                double normal = sqrt(-2 * log(1 - draw(me))) * cos(6.283185307 * draw(me));
                price *= exp(drift + sigma * normal);
                spot[s] = price;
            }
            for (int s = 0; s < steps; s++) sum += spot[s];
            payoff[p] = fmax(0, sum / steps - 100.0);
        }
        free(spot);
    }
    double mean = 0;
    for (int p = 0; p < paths; p++) mean += payoff[p] / paths;
    printf("price %.4f\n", mean);
    free(state);
    free(payoff);
    return 0;
}
