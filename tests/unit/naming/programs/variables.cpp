// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <iostream>

namespace wave {
double field[500];
namespace {
int hidden[11];
}
template <typename T>
struct Pool {
    static T blocks[7];
};
template <typename T>
T Pool<T>::blocks[7];
struct Grid {
    static inline long shape[3] = {1, 2, 3};
};
int* hidden_address() {
    return hidden;
}
}  // namespace wave

static float table[9];
thread_local int per_thread[5];

int* once() {
    static int seen[13];
    return seen;
}

int main() {
    std::printf("wave::field %p %zu\n", static_cast<void*>(wave::field), sizeof wave::field);
    std::printf("wave::(anonymous_namespace)::hidden %p %zu\n",
                static_cast<void*>(wave::hidden_address()), sizeof(int[11]));
    std::printf("wave::Pool<double>::blocks %p %zu\n",
                static_cast<void*>(wave::Pool<double>::blocks), sizeof(double[7]));
    std::printf("wave::Grid::shape %p %zu\n", static_cast<void*>(wave::Grid::shape),
                sizeof(long[3]));
    std::printf("table %p %zu\n", static_cast<void*>(table), sizeof table);
    std::printf("once.seen %p %zu\n", static_cast<void*>(once()), sizeof(int[13]));
    per_thread[0] = 1;
    std::fflush(stdout);
    std::cout << std::ifstream("/proc/self/maps").rdbuf();
}
