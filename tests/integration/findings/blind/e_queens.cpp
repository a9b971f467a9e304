// SPDX-License-Identifier: Apache-2.0
// How many ways to place 13 queens on a board? The first two queens are dealt to the threads in
// turn. A board is three small arrays in the stack of its thread. The threads share nothing but one
// number each, at the end, and all data fits into a level 1 cache.
// label: run = no NUMA problem
// action: run = none
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

constexpr int kQueens = 13;

struct Board {
    bool column[kQueens] = {};
    bool rising[2 * kQueens] = {};
    bool falling[2 * kQueens] = {};

    bool is_free(int row, int c) const {
        return !column[c] && !rising[row + c] && !falling[row - c + kQueens];
    }
    void set(int row, int c, bool occupied) {
        column[c] = rising[row + c] = falling[row - c + kQueens] = occupied;
    }
};

static uint64_t complete(Board& board, int row) {
    if (row == kQueens) return 1;
    uint64_t ways = 0;
    for (int c = 0; c < kQueens; c++) {
        if (!board.is_free(row, c)) continue;
        board.set(row, c, true);
        ways += complete(board, row + 1);
        board.set(row, c, false);
    }
    return ways;
}

static uint64_t search(int thread, int threads) {
    uint64_t ways = 0;
    for (int start = thread; start < kQueens * kQueens; start += threads) {
        Board board;
        board.set(0, start / kQueens, true);
        if (!board.is_free(1, start % kQueens)) continue;
        board.set(1, start % kQueens, true);
        ways += complete(board, 2);
    }
    return ways;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    if (threads < 1) return 2;
    std::vector<uint64_t> ways(threads);
    std::vector<std::thread> searchers;
    for (int t = 0; t < threads; t++) {
        searchers.emplace_back([&ways, t, threads] { ways[t] = search(t, threads); });
    }
    uint64_t sum = 0;
    for (int t = 0; t < threads; t++) {
        searchers[t].join();
        sum += ways[t];
    }
    std::printf("%llu ways\n", static_cast<unsigned long long>(sum));
}
