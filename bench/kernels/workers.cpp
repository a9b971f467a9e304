// SPDX-License-Identifier: Apache-2.0
// workers ROUNDS: parallel algorithms on a segmented_vector with all workers of this process's
// CPUs, and the same loops on a std::vector with as many threads of OpenMP. Prints
// "kernel,way,milliseconds" for each round, which is wall time. The layout is the default one: a
// segment per node.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <parallel/algorithm>
#include <string_view>
#include <vector>

#include "numascape/executor.hpp"
#include "numascape/parallel_algorithm.hpp"
#include "numascape/segmented_vector.hpp"
#include "numascape/sort.hpp"

namespace {

constexpr std::size_t kElements = std::size_t{1} << 25;

// A number for each index that looks random, so that sorting has work to do.
double scattered(std::size_t index) {
    return static_cast<double>((index * 0x9E3779B97F4A7C15u) >> 11);
}

double heavy(double x) {
    for (int i = 0; i < 20; ++i) x = x * 0.5 + 1 / (x + 1);
    return x;
}

template <class F>
void timed(std::string_view kernel, const char* way, F&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    std::printf("%.*s,%s,%.4f\n", static_cast<int>(kernel.size()), kernel.data(), way,
                taken.count());
}

void segmented(int rounds) {
    numascape::node_threads workers;
    numascape::segmented_vector<double> v(workers, numascape::layout{}, kElements);
    volatile double sum = 0;
    for (int round = 0; round < rounds; ++round) {
        timed("transform", "segmented",
              [&] { numascape::transform(workers, v, v, [](double x) { return x * 0.5 + 1; }); });
        timed("heavy transform", "segmented",
              [&] { numascape::transform(workers, v, v, [](double x) { return heavy(x); }); });
        timed("reduce", "segmented",
              [&] { sum = numascape::reduce(workers, v, 0.0, std::plus<>{}); });
        timed("inclusive_scan", "segmented",
              [&] { numascape::inclusive_scan(workers, v, v, std::plus<>{}, 0.0); });
        std::size_t index = 0;
        for (auto segment : v.segments())
            for (double& x : segment) x = scattered(index++);
        timed("sort", "segmented", [&] { numascape::sort(workers, v); });
    }
}

void plain(int rounds) {
    std::vector<double> v(kElements);
    double* const x = v.data();
    volatile double sink = 0;
    for (int round = 0; round < rounds; ++round) {
        timed("transform", "OpenMP", [&] {
#pragma omp parallel for simd schedule(static)
            for (std::size_t i = 0; i < kElements; ++i) x[i] = x[i] * 0.5 + 1;
        });
        timed("heavy transform", "OpenMP", [&] {
#pragma omp parallel for simd schedule(static)
            for (std::size_t i = 0; i < kElements; ++i) x[i] = heavy(x[i]);
        });
        timed("reduce", "OpenMP", [&] {
            double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
            for (std::size_t i = 0; i < kElements; ++i) sum += x[i];
            sink = sum;
        });
        timed("inclusive_scan", "OpenMP", [&] {
            double sum = 0;
#pragma omp parallel for simd reduction(inscan, + : sum)
            for (std::size_t i = 0; i < kElements; ++i) {
                sum += x[i];
#pragma omp scan inclusive(sum)
                x[i] = sum;
            }
        });
        for (std::size_t i = 0; i < kElements; ++i) x[i] = scattered(i);
        timed("sort", "OpenMP", [&] { __gnu_parallel::sort(v.begin(), v.end()); });
    }
}

}  // namespace

int main(int count, char** words) {
    const int rounds = count == 2 ? std::atoi(words[1]) : 0;
    if (rounds < 1) return 2;
    segmented(rounds);
    plain(rounds);
    return 0;
}
