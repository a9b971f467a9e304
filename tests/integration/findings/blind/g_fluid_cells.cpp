// SPDX-License-Identifier: Apache-2.0
// A fluid of particles that lie in the order of their cells; six std::threads own ranges of cells.
// Densities from the particles of nine cells, then forces; a std::barrier between both.
// label: particles = serial first touch
// Why: main makes all particles; then each thread works on its own range and reads the borders.
// action: particles = local
// harm: particles = copy
// label: density = partitioned
// Why: allocated untouched; each thread writes its own range first, and mostly it reads it.
// action: density = none
// label: force = partitioned
// Why: as `density`.
// action: force = none
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 6;
constexpr int kCells = 192;  // on each side
constexpr int kInCell = 6;
constexpr int kSteps = 2;
constexpr std::size_t kParticles = static_cast<std::size_t>(kCells) * kCells * kInCell;

struct Particle {
    float x, y, vx, vy;
};

struct Force {
    float x, y;
};

std::unique_ptr<Particle[]> particles;
std::unique_ptr<float[]> density;
std::unique_ptr<Force[]> force;
std::barrier together(kThreads);

template <typename Visit>
void around(int row, int column, Visit visit) {
    for (int r = row - 1; r <= row + 1; r++) {
        if (r < 0 || r >= kCells) continue;
        for (int c = column - 1; c <= column + 1; c++) {
            if (c < 0 || c >= kCells) continue;
            std::size_t first = (static_cast<std::size_t>(r) * kCells + c) * kInCell;
            for (std::size_t j = first; j < first + kInCell; j++) visit(j);
        }
    }
}

void work(int id) {
    int low = kCells * id / kThreads, high = kCells * (id + 1) / kThreads;
    for (int step = 0; step < kSteps; step++) {
        for (int row = low; row < high; row++) {
            for (int column = 0; column < kCells; column++) {
                std::size_t first = (static_cast<std::size_t>(row) * kCells + column) * kInCell;
                for (std::size_t i = first; i < first + kInCell; i++) {
                    float sum = 0;
                    around(row, column, [&](std::size_t j) {
                        float dx = particles[i].x - particles[j].x;
                        float dy = particles[i].y - particles[j].y;
                        float near = 1 - dx * dx - dy * dy;
                        if (near > 0) sum += near * near;
                    });
                    density[i] = sum;
                }
            }
        }
        together.arrive_and_wait();
        for (int row = low; row < high; row++) {
            for (int column = 0; column < kCells; column++) {
                std::size_t first = (static_cast<std::size_t>(row) * kCells + column) * kInCell;
                for (std::size_t i = first; i < first + kInCell; i++) {
                    Force f{0, 0};
                    around(row, column, [&](std::size_t j) {
                        float dx = particles[i].x - particles[j].x;
                        float dy = particles[i].y - particles[j].y;
                        float near = 1 - dx * dx - dy * dy;
                        if (near > 0 && j != i) {
                            float push = near / (density[i] + density[j]);
                            f.x += dx * push;
                            f.y += dy * push;
                        }
                    });
                    force[i] = f;
                }
            }
        }
        together.arrive_and_wait();
        for (int row = low; row < high; row++) {
            std::size_t first = static_cast<std::size_t>(row) * kCells * kInCell;
            for (std::size_t i = first; i < first + kCells * kInCell; i++) {
                particles[i].vx += 0.01f * force[i].x;
                particles[i].vy += 0.01f * force[i].y;
                particles[i].x += 0.01f * particles[i].vx;
                particles[i].y += 0.01f * particles[i].vy;
            }
        }
        together.arrive_and_wait();
    }
}

}  // namespace

int main() {
    particles = std::make_unique_for_overwrite<Particle[]>(kParticles);
    density = std::make_unique_for_overwrite<float[]>(kParticles);
    force = std::make_unique_for_overwrite<Force[]>(kParticles);
    std::uint32_t state = 3;
    auto fraction = [&state] {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
    };
    for (int row = 0; row < kCells; row++)
        for (int column = 0; column < kCells; column++)
            for (int k = 0; k < kInCell; k++)
                particles[(static_cast<std::size_t>(row) * kCells + column) * kInCell + k] = {
                    column + fraction(), row + fraction(), 0, 0};
    std::vector<std::thread> threads;
    for (int id = 0; id < kThreads; id++) threads.emplace_back(work, id);
    for (std::thread& thread : threads) thread.join();
    double energy = 0;
    for (std::size_t i = 0; i < kParticles; i++)
        energy += particles[i].vx * particles[i].vx + particles[i].vy * particles[i].vy;
    std::printf("energy %.6f\n", energy);
    return std::isfinite(energy) && energy > 0 ? 0 : 1;
}
