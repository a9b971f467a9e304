// SPDX-License-Identifier: Apache-2.0
// Value at risk by Monte Carlo: each std::thread owns a batch of paths. It allocates, fills and
// uses its own vectors, and only hands its two sums over at the end. Nothing of size is shared.
// label: run = no NUMA problem
// label: spots = partitioned
// action: spots = none
// label: averages = partitioned
// action: averages = none
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t path_count = 1 << 17;
constexpr int days = 40;

struct Normal {
    std::uint64_t state;

    // A sum of four 16-bit uniforms is close enough to normal here.
    double next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const std::uint64_t sum =
            (state & 0xffff) + (state >> 16 & 0xffff) + (state >> 32 & 0xffff) + (state >> 48);
        return (static_cast<double>(sum) - 131070.0) / 37837.0;
    }
};

struct Result {
    std::mutex mutex;
    double payoff = 0;
    double worst = 1e9;
};

void simulate(unsigned id, Result& result) {
    std::vector<double> spots(path_count, 100.0);
    std::vector<double> averages(path_count, 0.0);
    Normal normal{0x9e3779b97f4a7c15u * (id + 1)};
    for (int day = 0; day < days; ++day) {
        for (std::size_t path = 0; path < path_count; ++path) {
            spots[path] *= 1.0002 + 0.012 * normal.next();
            averages[path] += spots[path] / days;
        }
    }
    double payoff = 0;
    double worst = 1e9;
    for (std::size_t path = 0; path < path_count; ++path) {
        payoff += std::max(0.0, averages[path] - 101.0);
        worst = std::min(worst, spots[path]);
    }
    const std::lock_guard guard(result.mutex);
    result.payoff += payoff;
    result.worst = std::min(result.worst, worst);
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 4;
    Result result;
    {
        std::vector<std::jthread> desks;
        for (unsigned id = 0; id < threads; ++id) {
            desks.emplace_back([id, &result] { simulate(id, result); });
        }
    }
    std::printf("price %.4f, worst %.2f\n",
                result.payoff / static_cast<double>(path_count * threads), result.worst);
    return 0;
}
