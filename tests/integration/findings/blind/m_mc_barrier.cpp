// SPDX-License-Identifier: Apache-2.0
// Only computes. The surface of 4 KB on main's stack is in every first cache.
// label: run = no NUMA problem
// action: run = none
// label: surf = cache-resident
// harm: surf = copy | spread | local | divide
// harm: run = balance
// Down-and-out call priced by Monte Carlo, local volatility from a small surface.
//   usage: mc_barrier [paths] [threads]
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Xoshiro {
    uint64_t s[4];
    static uint64_t splitmix(uint64_t& z) {
        uint64_t r = (z += 0x9E3779B97F4A7C15ull);
        r = (r ^ (r >> 30)) * 0xBF58476D1CE4E5B9ull;
        r = (r ^ (r >> 27)) * 0x94D049BB133111EBull;
        return r ^ (r >> 31);
    }
    explicit Xoshiro(uint64_t seed) {
        for (auto& v : s) v = splitmix(seed);
    }
    static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    uint64_t next() {
        uint64_t r = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotl(s[3], 45);
        return r;
    }
    double uniform() { return (double)(next() >> 11) * 0x1.0p-53; }
};

struct Surface {
    static constexpr int NT = 16, NS = 32;
    std::array<double, NT * NS> vol;
    Surface() {
        for (int t = 0; t < NT; t++)
            for (int s = 0; s < NS; s++) {
                double m = (s - NS / 2) / (double)NS;
                vol[t * NS + s] = 0.18 + 0.25 * m * m + 0.04 / (1.0 + t);
            }
    }
    double operator()(double t, double logm) const {
        int it = (int)(t * NT);
        int is = (int)((logm + 1.0) * 0.5 * NS);
        if (it >= NT) it = NT - 1;
        if (is < 0) is = 0;
        if (is >= NS) is = NS - 1;
        return vol[it * NS + is];
    }
};

struct alignas(128) Result {
    double sum = 0, sum2 = 0;
    long knocked = 0;
};

static void normal_pair(Xoshiro& g, double& a, double& b) {
    double u, v, r;
    do {
        u = 2 * g.uniform() - 1;
        v = 2 * g.uniform() - 1;
        r = u * u + v * v;
    } while (r >= 1 || r == 0);
    double f = std::sqrt(-2 * std::log(r) / r);
    a = u * f;
    b = v * f;
}

static void simulate(const Surface& surf, long paths, uint64_t seed, Result& out) {
    const int steps = 64;
    const double dt = 1.0 / steps, sq = std::sqrt(dt), rate = 0.02;
    const double logK = 0.0, logB = std::log(0.82);
    Xoshiro g(seed);
    Result r;
    for (long p = 0; p < paths; p++) {
        double x = 0;
        bool alive = true;
        for (int k = 0; k < steps && alive; k += 2) {
            double z[2];
            normal_pair(g, z[0], z[1]);
            for (int h = 0; h < 2; h++) {
                double s = surf((k + h) * dt, x);
                x += (rate - 0.5 * s * s) * dt + s * sq * z[h];
                if (x < logB) alive = false;
            }
        }
        if (!alive) {
            r.knocked++;
            continue;
        }
        double pay = x > logK ? std::exp(x) - 1.0 : 0.0;
        r.sum += pay;
        r.sum2 += pay * pay;
    }
    out = r;
}

int main(int argc, char** argv) {
    long paths = argc > 1 ? atol(argv[1]) : 120000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    Surface surf;
    std::vector<Result> res(nt);
    std::vector<std::thread> th;
    for (int t = 0; t < nt; t++) {
        long lo = paths * t / nt, hi = paths * (t + 1) / nt;
        th.emplace_back(simulate, std::cref(surf), hi - lo, 1000 + t, std::ref(res[t]));
    }
    double sum = 0, sum2 = 0;
    long kn = 0;
    for (int t = 0; t < nt; t++) {
        th[t].join();
        sum += res[t].sum;
        sum2 += res[t].sum2;
        kn += res[t].knocked;
    }
    double mean = sum / paths, var = sum2 / paths - mean * mean;
    printf("checksum %.8f stderr %.6f knocked %ld\n", mean * std::exp(-0.02),
           std::sqrt(var / paths), kn);
}
