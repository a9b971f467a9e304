// SPDX-License-Identifier: Apache-2.0
// Each thread writes segments of all partitions. Each partition is then read once, by any thread.
// label: R = partitioned
// action: R = none
// harm: R = spread
// label: S = partitioned
// action: S = none
// harm: S = spread
// label: Rp = pages change users
// action: Rp = none | spread
// label: Sp = pages change users
// action: Sp = none | spread
// label: table = partitioned
// action: table = none
// Radix partitioned hash join.
#include <omp.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Tuple {
    uint32_t key, payload;
};

static const size_t NR = 524288, NS = 4194304;
static const int BITS = 6, P = 1 << BITS;

static inline uint32_t mixkey(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
}

static void partition(const Tuple* in, Tuple* out, size_t n, std::vector<size_t>& bound) {
    int nt = omp_get_max_threads();
    std::vector<uint32_t> hist(size_t(nt) * P);
    std::vector<size_t> base(size_t(nt) * P);
    bound.assign(P + 1, 0);
#pragma omp parallel
    {
        int t = omp_get_thread_num();
        uint32_t cnt[P] = {};
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) cnt[mixkey(in[i].key) & (P - 1)]++;
        for (int p = 0; p < P; p++) hist[size_t(t) * P + p] = cnt[p];
#pragma omp barrier
#pragma omp single
        {
            size_t at = 0;
            for (int p = 0; p < P; p++) {
                bound[p] = at;
                for (int u = 0; u < nt; u++) {
                    base[size_t(u) * P + p] = at;
                    at += hist[size_t(u) * P + p];
                }
            }
            bound[P] = at;
        }
        size_t pos[P];
        for (int p = 0; p < P; p++) pos[p] = base[size_t(t) * P + p];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) out[pos[mixkey(in[i].key) & (P - 1)]++] = in[i];
    }
}

static uint64_t join_partition(const Tuple* r, size_t nr, const Tuple* s, size_t ns,
                               std::vector<Tuple>& table, long& matches) {
    size_t cap = 1;
    while (cap < 2 * nr) cap <<= 1;
    table.assign(cap, Tuple{0, 0});
    for (size_t i = 0; i < nr; i++) {
        size_t h = (mixkey(r[i].key) >> BITS) & (cap - 1);
        while (table[h].key) h = (h + 1) & (cap - 1);
        table[h] = r[i];
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < ns; i++) {
        size_t h = (mixkey(s[i].key) >> BITS) & (cap - 1);
        while (table[h].key && table[h].key != s[i].key) h = (h + 1) & (cap - 1);
        if (table[h].key) {
            matches++;
            sum += uint64_t(table[h].payload) ^ s[i].payload;
        }
    }
    return sum;
}

int main(int argc, char** argv) {
    if (argc > 1)
        omp_set_num_threads(std::atoi(argv[1]));
    else if (!std::getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(4);

    Tuple *R = new Tuple[NR], *S = new Tuple[NS], *Rp = new Tuple[NR], *Sp = new Tuple[NS];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < NR; i++) R[i] = Tuple{uint32_t(1 + i * 3), uint32_t(i)};
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < NS; i++)
        S[i] = Tuple{1 + mixkey(uint32_t(i)) % uint32_t(NR * 3), uint32_t(i * 7)};

    std::vector<size_t> rb, sb;
    partition(R, Rp, NR, rb);
    partition(S, Sp, NS, sb);

    uint64_t sum = 0;
    long matches = 0;
#pragma omp parallel reduction(+ : sum, matches)
    {
        std::vector<Tuple> table;
        table.reserve(32768);
#pragma omp for schedule(dynamic, 1)
        for (int p = 0; p < P; p++)
            sum += join_partition(Rp + rb[p], rb[p + 1] - rb[p], Sp + sb[p], sb[p + 1] - sb[p],
                                  table, matches);
    }
    std::printf("matches %ld sum %llu\n", matches, (unsigned long long)sum);
    delete[] R;
    delete[] S;
    delete[] Rp;
    delete[] Sp;
    return 0;
}
