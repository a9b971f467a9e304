// SPDX-License-Identifier: Apache-2.0
// Red-black relaxation of the potential in a chip package. The fields are vectors in a nested
// struct: their constructor, in main, writes zeros to every page before the first parallel loop
// runs. The sweeps divide the rows statically, always in the same way; only the rows at the borders
// of the parts are read by two threads. The fields should be built without touching their pages.
// label: potential = serial first touch
// action: potential = local
// label: charge = serial first touch
// action: charge = local
#include <cstdio>
#include <vector>

class Package {
  public:
    Package(int rows, int columns) : rows_(rows), columns_(columns) {
        size_t cells = static_cast<size_t>(rows) * columns;
        fields_.potential.resize(cells);
        fields_.charge.resize(cells);
    }

    void place_charges() {
#pragma omp parallel for schedule(static)
        for (int row = 0; row < rows_; row++) {
            for (int column = 0; column < columns_; column++) {
                fields_.charge[index(row, column)] = 0.01 * ((row * 31 + column * 17) % 11 - 5);
            }
        }
    }

    void sweep(int colour) {
        double* potential = fields_.potential.data();
        const double* charge = fields_.charge.data();
#pragma omp parallel for schedule(static)
        for (int row = 1; row < rows_ - 1; row++) {
            for (int column = 1 + (row + colour) % 2; column < columns_ - 1; column += 2) {
                size_t at = index(row, column);
                potential[at] =
                    0.25 * (potential[at - 1] + potential[at + 1] + potential[at - columns_] +
                            potential[at + columns_] + charge[at]);
            }
        }
    }

    double energy() const {
        double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int row = 0; row < rows_; row++) {
            for (int column = 0; column < columns_; column++) {
                size_t at = index(row, column);
                sum += fields_.potential[at] * fields_.charge[at];
            }
        }
        return sum;
    }

  private:
    struct Fields {
        std::vector<double> potential;
        std::vector<double> charge;
    };

    size_t index(int row, int column) const { return static_cast<size_t>(row) * columns_ + column; }

    int rows_;
    int columns_;
    Fields fields_;
};

int main() {
    Package package(1200, 1024);
    package.place_charges();
    for (int iteration = 0; iteration < 24; iteration++) {
        package.sweep(0);
        package.sweep(1);
    }
    std::printf("energy %.8f\n", package.energy());
}
