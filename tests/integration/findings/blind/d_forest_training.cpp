// SPDX-License-Identifier: Apache-2.0
// Training of a random forest with std::thread. Main reads the samples in; each thread grows its
// own trees from random draws of all samples, so all threads read all pages of the samples, at
// random, and nobody writes them again. The list of drawn samples that a tree sorts in place is
// allocated, filled and used in its thread.
// label: samples = shared, read-mostly
// action: samples = copy or spread
// harm: samples = local
// label: drawn = partitioned
// action: drawn = none
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t sample_count = 1 << 15;
constexpr int features = 8;  // The last is the target.
constexpr int trees_per_thread = 12;
constexpr int depth = 10;
constexpr std::size_t draws = 1 << 16;

std::uint32_t step(std::uint32_t& state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

struct Tree {
    const float* samples;
    std::uint32_t* drawn;
    std::uint32_t random;
    double error = 0;

    void grow(std::size_t from, std::size_t to, int levels) {
        if (to - from < 16 || levels == 0) {
            for (std::size_t i = from; i < to; ++i) {
                error += samples[drawn[i] * features + features - 1] / static_cast<double>(draws);
            }
            return;
        }
        const std::uint32_t feature = step(random) % (features - 1);
        double sum = 0;
        double weighted = 0;
        for (std::size_t i = from; i < to; ++i) {
            const float* sample = samples + drawn[i] * features;
            sum += sample[feature];
            weighted += sample[feature] * sample[features - 1];
        }
        const double split = sum / static_cast<double>(to - from);
        error += 1e-9 * weighted;
        std::size_t middle = from;
        for (std::size_t i = from; i < to; ++i) {
            if (samples[drawn[i] * features + feature] < split)
                std::swap(drawn[i], drawn[middle++]);
        }
        grow(from, middle, levels - 1);
        grow(middle, to, levels - 1);
    }
};

double train(const float* samples, std::uint32_t id) {
    std::vector<std::uint32_t> drawn(draws);
    std::uint32_t random = 2463534242u + id * 7919u;
    double error = 0;
    for (int t = 0; t < trees_per_thread; ++t) {
        for (std::uint32_t& draw : drawn) draw = step(random) % sample_count;
        Tree tree{samples, drawn.data(), random};
        tree.grow(0, draws, depth);
        error += tree.error;
    }
    return error;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint32_t threads = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 4;
    const auto samples =
        std::make_unique_for_overwrite<float[]>(std::size_t{sample_count} * features);
    std::uint32_t random = 19937;
    for (std::size_t i = 0; i < std::size_t{sample_count} * features; ++i) {
        samples[i] = static_cast<float>(step(random) >> 8) * 0x1p-24f;
    }
    std::vector<double> errors(threads);
    std::vector<std::thread> pool;
    for (std::uint32_t id = 0; id < threads; ++id) {
        pool.emplace_back([&, id] { errors[id] = train(samples.get(), id); });
    }
    for (std::thread& thread : pool) thread.join();
    double total = 0;
    for (const double error : errors) total += error;
    std::printf("mean error %.6f\n", total / (threads * trees_per_thread));
    return 0;
}
