// SPDX-License-Identifier: Apache-2.0
// Moves particles in a static field that is tabulated on a fine grid. The main thread makes the
// field and the particles. Each thread moves its own range of the particles in all steps; a
// particle can be anywhere, so each thread reads all of the field, at random places.
// label: particles.x = serial first touch
// action: particles.x = local
// label: particles.y = serial first touch
// action: particles.y = local
// label: particles.vx = serial first touch
// action: particles.vx = local
// label: particles.vy = serial first touch
// action: particles.vy = local
// label: field = shared, read-mostly
// action: field = copy or spread
// harm: field = local
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int SIDE = 2048, STEPS = 10;
constexpr std::size_t COUNT = 800'000;

struct Force {
    float x, y;
};

struct Particles {
    std::vector<double> x, y, vx, vy;
    explicit Particles(std::size_t n) : x(n), y(n), vx(n), vy(n) {}
};

double wrapped(double position) {
    if (position < 0) return position + SIDE;
    return position >= SIDE ? position - SIDE : position;
}

void push(Particles& particles, const std::vector<Force>& field, std::size_t from, std::size_t to) {
    for (std::size_t p = from; p < to; p++) {
        int i = static_cast<int>(particles.x[p]) % SIDE,
            j = static_cast<int>(particles.y[p]) % SIDE;
        const Force& force =
            field[static_cast<std::size_t>(j) * SIDE + static_cast<std::size_t>(i)];
        particles.vx[p] += 0.01 * static_cast<double>(force.x);
        particles.vy[p] += 0.01 * static_cast<double>(force.y);
        particles.x[p] = wrapped(particles.x[p] + particles.vx[p]);
        particles.y[p] = wrapped(particles.y[p] + particles.vy[p]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4;
    std::vector<Force> field(static_cast<std::size_t>(SIDE) * SIDE);
    for (std::size_t c = 0; c < field.size(); c++)
        field[c] = {static_cast<float>(c % 127) - 63.0f, static_cast<float>(c % 61) - 30.0f};
    Particles particles(COUNT);
    std::uint64_t state = 42;
    auto uniform = [&state] {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state >> 11) * 0x1p-53;
    };
    for (std::size_t p = 0; p < COUNT; p++) {
        particles.x[p] = uniform() * SIDE;
        particles.y[p] = uniform() * SIDE;
        particles.vx[p] = uniform() - 0.5;
        particles.vy[p] = uniform() - 0.5;
    }
    std::barrier barrier(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> workers;
    for (std::size_t id = 0; id < threads; id++)
        workers.emplace_back([&, id] {
            for (int step = 0; step < STEPS; step++) {
                push(particles, field, COUNT * id / threads, COUNT * (id + 1) / threads);
                barrier.arrive_and_wait();
            }
        });
    for (std::thread& worker : workers) worker.join();
    double energy = 0;
    for (std::size_t p = 0; p < COUNT; p++)
        energy += particles.vx[p] * particles.vx[p] + particles.vy[p] * particles.vy[p];
    std::printf("energy %.6f\n", energy);
}
