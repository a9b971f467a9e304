// SPDX-License-Identifier: Apache-2.0
// Moves the particles of a plasma through a fixed electric field for twelve steps. The vector of
// particles is sized first, and the start positions are then set in parallel. The field is a small
// grid beside the particles. Particles lie at random, and read the eight corners of their cell.
// label: particles = serial first touch
// action: particles = local
// label: field = shared, read-mostly
// action: field = copy or spread
// harm: field = divide
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kGrid = 64;
constexpr int kSteps = 12;
constexpr std::int64_t kParticles = 1 << 19;

struct Particle {
    double x = 0, y = 0, z = 0;
    double vx = 0, vy = 0, vz = 0;
};

double wrap(double position) {
    constexpr double limit = kGrid - 1;
    if (position < 0) return position + limit;
    return position >= limit ? position - limit : position;
}

double random(std::uint64_t number) {
    number = (number ^ number >> 31) * 0x9e3779b97f4a7c15u;
    number = (number ^ number >> 29) * 0xbf58476d1ce4e5b9u;
    return static_cast<double>(number >> 11) / 9007199254740992.0;
}

void place(std::vector<Particle>& particles) {
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < kParticles; p++) {
        const std::uint64_t seed = static_cast<std::uint64_t>(p) * 3 + 1;
        particles[p].x = random(seed) * (kGrid - 1);
        particles[p].y = random(seed + 1) * (kGrid - 1);
        particles[p].z = random(seed + 2) * (kGrid - 1);
    }
}

void push(std::vector<Particle>& particles, const std::vector<float>& field) {
    constexpr int row = kGrid, plane = kGrid * kGrid;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < kParticles; i++) {
        Particle p = particles[i];
        const int cx = static_cast<int>(p.x), cy = static_cast<int>(p.y),
                  cz = static_cast<int>(p.z);
        const float* f = &field[cz * plane + cy * row + cx];
        const double low = f[0] + f[row] + f[plane] + f[plane + row];
        const double high = f[1] + f[row + 1] + f[plane + 1] + f[plane + row + 1];
        p.vx += 0.01 * (high - low);
        p.vy += 0.01 * low;
        p.vz -= 0.01 * high;
        p.x = wrap(p.x + p.vx);
        p.y = wrap(p.y + p.vy);
        p.z = wrap(p.z + p.vz);
        particles[i] = p;
    }
}

}  // namespace

int main() {
    std::vector<float> field(kGrid * kGrid * kGrid);
    for (std::size_t i = 0; i < field.size(); i++)
        field[i] = static_cast<float>(i % 19) * 0.05f - 0.45f;
    std::vector<Particle> particles(kParticles);
    place(particles);
    for (int step = 0; step < kSteps; step++) push(particles, field);
    double sum = 0;
    for (std::int64_t p = 0; p < kParticles; p += 4096) sum += particles[p].x;
    std::printf("mean position: %.5f\n", sum / (kParticles / 4096));
}
