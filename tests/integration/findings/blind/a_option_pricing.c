// SPDX-License-Identifier: Apache-2.0
// Prices options by Monte Carlo. Everybody reads a table of 4096 normal quantiles (32 KiB, written
// by main) at random; the rest happens in registers. A dynamic schedule deals out the options, of
// which a task reads and writes 40 bytes. The program computes; nothing is to be fixed.
// label: quantile = cache-resident
// action: quantile = none
// label: run = no NUMA problem
#include <stdio.h>

enum { OPTIONS = 512, PATHS = 5000, DAYS = 32, QUANTILES = 4096 };

struct option {
    double spot, strike, drift, volatility, price;
};

static struct option options[OPTIONS];
static double quantile[QUANTILES];

// Tukey's lambda with exponent 1/8 is near the normal distribution; here by a short series.
static void fill_quantiles(void) {
    for (int q = 0; q < QUANTILES; q++) {
        double u = 2 * (q + 0.5) / QUANTILES - 1;
        double square = u * u;
        quantile[q] = u * (1.2533 + square * (0.3281 + square * (0.2006 + square * 0.7)));
    }
}

static double price(const struct option* option, unsigned seed) {
    unsigned state = seed;
    double payoff = 0, drift = 1 + option->drift, volatility = option->volatility;
    for (int p = 0; p < PATHS; p++) {
        double value = option->spot;
        for (int day = 0; day < DAYS; day++) {
            state = state * 1664525U + 1013904223U;
            value *= drift + volatility * quantile[state >> 20];
        }
        if (value > option->strike) payoff += value - option->strike;
    }
    return payoff / PATHS;
}

int main(void) {
    fill_quantiles();
    for (int o = 0; o < OPTIONS; o++) {
        options[o] = (struct option){90 + o % 21, 95 + o % 13, 0.0001, 0.01 + o % 5 * 0.002, 0};
    }
#pragma omp parallel for schedule(dynamic, 4)
    for (int o = 0; o < OPTIONS; o++) {
        options[o].price = price(&options[o], (unsigned)o * 2654435761U);
    }
    double total = 0;
    for (int o = 0; o < OPTIONS; o++) total += options[o].price;
    printf("value %.6f\n", total);
    return 0;
}
