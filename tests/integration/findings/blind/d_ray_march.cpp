// SPDX-License-Identifier: Apache-2.0
// Progressive rendering of fog. The film has one band per thread, touched first by that thread, but
// in each pass the bands move on by one thread ("so that no thread always has the dark band"): a
// page of the film has one user in a pass, and another one in the next. The fog is filled by main;
// rays start at random and cross it in random directions, so all threads read all its pages evenly,
// and nobody writes them.
// label: film = pages change users
// action: film = divide | local
// label: fog = shared, read-mostly
// action: fog = copy or spread
// harm: fog = local
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace {

constexpr int edge = 64;
constexpr int width = 512;
constexpr int height = 512;
constexpr int passes = 12;
constexpr int samples = 12;

struct Pixel {
    float red;
    float green;
    float blue;
    float weight;
};

std::uint32_t hash(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

void fill(float* fog) {
    for (int z = 0; z < edge; ++z) {
        for (int y = 0; y < edge; ++y) {
            for (int x = 0; x < edge; ++x) {
                fog[(z * edge + y) * edge + x] =
                    0.05f + 0.04f * std::sin(0.3f * static_cast<float>(x + 2 * y - z));
            }
        }
    }
}

float march(const float* fog, std::uint32_t seed) {
    const std::uint32_t start = hash(seed);
    const std::uint32_t direction = hash(start);
    std::uint32_t x = start & 63;
    std::uint32_t y = start >> 6 & 63;
    std::uint32_t z = start >> 12 & 63;
    float light = 1;
    for (int s = 0; s < samples; ++s) {
        light *= 1 - fog[(z * edge + y) * edge + x];
        x = (x + (direction & 7)) & 63;
        y = (y + (direction >> 3 & 7)) & 63;
        z = (z + 1 + (direction >> 6 & 7)) & 63;
    }
    return light;
}

}  // namespace

int main() {
    const auto fog = std::make_unique_for_overwrite<float[]>(edge * edge * edge);
    const auto film = std::make_unique_for_overwrite<Pixel[]>(width * height);
    fill(fog.get());
#pragma omp parallel
    {
        const int threads = omp_get_num_threads();
        const int id = omp_get_thread_num();
        for (int i = width * height / threads * id; i < width * height / threads * (id + 1); ++i)
            film[i] = Pixel{};
#pragma omp barrier
        for (int pass = 0; pass < passes; ++pass) {
            const int band = (id + pass) % threads;
            for (int y = height / threads * band; y < height / threads * (band + 1); ++y) {
                for (int x = 0; x < width; ++x) {
                    const auto seed = static_cast<std::uint32_t>((pass * height + y) * width + x);
                    const float light = march(fog.get(), seed);
                    Pixel& pixel = film[y * width + x];
                    pixel.red += light;
                    pixel.green += light * light;
                    pixel.blue += 1 - light;
                    pixel.weight += 1;
                }
            }
#pragma omp barrier
        }
    }
    const Pixel& centre = film[(height / 2) * width + width / 2];
    std::printf("centre %.4f %.4f %.4f\n", centre.red / centre.weight, centre.green / centre.weight,
                centre.blue / centre.weight);
    return 0;
}
