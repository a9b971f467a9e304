// SPDX-License-Identifier: Apache-2.0
// Blocks from operator new, as arrays, objects and inside a std::vector.
#include <malloc.h>
#include <memory>
#include <vector>

#include "kernels.h"

constexpr long words = 64 * PAGE / 8;

struct Grid {
    double* field;
};

static Grid* grid;
static double* array;
static std::vector<double> values;

int main() {
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    array = new double[words];
    write_strided(array, words, 8);
    grid = new Grid;
    grid->field = new double[words];
    read_strided(grid->field, words, 8);
    values.reserve(words);
    add_strided(values.data(), words, 8);
    delete[] grid->field;
    delete grid;
    delete[] array;
    return 0;
}
