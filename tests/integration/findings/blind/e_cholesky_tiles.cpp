// SPDX-License-Identifier: Apache-2.0
// Cholesky factorisation by tiles, as OpenMP tasks with dependences. Whichever thread is free takes
// the next task, so a tile is read and written by all threads in turn, and by others in each run.
// No first touch can be right for that: the pages should be interleaved. The matrix is generated
// by the thread that creates the tasks.
// label: tiles = shared, written
// action: tiles = spread
// harm: tiles = local
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

constexpr int kTile = 64;
constexpr int kTiles = 18;
constexpr size_t kTileSize = static_cast<size_t>(kTile) * kTile;

// The lower triangle of tiles, each stored by columns.
static double* tile_at(double* tiles, int row, int column) {
    return tiles + (static_cast<size_t>(row) * (row + 1) / 2 + column) * kTileSize;
}

static void generate(double* tiles) {
    for (int row = 0; row < kTiles; row++) {
        for (int column = 0; column <= row; column++) {
            double* tile = tile_at(tiles, row, column);
            for (int j = 0; j < kTile; j++) {
                for (int i = 0; i < kTile; i++) {
                    int r = row * kTile + i, c = column * kTile + j;
                    tile[j * kTile + i] = r == c ? 80.0 : 1.0 / (1 + std::abs(r - c));
                }
            }
        }
    }
}

static void factor(double* a) {
    for (int k = 0; k < kTile; k++) {
        double root = std::sqrt(a[k * kTile + k]);
        a[k * kTile + k] = root;
        for (int i = k + 1; i < kTile; i++) a[k * kTile + i] /= root;
        for (int j = k + 1; j < kTile; j++) {
            double factor = a[k * kTile + j];
            for (int i = j; i < kTile; i++) a[j * kTile + i] -= factor * a[k * kTile + i];
        }
    }
}

static void solve(const double* diagonal, double* b) {
    for (int k = 0; k < kTile; k++) {
        double pivot = 1 / diagonal[k * kTile + k];
        for (int i = 0; i < kTile; i++) b[k * kTile + i] *= pivot;
        for (int j = k + 1; j < kTile; j++) {
            double factor = diagonal[k * kTile + j];
            for (int i = 0; i < kTile; i++) b[j * kTile + i] -= factor * b[k * kTile + i];
        }
    }
}

static void subtract_product(const double* a, const double* b, double* c) {
    for (int j = 0; j < kTile; j++) {
        for (int k = 0; k < kTile; k++) {
            double factor = b[k * kTile + j];
            for (int i = 0; i < kTile; i++) c[j * kTile + i] -= factor * a[k * kTile + i];
        }
    }
}

static void factorise(double* tiles) {
    for (int k = 0; k < kTiles; k++) {
        double* diagonal = tile_at(tiles, k, k);
#pragma omp task depend(inout : *diagonal)
        factor(diagonal);
        for (int i = k + 1; i < kTiles; i++) {
            double* below = tile_at(tiles, i, k);
#pragma omp task depend(in : *diagonal) depend(inout : *below)
            solve(diagonal, below);
        }
        for (int i = k + 1; i < kTiles; i++) {
            for (int j = k + 1; j <= i; j++) {
                double* left = tile_at(tiles, i, k);
                double* top = tile_at(tiles, j, k);
                double* target = tile_at(tiles, i, j);
#pragma omp task depend(in : *left, *top) depend(inout : *target)
                subtract_product(left, top, target);
            }
        }
    }
}

int main() {
    std::unique_ptr<double[]> tiles(new double[kTileSize * kTiles * (kTiles + 1) / 2]);
    generate(tiles.get());
#pragma omp parallel
#pragma omp single
    factorise(tiles.get());
    double logarithm = 0;
    for (int k = 0; k < kTiles; k++) {
        const double* diagonal = tile_at(tiles.get(), k, k);
        for (int i = 0; i < kTile; i++) logarithm += 2 * std::log(diagonal[i * kTile + i]);
    }
    std::printf("logarithm of the determinant %.8f\n", logarithm);
}
