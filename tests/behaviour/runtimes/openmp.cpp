// SPDX-License-Identifier: Apache-2.0
// C++ with OpenMP: parallel sums, containers, exceptions and threads of the standard library.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../programs/rounds.h"

static long parallel_sum(std::vector<double>& block) {
    const long count = static_cast<long>(block.size());
    double sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (long i = 0; i < count; i++) {
        block[i] = static_cast<double>(i % 1000) * 0.5;
        sum += block[i];
    }
    return static_cast<long>(sum);
}

static long thrown_through(int depth) {
    const std::string local(100, 'x');  // destroyed by the exception
    if (depth == 0) throw std::runtime_error(local);
    return thrown_through(depth - 1) + static_cast<long>(local.size());
}

static long words() {
    std::unordered_map<std::string, long> counts;
    for (int i = 0; i < 5000; i++) counts["word" + std::to_string(i % 137)] += i;
    std::vector<long> sorted;
    for (const auto& [word, count] : counts) sorted.push_back(count);
    std::sort(sorted.begin(), sorted.end());
    return sorted.front() + sorted.back();
}

static long work() {
    std::vector<double> block(200000);
    long sum = parallel_sum(block), other = 0;
    std::thread thread([&other] { other = words(); });
    for (int i = 0; i < 50; i++) {
        try {
            sum += thrown_through(20);
        } catch (const std::runtime_error& error) {
            sum += static_cast<long>(std::string(error.what()).size());
        }
    }
    thread.join();
    return sum + other;
}

int main(int count, char**) {
    return rounds(count, work);
}
