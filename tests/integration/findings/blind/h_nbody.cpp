// SPDX-License-Identifier: Apache-2.0
// label: pos = serial first touch
// Why: The vector constructor zeroes it in main, before create() fills it in parallel: all pages
// lie on main's node although the later use is in fixed contiguous parts.
// action: pos = local
// harm: pos = copy
// label: vel = serial first touch
// Why: Same: zeroed by the constructor in main, used in fixed parts.
// action: vel = local
// harm: vel = copy
// label: force = serial first touch
// Why: Same: zeroed by the constructor in main, used in fixed parts.
// action: force = local
// harm: force = copy
// label: potential_ = false sharing of cache lines
// Why: Four doubles in one line, each updated by another thread for every interacting pair in the
// innermost loop.
// action: potential_ = pad
// label: kinetic_ = false sharing of cache lines
// Why: Four doubles in one line, updated once per particle and step.
// action: kinetic_ = pad
// Short-range particle simulation in one box, cell lists, soft repulsion.
//   usage: nbody [particles] [steps] [threads]
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Vec {
    double x = 0, y = 0, z = 0;
};

struct Particles {
    std::vector<Vec> pos, vel, force;
    explicit Particles(size_t n) : pos(n), vel(n), force(n) {}
    size_t size() const { return pos.size(); }
};

class Simulation {
  public:
    Simulation(size_t n, int threads)
        : p_(n), nt_(threads), potential_(threads), kinetic_(threads), sync_(threads) {
        side_ = std::max(3, int(std::cbrt(double(n) / 4)));
        start_.resize(size_t(side_) * side_ * side_ + 1);
    }

    void run(int steps) {
        std::vector<std::thread> ts;
        for (int t = 0; t < nt_; ++t) ts.emplace_back([=, this] { worker(t, steps); });
        for (auto& t : ts) t.join();
    }

    double potential() const { return sum(potential_); }
    double kinetic() const { return sum(kinetic_); }

  private:
    static double sum(const std::vector<double>& v) {
        double s = 0;
        for (double e : v) s += e;
        return s;
    }
    int wrap(int c) const { return c < 0 ? c + side_ : c >= side_ ? c - side_ : c; }
    size_t cell(int cx, int cy, int cz) const {
        return (size_t(wrap(cz)) * side_ + wrap(cy)) * side_ + wrap(cx);
    }

    // particles are created cell by cell, so that neighbours are close in memory
    void create(size_t lo, size_t hi) {
        size_t cells = start_.size() - 1, n = p_.size();
        for (size_t i = lo; i < hi; ++i) {
            size_t c = i * cells / n;
            uint32_t h = uint32_t(i) * 2654435761u;
            auto frac = [&h] {
                h = h * 1664525u + 1013904223u;
                return (h >> 8) / 16777216.0;
            };
            p_.pos[i] = {c % side_ + frac(), c / side_ % side_ + frac(),
                         double(c / side_ / side_) + frac()};
            p_.vel[i] = {frac() - 0.5, frac() - 0.5, frac() - 0.5};
        }
    }

    void forces(int me, size_t lo, size_t hi) {
        const size_t cells = start_.size() - 1, n = p_.size();
        for (size_t i = lo; i < hi; ++i) {
            size_t c = i * cells / n;
            int cx = c % side_, cy = c / side_ % side_, cz = c / side_ / side_;
            p_.force[i] = {};
            for (int dz = -1; dz <= 1; ++dz)
                for (int dx = -1; dx <= 1; ++dx) {
                    size_t nb = cell(cx + dx, cy, cz + dz);
                    for (size_t j = start_[nb]; j < start_[nb + 1]; ++j) {
                        if (j == i) continue;
                        double rx = p_.pos[i].x - p_.pos[j].x, ry = p_.pos[i].y - p_.pos[j].y,
                               rz = p_.pos[i].z - p_.pos[j].z;
                        double r2 = rx * rx + ry * ry + rz * rz;
                        if (r2 >= 1.0) continue;
                        double w = 1.0 - r2;
                        p_.force[i].x += w * rx;
                        p_.force[i].y += w * ry;
                        p_.force[i].z += w * rz;
                        potential_[me] += 0.25 * w * w;
                    }
                }
        }
    }

    void move(int me, size_t lo, size_t hi, double dt) {
        for (size_t i = lo; i < hi; ++i) {
            Vec &v = p_.vel[i], &f = p_.force[i];
            v.x += dt * f.x;
            v.y += dt * f.y;
            v.z += dt * f.z;
            p_.pos[i].x += dt * v.x;
            p_.pos[i].y += dt * v.y;
            p_.pos[i].z += dt * v.z;
            kinetic_[me] += 0.5 * (v.x * v.x + v.y * v.y + v.z * v.z);
        }
    }

    void worker(int me, int steps) {
        size_t n = p_.size(), lo = n * me / nt_, hi = n * (me + 1) / nt_;
        if (me == 0) {
            size_t cells = start_.size() - 1;
            for (size_t c = 0; c <= cells; ++c) start_[c] = (c * n + cells - 1) / cells;
        }
        create(lo, hi);
        for (int s = 0; s < steps; ++s) {
            sync_.arrive_and_wait();
            potential_[me] = kinetic_[me] = 0;
            forces(me, lo, hi);
            sync_.arrive_and_wait();
            move(me, lo, hi, 1e-3);
        }
    }

    Particles p_;
    int nt_, side_ = 0;
    std::vector<size_t> start_;
    std::vector<double> potential_, kinetic_;
    std::barrier<> sync_;
};

int main(int argc, char** argv) {
    size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
    int steps = argc > 2 ? std::atoi(argv[2]) : 8;
    int threads = argc > 3 ? std::atoi(argv[3]) : 4;
    Simulation sim(n, threads);
    sim.run(steps);
    std::printf("n=%zu potential=%.8f kinetic=%.8f\n", n, sim.potential(), sim.kinetic());
}
