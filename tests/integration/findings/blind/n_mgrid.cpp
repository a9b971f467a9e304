// SPDX-License-Identifier: Apache-2.0
// Main creates all levels. Each thread then works on the same block of rows in each sweep.
// label: u = serial first touch
// action: u = local
// label: f = serial first touch
// action: f = local
// label: r = serial first touch
// action: r = local
// Multigrid V-cycles for -Laplace(u) = f on the unit square.
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Level {
    int n;
    std::vector<double> u, f, r;
    explicit Level(int n_) : n(n_), u(size_t(n_) * n_), f(size_t(n_) * n_), r(size_t(n_) * n_) {}
};

static std::vector<Level> lev;
static int nthreads = 4;

struct Worker {
    int id;
    std::barrier<>& bar;

    // rows of this thread among the interior rows of a level
    bool rows(const Level& L, int& lo, int& hi) const {
        int inner = L.n - 2;
        if (L.n <= 33) {
            lo = 1;
            hi = id == 0 ? L.n - 1 : 1;
        } else {
            lo = 1 + int((long)inner * id / nthreads);
            hi = 1 + int((long)inner * (id + 1) / nthreads);
        }
        return lo < hi;
    }

    void residual(Level& L) {
        int lo, hi, n = L.n;
        double ih2 = double(n - 1) * (n - 1);
        if (rows(L, lo, hi))
            for (int i = lo; i < hi; i++)
                for (int j = 1; j < n - 1; j++) {
                    size_t k = size_t(i) * n + j;
                    L.r[k] = L.f[k] -
                             ih2 * (4 * L.u[k] - L.u[k - 1] - L.u[k + 1] - L.u[k - n] - L.u[k + n]);
                }
        bar.arrive_and_wait();
    }

    void smooth(Level& L, int times) {
        for (int t = 0; t < times; t++) {
            residual(L);
            int lo, hi, n = L.n;
            double w = 0.8 / (4.0 * double(n - 1) * (n - 1));
            if (rows(L, lo, hi))
                for (int i = lo; i < hi; i++)
                    for (int j = 1; j < n - 1; j++)
                        L.u[size_t(i) * n + j] += w * L.r[size_t(i) * n + j];
            bar.arrive_and_wait();
        }
    }

    void cycle(size_t l) {
        Level& L = lev[l];
        if (l + 1 == lev.size()) {
            smooth(L, 20);
            return;
        }
        Level& C = lev[l + 1];
        smooth(L, 2);
        residual(L);
        int lo, hi, n = L.n;
        if (rows(C, lo, hi))
            for (int i = lo; i < hi; i++)
                for (int j = 1; j < C.n - 1; j++) {
                    size_t k = size_t(2 * i) * n + 2 * j;
                    const std::vector<double>& r = L.r;
                    C.f[size_t(i) * C.n + j] =
                        0.25 * r[k] + 0.125 * (r[k - 1] + r[k + 1] + r[k - n] + r[k + n]) +
                        0.0625 * (r[k - n - 1] + r[k - n + 1] + r[k + n - 1] + r[k + n + 1]);
                    C.u[size_t(i) * C.n + j] = 0;
                }
        bar.arrive_and_wait();
        cycle(l + 1);
        if (rows(L, lo, hi))
            for (int i = lo; i < hi; i++)
                for (int j = 1; j < n - 1; j++) {
                    size_t a = size_t(i / 2) * C.n + j / 2;
                    size_t b = a + (j & 1), c = a + size_t(i & 1) * C.n, d = c + (j & 1);
                    L.u[size_t(i) * n + j] += 0.25 * (C.u[a] + C.u[b] + C.u[c] + C.u[d]);
                }
        bar.arrive_and_wait();
        smooth(L, 2);
    }
};

int main(int argc, char** argv) {
    if (argc > 1)
        nthreads = std::atoi(argv[1]);
    else if (const char* e = std::getenv("OMP_NUM_THREADS"))
        nthreads = std::atoi(e);
    if (nthreads < 1) nthreads = 4;

    for (int n = 1025; n >= 5; n = (n + 1) / 2) lev.emplace_back(n);
    Level& F = lev[0];
    for (int i = 1; i < F.n - 1; i++)
        for (int j = 1; j < F.n - 1; j++) {
            double x = double(j) / (F.n - 1), y = double(i) / (F.n - 1);
            F.f[size_t(i) * F.n + j] = x * (1 - x) + 3 * y * y * (x - 0.5);
        }

    std::barrier<> bar(nthreads);
    std::vector<std::thread> pool;
    for (int t = 0; t < nthreads; t++)
        pool.emplace_back([t, &bar] {
            Worker w{t, bar};
            for (int c = 0; c < 10; c++) w.cycle(0);
            w.residual(lev[0]);
        });
    for (auto& t : pool) t.join();

    double s = 0, rr = 0;
    for (size_t k = 0; k < F.u.size(); k += 97) {
        s += F.u[k];
        rr += F.r[k] * F.r[k];
    }
    std::printf("levels %zu sum %.8f res %.3e\n", lev.size(), s, std::sqrt(rr));
    return 0;
}
