// SPDX-License-Identifier: Apache-2.0
// Measures the cost of making a vector of 100 doubles, and of algorithms with workers on it.
//
//     small_vectors ROUNDS
//
// prints a line of what, and microseconds of CPU time of the calling thread, for each in each
// round.
#include <time.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "numascape/numa_vector.hpp"
#include "numascape/parallel_algorithm.hpp"
#include "numascape/segmented_vector.hpp"

namespace {

constexpr std::size_t elements = 100;
double sink = 0;

double cpu_microseconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

template <class Work>
void time(const char* what, int repetitions, Work work) {
    const double begin = cpu_microseconds();
    for (int i = 0; i < repetitions; ++i) work();
    std::printf("%s,%.6g\n", what, (cpu_microseconds() - begin) / repetitions);
}

}  // namespace

int main(int, char** arguments) {
    using namespace numascape;
    node_threads workers;
    segmented_vector<double> x{workers, layout{}, elements, 1.0};
    segmented_vector<double> y{workers, layout{}, elements, 2.0};
    for (int round = std::atoi(arguments[1]); round > 0; --round) {
        time("std::vector", 1000, [] { sink += std::vector<double>(elements, 1.0)[3]; });
        time("segmented_vector", 200,
             [] { sink += segmented_vector<double>{layout{}, elements, 1.0}[3]; });
        time("segmented_vector, made by workers", 200,
             [&] { sink += segmented_vector<double>{workers, layout{}, elements, 1.0}[3]; });
        time("numa_vector", 200, [] { sink += numa_vector<double>{layout{}, elements, 1.0}[3]; });
        time("transform with workers", 1000,
             [&] { transform(workers, x, y, y, [](double a, double b) { return a + 0.5 * b; }); });
        time("reduce with workers", 1000, [&] { sink += reduce(workers, y, 0.0, std::plus<>{}); });
    }
    return sink == 0;
}
