// SPDX-License-Identifier: Apache-2.0
// Main fills the points, and each thread then reads its own block of them.
// label: data.xs = serial first touch
// action: data.xs = local
// harm: data.xs = copy | pad
// label: label = partitioned
// action: label = none
// Lloyd's k-means on records loaded from a feed (here: generated).
//   usage: kmeans [points] [threads]
#include <omp.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <vector>

constexpr int DIM = 16;
constexpr int K = 4;

struct Dataset {
    size_t n = 0;
    std::vector<float> xs;  // n records of DIM floats

    void load(size_t count) {
        std::minstd_rand gen(4711);
        n = count;
        xs.reserve(n * DIM);
        for (size_t i = 0; i < n; i++) {
            float centre = (float)(gen() % K) * 3.0f;
            for (int d = 0; d < DIM; d++) {
                float u = (float)(gen() & 0xffff) / 65536.0f - 0.5f;
                xs.push_back(centre + 2.0f * u + (d & 3) * 0.1f);
            }
        }
    }
    const float* row(size_t i) const { return &xs[i * DIM]; }
};

struct Sums {
    double s[K][DIM] = {};
    long cnt[K] = {};
    double inertia = 0;
    long moved = 0;

    void add(const Sums& o) {
        for (int k = 0; k < K; k++) {
            for (int d = 0; d < DIM; d++) s[k][d] += o.s[k][d];
            cnt[k] += o.cnt[k];
        }
        inertia += o.inertia;
        moved += o.moved;
    }
};

static inline int nearest(const float* p, const float (&c)[K][DIM], float& best) {
    int arg = 0;
    best = std::numeric_limits<float>::max();
    for (int k = 0; k < K; k++) {
        float d2 = 0;
#pragma omp simd reduction(+ : d2)
        for (int d = 0; d < DIM; d++) {
            float t = p[d] - c[k][d];
            d2 += t * t;
        }
        if (d2 < best) {
            best = d2;
            arg = k;
        }
    }
    return arg;
}

int main(int argc, char** argv) {
    size_t n = argc > 1 ? strtoul(argv[1], nullptr, 10) : 500000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_num_threads(nt);

    Dataset data;
    data.load(n);

    // labels are filled by the loop that owns them
    std::unique_ptr<uint8_t[]> label(new uint8_t[n]);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) label[i] = 255;

    float centre[K][DIM];
    for (int k = 0; k < K; k++)
        for (int d = 0; d < DIM; d++) centre[k][d] = data.row(k * (n / K) + 7)[d];

    double inertia = 0;
    int it = 0;
    for (; it < 12; it++) {
        Sums total;
#pragma omp parallel
        {
            Sums mine;
            float c[K][DIM];
            for (int k = 0; k < K; k++)
                for (int d = 0; d < DIM; d++) c[k][d] = centre[k][d];
#pragma omp for schedule(static) nowait
            for (size_t i = 0; i < n; i++) {
                const float* p = data.row(i);
                float d2;
                int k = nearest(p, c, d2);
                if (k != label[i]) {
                    label[i] = (uint8_t)k;
                    mine.moved++;
                }
                mine.cnt[k]++;
                mine.inertia += d2;
                for (int d = 0; d < DIM; d++) mine.s[k][d] += p[d];
            }
#pragma omp critical
            total.add(mine);
        }
        for (int k = 0; k < K; k++)
            if (total.cnt[k])
                for (int d = 0; d < DIM; d++) centre[k][d] = (float)(total.s[k][d] / total.cnt[k]);
        inertia = total.inertia;
        if (total.moved == 0 && it > 5) break;
    }
    printf("checksum %.5e iterations %d\n", inertia, it);
}
