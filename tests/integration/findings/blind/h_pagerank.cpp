// SPDX-License-Identifier: Apache-2.0
// label: source = serial first touch
// Why: 9 MB of edges, pushed back by main, then read by the threads in contiguous parts (static
// over v) in each of 20 iterations.
// action: source = local
// harm: source = parallelise the existing loop
// label: contrib = shared, written
// Why: Written by its owner but read at random by all threads for every edge; all its pages lie on
// main's node (vector constructor), so spread them.
// action: contrib = spread
// harm: contrib = local | copy
// label: run = load imbalance
// Why: Vertices are sorted by popularity and divided statically by number: the first of 4 threads
// has half of all edges.
// action: run = balance | even parts
// label: rank = serial first touch
// Why: 2.4 MB, filled by main in the constructor, then read and written only by the owner in static
// parts.
// action: rank = local
// label: offset = serial first touch
// Why: 2.4 MB, built by main, then read in static parts each iteration.
// action: offset = local
// harm: offset = parallelise the existing loop
// label: outdeg = serial first touch
// Why: 1.2 MB, built by main, then read in static parts each iteration.
// action: outdeg = local
// Labels of what needs no action, added after the first look:
// label: indeg = partitioned
// Why: Only main uses it.
// action: indeg = none
// PageRank in pull form over a synthetic web graph.
//   usage: pagerank [vertices] [edges] [iterations] [threads]
#include <omp.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Graph {
    uint32_t n = 0;
    std::vector<uint64_t> offset;  // incoming edges of v: offset[v] .. offset[v+1]
    std::vector<uint32_t> source;
    std::vector<uint32_t> outdeg;
};

class Random {
  public:
    explicit Random(uint64_t s) : s_(s) {}
    uint64_t next() {
        s_ ^= s_ << 13;
        s_ ^= s_ >> 7;
        s_ ^= s_ << 17;
        return s_;
    }
    double unit() { return (next() >> 11) * 0x1.0p-53; }

  private:
    uint64_t s_;
};

// Vertices are numbered by popularity, as after the usual degree sort: the
// first ones have by far the most incoming links.
static Graph read_graph(uint32_t n, uint64_t m) {
    Graph g;
    g.n = n;
    std::vector<uint32_t> indeg(n);
    double norm = 0;
    for (uint32_t v = 0; v < n; ++v) norm += 1.0 / std::sqrt(v + 1.0);
    uint64_t total = 0;
    for (uint32_t v = 0; v < n; ++v) {
        indeg[v] = uint32_t(double(m) / norm / std::sqrt(v + 1.0));
        total += indeg[v];
    }
    g.offset.reserve(n + 1);
    g.source.reserve(total);
    g.outdeg.assign(n, 0);
    Random rng(4711);
    g.offset.push_back(0);
    for (uint32_t v = 0; v < n; ++v) {
        for (uint32_t k = 0; k < indeg[v]; ++k) {
            uint32_t u = uint32_t(rng.next() >> 32) % n;
            g.source.push_back(u);
            g.outdeg[u]++;
        }
        g.offset.push_back(g.source.size());
    }
    return g;
}

int main(int argc, char** argv) {
    uint32_t n = argc > 1 ? std::atoi(argv[1]) : 300000;
    uint64_t m = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2400000;
    int iterations = argc > 3 ? std::atoi(argv[3]) : 20;
    int threads = argc > 4 ? std::atoi(argv[4]) : 4;
    const double damping = 0.85;
    omp_set_num_threads(threads);

    Graph g = read_graph(n, m);
    std::vector<double> rank(n, 1.0 / n), contrib(n);
    double change = 0;
    int it = 0;
    for (; it < iterations; ++it) {
        double dangling = 0;
#pragma omp parallel for schedule(static) reduction(+ : dangling)
        for (uint32_t v = 0; v < n; ++v) {
            if (g.outdeg[v]) {
                contrib[v] = rank[v] / g.outdeg[v];
            } else {
                contrib[v] = 0;
                dangling += rank[v];
            }
        }
        change = 0;
        const double base = (1.0 - damping) / n + damping * dangling / n;
#pragma omp parallel for schedule(static) reduction(+ : change)
        for (uint32_t v = 0; v < n; ++v) {
            double s = 0;
            for (uint64_t e = g.offset[v]; e < g.offset[v + 1]; ++e) s += contrib[g.source[e]];
            double r = base + damping * s;
            change += std::fabs(r - rank[v]);
            rank[v] = r;
        }
        if (change < 1e-9) break;
    }

    // the ten best pages
    std::vector<uint32_t> order(n);
    for (uint32_t v = 0; v < n; ++v) order[v] = v;
    std::partial_sort(order.begin(), order.begin() + 10, order.end(),
                      [&](uint32_t a, uint32_t b) { return rank[a] > rank[b]; });
    double top = 0;
    for (int k = 0; k < 10; ++k) top += rank[order[k]] * (k + 1);
    std::printf("n=%u m=%zu iterations=%d change=%.3e top=%.10f\n", n, g.source.size(), it, change,
                top);
}
