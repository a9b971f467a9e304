// SPDX-License-Identifier: Apache-2.0
// Moves particles through a potential. The main thread appends the particles to a vector and fills
// the potential. Then each thread moves its own contiguous part of the particles for all steps, and
// reads the potential at random places, because the particles are all over the domain.
// label: particles = serial first touch
// action: particles = local
// harm: particles = parallelise the existing loop
// label: potential = shared, read-mostly
// action: potential = copy or spread
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Particle {
    double x, y, vx, vy;
};

constexpr int side = 512, count = 1 << 18, steps = 16;

// A position on the grid's torus.
static double wrap(double position) {
    if (position < 0) return position + side;
    return position >= side ? position - side : position;
}

static void move(Particle* first, Particle* last, const std::vector<double>& potential) {
    for (int step = 0; step < steps; ++step) {
        for (Particle* p = first; p != last; ++p) {
            int i = int(p->x), j = int(p->y);
            const double* row = &potential[size_t(j) * side];
            double right = row[(i + 1) % side], left = row[(i + side - 1) % side];
            double up = potential[size_t((j + 1) % side) * side + i];
            double down = potential[size_t((j + side - 1) % side) * side + i];
            p->vx = 0.9 * p->vx + 0.1 * (left - right);
            p->vy = 0.9 * p->vy + 0.1 * (down - up);
            p->x = wrap(p->x + p->vx);
            p->y = wrap(p->y + p->vy);
        }
    }
}

int main() {
    const char* wanted = std::getenv("THREADS");
    const int threads = wanted ? std::atoi(wanted) : 4;

    std::vector<double> potential;
    potential.reserve(side * side);
    for (int j = 0; j < side; ++j) {
        for (int i = 0; i < side; ++i) potential.push_back((i * 13 + j * 7) % 64 / 16.0);
    }
    std::vector<Particle> particles;
    uint32_t state = 9;
    auto next = [&state] {
        state = state * 1664525U + 1013904223U;
        return (state >> 8) / double(1 << 24);
    };
    for (int n = 0; n < count; ++n) {
        double x = next() * side, y = next() * side;
        particles.push_back({x, y, next() - 0.5, next() - 0.5});
    }

    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        Particle* first = particles.data() + int64_t(count) * t / threads;
        Particle* last = particles.data() + int64_t(count) * (t + 1) / threads;
        workers.emplace_back([=, &potential] { move(first, last, potential); });
    }
    for (std::thread& worker : workers) worker.join();

    double sum = 0;
    for (size_t n = 0; n < particles.size(); n += 64) sum += particles[n].x;
    std::printf("mean position %.6f\n", sum * 64 / count);
}
