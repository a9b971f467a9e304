// SPDX-License-Identifier: Apache-2.0
// Main fills the points, and any thread builds a part of the tree. All threads then search all of
// it.
// label: pts = shared, read-mostly
// action: pts = spread | copy
// label: queries = serial first touch
// action: queries = none | local
// label: nearest = serial first touch
// action: nearest = none | local
// k-d tree built in place, then nearest neighbour queries.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

struct Point {
    float c[3];
    int id;
};
struct Query {
    float c[3];
};

static uint64_t rs = 42;
static float frand() {
    rs ^= rs << 13;
    rs ^= rs >> 7;
    rs ^= rs << 17;
    return float(rs >> 40) * 0x1p-24f;
}

static void build(Point* p, long n, int axis, int split) {
    while (n > 8) {
        long m = n / 2;
        std::nth_element(p, p + m, p + n,
                         [axis](const Point& a, const Point& b) { return a.c[axis] < b.c[axis]; });
        int next = (axis + 1) % 3;
        if (split > 0) {
            auto left = std::async(std::launch::async, build, p, m, next, split - 1);
            build(p + m + 1, n - m - 1, next, split - 1);
            left.get();
            return;
        }
        build(p, m, next, 0);
        p += m + 1;
        n -= m + 1;
        axis = next;
    }
}

static float dist2(const Point& p, const Query& q) {
    float a = p.c[0] - q.c[0], b = p.c[1] - q.c[1], c = p.c[2] - q.c[2];
    return a * a + b * b + c * c;
}

static void nearest_in(const Point* p, long n, int axis, const Query& q, float& best, int& id) {
    if (n <= 8) {
        for (long i = 0; i < n; i++) {
            float d = dist2(p[i], q);
            if (d < best) {
                best = d;
                id = p[i].id;
            }
        }
        return;
    }
    long m = n / 2;
    float d = dist2(p[m], q);
    if (d < best) {
        best = d;
        id = p[m].id;
    }
    float diff = q.c[axis] - p[m].c[axis];
    int next = (axis + 1) % 3;
    if (diff < 0) {
        nearest_in(p, m, next, q, best, id);
        if (diff * diff < best) nearest_in(p + m + 1, n - m - 1, next, q, best, id);
    } else {
        nearest_in(p + m + 1, n - m - 1, next, q, best, id);
        if (diff * diff < best) nearest_in(p, m, next, q, best, id);
    }
}

int main(int argc, char** argv) {
    int nt = 4;
    if (argc > 1)
        nt = std::atoi(argv[1]);
    else if (const char* e = std::getenv("OMP_NUM_THREADS"))
        nt = std::atoi(e);
    if (nt < 1) nt = 4;
    const long N = 400000, Q = 160000;

    std::vector<Point> pts(N);
    for (long i = 0; i < N; i++) {
        float cx = float(i % 17) * 0.05f;
        pts[i] = Point{{cx + 0.2f * frand(), frand() * frand(), frand()}, int(i)};
    }
    std::vector<Query> queries(Q);
    for (auto& q : queries) q = Query{{frand(), frand(), frand()}};
    std::vector<int> nearest(Q);

    int split = 0;
    while ((1 << split) < nt) split++;
    build(pts.data(), N, 0, split);

    std::vector<std::future<double>> fs;
    for (int t = 0; t < nt; t++)
        fs.push_back(std::async(std::launch::async, [&, t] {
            double s = 0;
            for (long i = Q * t / nt; i < Q * (t + 1) / nt; i++) {
                float best = 1e30f;
                int id = -1;
                nearest_in(pts.data(), N, 0, queries[i], best, id);
                nearest[i] = id;
                s += best;
            }
            return s;
        }));
    double sum = 0;
    for (auto& f : fs) sum += f.get();
    long ids = 0;
    for (int v : nearest) ids += v;
    std::printf("dist sum %.6f ids %ld\n", sum, ids);
    return 0;
}
