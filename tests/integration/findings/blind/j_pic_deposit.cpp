// SPDX-License-Identifier: Apache-2.0
// label: density = shared, written
// Why: The particles of every thread are everywhere in the plane, so all threads add atomically to
// all pages of the density, which the main thread zeroed.
// action: density = spread | divide
// harm: density = copy | local
// label: magnet = shared, read-mostly
// Why: A map of the field, filled once by the main thread; all threads read it at their particles'
// places.
// action: magnet = copy | spread | copy or spread
// harm: magnet = local
// label: particles = partitioned
// Why: Each thread places its own part of the particles and pushes the same part in each step.
// action: particles = none
// harm: particles = spread | copy
// Charged particles in a magnetic trap: a push of all particles, then a deposit of their charge on
// a grid.
//   usage: pic_deposit [threads] [particles] [steps]
#include <omp.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

constexpr int side = 1024;

struct Particle {
    double x, y, vx, vy;
};

struct Field {
    float strength, gradient;
};

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
    double unit() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return (state_ >> 11) * 0x1.0p-53;
    }

  private:
    uint64_t state_;
};

static std::vector<Field> read_map() {
    std::vector<Field> map(size_t(side) * side);
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const double dx = (x - side / 2) / double(side), dy = (y - side / 2) / double(side);
            map[size_t(y) * side + x] = {float(1.0 + dx * dx + dy * dy), float(0.1 * dx)};
        }
    return map;
}

static void place(Particle* particles, int count) {
#pragma omp parallel
    {
        Random random(omp_get_thread_num() + 1);
#pragma omp for schedule(static)
        for (int i = 0; i < count; ++i) {
            const double angle = 6.283185307 * random.unit();
            particles[i] = {random.unit() * side, random.unit() * side, 0.8 * std::cos(angle),
                            0.8 * std::sin(angle)};
        }
    }
}

static double wrap(double x) {
    if (x < 0) return x + side;
    if (x >= side) return x - side;
    return x;
}

static size_t cell(const Particle& p) {
    const int x = int(p.x) & (side - 1), y = int(p.y) & (side - 1);
    return size_t(y) * side + x;
}

static void push(Particle* particles, int count, const std::vector<Field>& magnet) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < count; ++i) {
        Particle& p = particles[i];
        const Field& here = magnet[cell(p)];
        const double half = 0.05 * (here.strength + here.gradient);
        const double s = 2 * half / (1 + half * half);
        const double ux = p.vx + half * p.vy, uy = p.vy - half * p.vx;
        p.vx += s * uy;
        p.vy -= s * ux;
        p.x = wrap(p.x + p.vx);
        p.y = wrap(p.y + p.vy);
    }
}

static void deposit(const Particle* particles, int count, std::vector<double>& density) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < count; ++i) {
        double& here = density[cell(particles[i])];
#pragma omp atomic
        here += 1.0;
    }
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? std::atoi(argv[1]) : 4);
    const int count = argc > 2 ? std::atoi(argv[2]) : 800000;
    const int steps = argc > 3 ? std::atoi(argv[3]) : 12;
    const std::vector<Field> magnet = read_map();
    std::vector<double> density(size_t(side) * side);
    std::unique_ptr<Particle[]> particles(new Particle[count]);
    place(particles.get(), count);
    for (int s = 0; s < steps; ++s) {
        push(particles.get(), count, magnet);
        deposit(particles.get(), count, density);
    }
    double total = 0, squares = 0;
    for (double d : density) {
        total += d;
        squares += d * d;
    }
    std::printf("deposited %.0f clumping %.6f\n", total, squares / total);
}
