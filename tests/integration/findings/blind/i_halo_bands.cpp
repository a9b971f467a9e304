// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Every thread allocates and fills its own band of rows with one halo row at each side, and
// only copies the halo rows of its neighbours after each step.
// action: run = none
// harm: cells = spread | copy | divide
// harm: next = spread | copy | divide
// Labels of what needs no action, added after the first look:
// label: cells = partitioned
// label: next = partitioned
// Heat in a plate: a band of rows per thread, with halo rows that are exchanged after each step.
//   usage: halo_bands [rows] [columns] [steps] [threads]
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

class Band {
  public:
    Band(int first, int rows, int columns)
        : first_(first),
          rows_(rows),
          columns_(columns),
          cells(new double[size_t(rows + 2) * columns]),
          next(new double[size_t(rows + 2) * columns]) {
        for (int r = 0; r < rows + 2; ++r)
            for (int c = 0; c < columns; ++c)
                cells[at(r, c)] = next[at(r, c)] =
                    20.0 + 60.0 * std::sin(0.01 * (first + r)) * std::cos(0.02 * c);
    }
    void step() {
        for (int r = 1; r <= rows_; ++r)
            for (int c = 1; c < columns_ - 1; ++c)
                next[at(r, c)] =
                    cells[at(r, c)] +
                    0.2 * (cells[at(r - 1, c)] + cells[at(r + 1, c)] + cells[at(r, c - 1)] +
                           cells[at(r, c + 1)] - 4.0 * cells[at(r, c)]);
        std::swap(cells, next);
    }
    void take_above(const Band& other) {
        for (int c = 0; c < columns_; ++c) cells[at(0, c)] = other.cells[at(other.rows_, c)];
    }
    void take_below(const Band& other) {
        for (int c = 0; c < columns_; ++c) cells[at(rows_ + 1, c)] = other.cells[at(1, c)];
    }
    double heat() const {
        double sum = 0;
        for (int r = 1; r <= rows_; ++r) sum += cells[at(r, columns_ / 2)];
        return sum;
    }

  private:
    size_t at(int r, int c) const { return size_t(r) * columns_ + c; }
    int first_, rows_, columns_;
    std::unique_ptr<double[]> cells, next;
};

int main(int argc, char** argv) {
    const int rows = argc > 1 ? std::atoi(argv[1]) : 800;
    const int columns = argc > 2 ? std::atoi(argv[2]) : 700;
    const int steps = argc > 3 ? std::atoi(argv[3]) : 12;
    const int count = argc > 4 ? std::atoi(argv[4]) : 4;
    std::vector<std::unique_ptr<Band>> bands(count);
    std::barrier meet(count);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
        threads.emplace_back([&, t] {
            const int first = rows * t / count, last = rows * (t + 1) / count;
            bands[t] = std::make_unique<Band>(first, last - first, columns);
            Band& mine = *bands[t];
            meet.arrive_and_wait();
            for (int s = 0; s < steps; ++s) {
                mine.step();
                meet.arrive_and_wait();
                if (t > 0) mine.take_above(*bands[t - 1]);
                if (t + 1 < count) mine.take_below(*bands[t + 1]);
                meet.arrive_and_wait();
            }
        });
    for (auto& thread : threads) thread.join();
    double heat = 0;
    for (auto& band : bands) heat += band->heat();
    std::printf("heat %.6f\n", heat);
}
