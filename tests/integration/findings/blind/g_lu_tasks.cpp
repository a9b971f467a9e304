// SPDX-License-Identifier: Apache-2.0
// LU factorisation without pivoting, in tiles, as OpenMP tasks with dependences.
// label: tiles = pages change users
// Why: main fills all tiles, and any thread takes the next task, so a tile has other users in each
// step.
// action: tiles = divide|spread
// harm: tiles = copy
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kSide = 64;
constexpr int kTiles = 10;
constexpr std::size_t kTile = static_cast<std::size_t>(kSide) * kSide;

void factor(double* a) {
    for (int k = 0; k < kSide; k++) {
        for (int i = k + 1; i < kSide; i++) {
            a[i * kSide + k] /= a[k * kSide + k];
            for (int j = k + 1; j < kSide; j++)
                a[i * kSide + j] -= a[i * kSide + k] * a[k * kSide + j];
        }
    }
}

void lower(const double* diagonal, double* a) {
    for (int k = 0; k < kSide; k++)
        for (int i = k + 1; i < kSide; i++)
            for (int j = 0; j < kSide; j++)
                a[i * kSide + j] -= diagonal[i * kSide + k] * a[k * kSide + j];
}

void upper(const double* diagonal, double* a) {
    for (int i = 0; i < kSide; i++) {
        for (int k = 0; k < kSide; k++) {
            a[i * kSide + k] /= diagonal[k * kSide + k];
            for (int j = k + 1; j < kSide; j++)
                a[i * kSide + j] -= a[i * kSide + k] * diagonal[k * kSide + j];
        }
    }
}

void update(const double* left, const double* above, double* a) {
    for (int i = 0; i < kSide; i++)
        for (int k = 0; k < kSide; k++)
            for (int j = 0; j < kSide; j++)
                a[i * kSide + j] -= left[i * kSide + k] * above[k * kSide + j];
}

double element(int row, int column) {
    double value = static_cast<double>((row * 37 + column * 101) % 97) / 97;
    return row == column ? value + kSide * kTiles : value;
}

}  // namespace

int main() {
    std::vector<double> tiles(kTile * kTiles * kTiles);
    double* base = tiles.data();
    auto tile = [base](int row, int column) {
        return base + kTile * static_cast<std::size_t>(row * kTiles + column);
    };
    for (int row = 0; row < kSide * kTiles; row++)
        for (int column = 0; column < kSide * kTiles; column++)
            tile(row / kSide, column / kSide)[row % kSide * kSide + column % kSide] =
                element(row, column);
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < kTiles; k++) {
        double* d = tile(k, k);
#pragma omp task depend(inout : d[0])
        factor(d);
        for (int j = k + 1; j < kTiles; j++) {
            double* a = tile(k, j);
#pragma omp task depend(in : d[0]) depend(inout : a[0])
            lower(d, a);
        }
        for (int i = k + 1; i < kTiles; i++) {
            double* a = tile(i, k);
#pragma omp task depend(in : d[0]) depend(inout : a[0])
            upper(d, a);
        }
        for (int i = k + 1; i < kTiles; i++) {
            for (int j = k + 1; j < kTiles; j++) {
                double *left = tile(i, k), *above = tile(k, j), *a = tile(i, j);
#pragma omp task depend(in : left[0], above[0]) depend(inout : a[0])
                update(left, above, a);
            }
        }
    }
    double determinant = 0;
    for (int i = 0; i < kSide * kTiles; i++)
        determinant += std::log(tile(i / kSide, i / kSide)[i % kSide * kSide + i % kSide]);
    std::printf("log of the determinant: %.6f\n", determinant);
    return std::isfinite(determinant) ? 0 : 1;
}
