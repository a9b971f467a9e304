// SPDX-License-Identifier: Apache-2.0
// Forces between particles of the same cell. The cells along the line are ever less dense, and the
// work of a cell is the square of its particles, so of four equal static shares of the cells the
// first has about 70 % of the work. Each thread also drew the particles of its cells: the pages are
// well placed, only the shares are wrong.
// label: particles = partitioned
// action: particles = none
// label: run = load imbalance
// action: run = balance | even parts
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Particle {
    float x, y, z, mass;
    float force_x, force_y, force_z, potential;
};

namespace {

constexpr int CELLS = 2048;
constexpr int STEPS = 6;

int population(int cell) {
    return 12 + 43200 / (cell + 240);
}

void fill_cell(Particle* first, int count, unsigned state) {
    for (int i = 0; i < count; i++) {
        float coordinate[3];
        for (float& c : coordinate) {
            state = state * 1664525U + 1013904223U;
            c = static_cast<float>(state >> 16) / 65536.0F;
        }
        first[i] = {coordinate[0], coordinate[1], coordinate[2], 1, 0, 0, 0, 0};
    }
}

void push_apart(Particle* first, int count) {
    for (int i = 0; i < count; i++) {
        Particle& one = first[i];
        float x = 0, y = 0, z = 0;
        for (int j = 0; j < count; j++) {
            const Particle& other = first[j];
            float dx = one.x - other.x, dy = one.y - other.y, dz = one.z - other.z;
            float weight = other.mass / (dx * dx + dy * dy + dz * dz + 0.5F);
            x += dx * weight;
            y += dy * weight;
            z += dz * weight;
        }
        one.force_x += x;
        one.force_y += y;
        one.force_z += z;
    }
}

}  // namespace

int main() {
    std::vector<int> first(CELLS + 1, 0);
    for (int c = 0; c < CELLS; c++) first[c + 1] = first[c] + population(c);
    // malloc, so that the threads touch the particles first.
    auto* particles = static_cast<Particle*>(std::malloc(first[CELLS] * sizeof(Particle)));
#pragma omp parallel for schedule(static)
    for (int c = 0; c < CELLS; c++) {
        fill_cell(particles + first[c], population(c), static_cast<unsigned>(c));
    }
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for schedule(static)
        for (int c = 0; c < CELLS; c++) push_apart(particles + first[c], population(c));
    }
    double sum = 0;
    for (int p = 0; p < first[CELLS]; p++) sum += particles[p].force_x * particles[p].x;
    std::printf("virial %.3f\n", sum);
    std::free(particles);
    return 0;
}
