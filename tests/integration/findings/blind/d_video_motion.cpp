// SPDX-License-Identifier: Apache-2.0
// Motion search of a video encoder. Rows of blocks are divided statically, and the same thread
// reads in, searches and keeps the pixels of its rows: the two frames are allocated without being
// touched. A search looks at most four pixel rows into the band of a neighbour, 256 rows high with
// 4 threads.
// label: run = no NUMA problem
// label: current = partitioned
// action: current = none
// label: reference = partitioned
// action: reference = none
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

constexpr int width = 2048;
constexpr int height = 1024;
constexpr int side = 16;
constexpr int reach = 4;
constexpr int frames = 3;

// Moving waves with some noise: frame t of a synthetic film.
std::uint8_t pixel(int x, int y, int t) {
    const unsigned noise =
        (static_cast<unsigned>(x) * 2654435761u ^ static_cast<unsigned>(y) * 40503u) >> 13;
    return static_cast<std::uint8_t>(((x + 2 * t) * (y - t) / 64 + static_cast<int>(noise & 7)) &
                                     255);
}

void read_row(std::uint8_t* frame, int block_row, int t) {
    for (int y = block_row * side; y < (block_row + 1) * side; ++y) {
        for (int x = 0; x < width; ++x)
            frame[static_cast<std::size_t>(y) * width + x] = pixel(x, y, t);
    }
}

int difference(const std::uint8_t* a, const std::uint8_t* b) {
    int sum = 0;
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) sum += std::abs(a[x] - b[x]);
        a += width;
        b += width;
    }
    return sum;
}

int search(const std::uint8_t* current, const std::uint8_t* reference, int block_x, int block_y) {
    const int x = block_x * side;
    const int y = block_y * side;
    const std::uint8_t* block = current + static_cast<std::size_t>(y) * width + x;
    int best = 1 << 30;
    for (int dy = -reach; dy <= reach; dy += 2) {
        for (int dx = -reach; dx <= reach; dx += 2) {
            const int from_x = std::clamp(x + dx, 0, width - side);
            const int from_y = std::clamp(y + dy, 0, height - side);
            const std::uint8_t* candidate =
                reference + static_cast<std::size_t>(from_y) * width + from_x;
            best = std::min(best, difference(block, candidate));
        }
    }
    return best;
}

}  // namespace

int main() {
    constexpr std::size_t pixels = static_cast<std::size_t>(width) * height;
    constexpr int block_rows = height / side;
    const auto current = std::make_unique_for_overwrite<std::uint8_t[]>(pixels);
    const auto reference = std::make_unique_for_overwrite<std::uint8_t[]>(pixels);
#pragma omp parallel for schedule(static)
    for (int row = 0; row < block_rows; ++row) read_row(reference.get(), row, 0);

    long total = 0;
    for (int t = 1; t <= frames; ++t) {
#pragma omp parallel for schedule(static)
        for (int row = 0; row < block_rows; ++row) read_row(current.get(), row, t);
#pragma omp parallel for schedule(static) reduction(+ : total)
        for (int row = 0; row < block_rows; ++row) {
            for (int column = 0; column < width / side; ++column) {
                total += search(current.get(), reference.get(), column, row);
            }
        }
#pragma omp parallel for schedule(static)
        for (int row = 0; row < block_rows; ++row) {
            const std::size_t at = static_cast<std::size_t>(row) * side * width;
            std::memcpy(reference.get() + at, current.get() + at,
                        static_cast<std::size_t>(side) * width);
        }
    }
    std::printf("residual %ld\n", total);
    return 0;
}
