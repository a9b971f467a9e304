// SPDX-License-Identifier: Apache-2.0
// Bodies that attract each other: the positions fit in a cache, and the run computes.
// label: run = no NUMA problem
// label: b.x = cache-resident
// label: b.y = cache-resident
// label: b.z = cache-resident
// label: b.m = cache-resident
// harm: b.x = spread
// harm: b.x = copy
// harm: b.x = local
// harm: b.y = spread
// harm: b.y = copy
// harm: b.y = local
// harm: b.z = spread
// harm: b.z = copy
// harm: b.z = local
// harm: b.m = spread
// harm: b.m = copy
// harm: b.m = local
// Direct-sum gravity for a star cluster, leapfrog integration.
// usage: l_nbody [threads] [bodies]
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

struct Bodies {
    std::vector<double> x, y, z, vx, vy, vz, m;
    explicit Bodies(size_t n) : x(n), y(n), z(n), vx(n), vy(n), vz(n), m(n) {}
    size_t size() const { return x.size(); }
};

class Lcg {
  public:
    explicit Lcg(uint64_t s) : s_(s) {}
    double unit() {
        s_ = s_ * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<double>(s_ >> 11) / 9007199254740992.0;
    }

  private:
    uint64_t s_;
};

Bodies make_cluster(size_t n) {
    Bodies b(n);
    Lcg rng(2024);
    for (size_t i = 0; i < n; i++) {
        double r = 0.1 + std::cbrt(rng.unit());
        double c = 2 * rng.unit() - 1, s = std::sqrt(1 - c * c);
        double a = 6.283185307179586 * rng.unit();
        b.x[i] = r * s * std::cos(a);
        b.y[i] = r * s * std::sin(a);
        b.z[i] = r * c;
        b.vx[i] = -0.4 * b.y[i];
        b.vy[i] = 0.4 * b.x[i];
        b.vz[i] = 0.05 * (rng.unit() - 0.5);
        b.m[i] = 1.0 / static_cast<double>(n);
    }
    return b;
}

class Simulation {
  public:
    Simulation(Bodies& b, int threads, int steps)
        : b_(b), threads_(threads), steps_(steps), sync_(threads) {}

    void run() {
        std::vector<std::thread> pool;
        for (int t = 1; t < threads_; t++) pool.emplace_back([this, t] { advance(t); });
        advance(0);
        for (auto& t : pool) t.join();
    }

  private:
    void advance(int me) {
        const size_t n = b_.size();
        const size_t lo = n * me / threads_, hi = n * (me + 1) / threads_;
        const double dt = 1e-3, soft = 1e-4;
        for (int s = 0; s < steps_; s++) {
            for (size_t i = lo; i < hi; i++) {
                const double xi = b_.x[i], yi = b_.y[i], zi = b_.z[i];
                double ax = 0, ay = 0, az = 0;
                for (size_t j = 0; j < n; j++) {
                    double dx = b_.x[j] - xi, dy = b_.y[j] - yi, dz = b_.z[j] - zi;
                    double d2 = dx * dx + dy * dy + dz * dz + soft;
                    double f = b_.m[j] / (d2 * std::sqrt(d2));
                    ax += f * dx;
                    ay += f * dy;
                    az += f * dz;
                }
                b_.vx[i] += dt * ax;
                b_.vy[i] += dt * ay;
                b_.vz[i] += dt * az;
            }
            sync_.arrive_and_wait();
            for (size_t i = lo; i < hi; i++) {
                b_.x[i] += dt * b_.vx[i];
                b_.y[i] += dt * b_.vy[i];
                b_.z[i] += dt * b_.vz[i];
            }
            sync_.arrive_and_wait();
        }
    }

    Bodies& b_;
    int threads_, steps_;
    std::barrier<> sync_;
};

double kinetic(const Bodies& b) {
    double e = 0;
    for (size_t i = 0; i < b.size(); i++)
        e += 0.5 * b.m[i] * (b.vx[i] * b.vx[i] + b.vy[i] * b.vy[i] + b.vz[i] * b.vz[i]);
    return e;
}

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int n = argc > 2 ? std::atoi(argv[2]) : 6000;
    if (threads < 1 || threads > 256 || n < threads) {
        std::fprintf(stderr, "usage: %s [threads] [bodies]\n", argv[0]);
        return 1;
    }
    Bodies b = make_cluster(static_cast<size_t>(n));
    double before = kinetic(b);
    Simulation(b, threads, 18).run();
    double px = 0, py = 0;
    for (size_t i = 0; i < b.size(); i++) {
        px += b.m[i] * b.vx[i];
        py += b.m[i] * b.vy[i];
    }
    double moment = 0;
    for (size_t i = 0; i < b.size(); i++) moment += b.x[i] * b.vy[i] - b.y[i] * b.vx[i];
    std::printf("bodies %d kinetic %.9f -> %.9f momentum %.6f %.6f checksum %.9f\n", n, before,
                kinetic(b), px, py, moment);
    return 0;
}
