// SPDX-License-Identifier: Apache-2.0
// Containers and a list, for comparing recorders.
#include <cstdio>
#include <memory>
#include <vector>

namespace {

constexpr long kWords = 32 * 512;

struct Grid {
    explicit Grid(long n) : cells(new double[static_cast<size_t>(n)]), size(n) {}
    std::unique_ptr<double[]> cells;
    long size;
};

__attribute__((noinline)) void smooth(Grid& grid) {
    for (long i = 0; i + 1 < grid.size; ++i) {
        grid.cells[i] = (grid.cells[i] + grid.cells[i + 1]) / 2;
    }
}

}  // namespace

int main() {
    Grid grid(kWords);
    for (long i = 0; i < kWords; ++i) {
        grid.cells[i] = static_cast<double>(i % 17);
    }
    for (int round = 0; round < 4; ++round) {
        smooth(grid);
    }
    std::vector<long> sums(kWords);
    for (long i = 0; i < kWords; ++i) {
        sums[static_cast<size_t>(i)] = static_cast<long>(grid.cells[i]);
    }
    std::printf("%g %ld\n", grid.cells[77], sums[99]);
    return 0;
}
