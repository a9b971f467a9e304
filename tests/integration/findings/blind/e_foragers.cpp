// SPDX-License-Identifier: Apache-2.0
// Animals search for food. Thread t moves the animals t, t + threads, t + 2 threads and so on. An
// animal is one cache line, so no line is shared, but each page has 64 animals of all threads: no
// first touch can be right until each thread has a contiguous part of the animals. All threads read
// the food of the places where their animals are, which is anywhere on the map; the map is
// constant.
// label: animals = page-level false sharing
// action: animals = divide
// harm: animals = local
// label: food = shared, read-mostly
// action: food = copy or spread
// harm: food = local
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

constexpr int kSide = 1536;
constexpr size_t kAnimals = 120000;
constexpr int kSteps = 25;

struct alignas(64) Animal {
    float x, y;
    float direction_x, direction_y;
    float energy;
    uint32_t random;
    uint32_t meals;
    uint32_t steps;
};

static uint32_t scramble(uint32_t x) {
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0x735a2d97u;
    return x ^ (x >> 15);
}

static float wrap(float position) {
    if (position < 0) return position + kSide - 2;
    return position >= kSide - 2 ? position - (kSide - 2) : position;
}

static void forage(Animal& animal, const float* food) {
    const float* place =
        food + static_cast<size_t>(animal.y) * kSide + static_cast<size_t>(animal.x);
    float here = place[0], right = place[1], below = place[kSide];
    animal.random = scramble(animal.random + 1);
    animal.direction_x = 0.9f * animal.direction_x + (right - here);
    animal.direction_y = 0.9f * animal.direction_y + (below - here);
    // Now and then an animal leaves for a place far away.
    float jump = animal.random % 16 == 0 ? static_cast<float>(animal.random >> 22) : 0.0f;
    animal.x = wrap(animal.x + animal.direction_x + jump);
    animal.y = wrap(animal.y + animal.direction_y + jump);
    animal.energy += here - 0.4f;
    animal.meals += here > 0.5f;
    animal.steps++;
}

int main(int argc, char** argv) {
    const size_t threads = argc > 1 ? std::atoi(argv[1]) : 4;
    if (threads < 1) return 2;
    std::vector<float> food(static_cast<size_t>(kSide) * kSide);
    for (size_t f = 0; f < food.size(); f++) {
        food[f] = static_cast<float>(scramble(static_cast<uint32_t>(f)) >> 8) * 0x1p-24f;
    }
    std::vector<Animal> animals(kAnimals);
    for (size_t a = 0; a < kAnimals; a++) {
        uint32_t random = scramble(static_cast<uint32_t>(a) * 7 + 3);
        animals[a] = {static_cast<float>(random % (kSide - 2)),
                      static_cast<float>(random / 4096 % (kSide - 2)),
                      0,
                      0,
                      1,
                      random,
                      0,
                      0};
    }
    std::vector<std::thread> keepers;
    for (size_t t = 0; t < threads; t++) {
        keepers.emplace_back([&, t] {
            for (int step = 0; step < kSteps; step++) {
                for (size_t a = t; a < kAnimals; a += threads) forage(animals[a], food.data());
            }
        });
    }
    for (std::thread& keeper : keepers) keeper.join();
    uint64_t meals = 0;
    for (const Animal& animal : animals) meals += animal.meals;
    std::printf("meals %llu\n", static_cast<unsigned long long>(meals));
}
