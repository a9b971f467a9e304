// SPDX-License-Identifier: Apache-2.0
// Scans a sharded column store: for five ranges of keys it sums the prices of the rows in the
// range. Each worker thread owns one shard. It allocates and fills the columns of the shard itself,
// and answers all queries on it. The main thread adds the sums of the shards.
// label: run = no NUMA problem
// label: keys = partitioned
// action: keys = none
// harm: keys = spread
// label: prices = partitioned
// action: prices = none
// harm: prices = spread
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kRows = 1 << 22;
constexpr std::uint32_t kQueries = 5;

class Shard {
  public:
    Shard(std::size_t rows, std::uint32_t seed) {
        keys.reserve(rows);
        prices.reserve(rows);
        for (std::size_t i = 0; i < rows; i++) {
            seed = seed * 1664525u + 1013904223u;
            keys.push_back(seed >> 12);
            prices.push_back(static_cast<float>(seed >> 24) * 0.25f);
        }
    }

    double sum_between(std::uint32_t low, std::uint32_t high) const {
        double sum = 0;
        const std::size_t rows = keys.size();
        for (std::size_t i = 0; i < rows; i++) {
            const float price = prices[i];
            sum += keys[i] - low < high - low ? static_cast<double>(price) : 0.0;
        }
        return sum;
    }

  private:
    std::vector<std::uint32_t> keys;
    std::vector<float> prices;
};

void serve(std::size_t rows, std::uint32_t number, double& answer) {
    const Shard shard(rows, number * 7919u + 17u);
    double total = 0;
    for (std::uint32_t query = 0; query < kQueries; query++)
        total += shard.sum_between(query << 16, (query + 3) << 16);
    answer = total;
}

}  // namespace

int main() {
    const char* setting = std::getenv("THREADS");
    const std::uint32_t threads =
        setting ? static_cast<std::uint32_t>(std::strtoul(setting, nullptr, 10)) : 4;
    if (threads == 0) return 1;
    std::vector<double> answers(threads);
    std::vector<std::thread> workers;
    for (std::uint32_t t = 0; t < threads; t++)
        workers.emplace_back(serve, kRows / threads, t, std::ref(answers[t]));
    for (std::thread& worker : workers) worker.join();
    double total = 0;
    for (double answer : answers) total += answer;
    std::printf("sum of prices: %.2f\n", total);
}
