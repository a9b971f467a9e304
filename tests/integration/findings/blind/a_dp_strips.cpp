// SPDX-License-Identifier: Apache-2.0
// Local alignment (Smith-Waterman) of twelve queries of 255 letters with a reference of 8192
// letters. Thread t computes the same strip of columns for each query, as soon as the strip on its
// left is 16 rows ahead. The vector's constructor, in main, touched all of the table (8 MiB); a
// strip of a row is 8 KiB. A cell needs its left and upper neighbours, so no loop can simply be
// made parallel.
// label: score = serial first touch
// action: score = local
// harm: score = parallelise the existing loop
// label: reference = cache-resident
// action: reference = none
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int ROWS = 256;
constexpr int COLUMNS = 8192;
constexpr int QUERIES = 12;
constexpr int AHEAD = 16;

struct alignas(64) Progress {
    std::atomic<int> rows{0};
};

std::string letters(int length, unsigned state) {
    std::string text;
    for (int i = 0; i < length; i++) {
        state = state * 1664525U + 1013904223U;
        text += "ACGT"[state >> 30];
    }
    return text;
}

int fill_row(const int* above, int* row, const char* reference, char letter, int first, int end) {
    int best = 0, left = first > 0 ? row[first - 1] : 0;
    int diagonal = first > 0 ? above[first - 1] : 0;
    for (int c = first; c < end; c++) {
        const int up = above[c];
        const int matched = diagonal + (reference[c] == letter ? 2 : -1);
        left = std::max(std::max(0, matched), std::max(up, left) - 1);
        row[c] = left;
        best = std::max(best, left);
        diagonal = up;
    }
    return best;
}

}  // namespace

int main() {
    const char* chosen = std::getenv("THREADS");
    const int count = chosen ? std::atoi(chosen) : 4;
    std::vector<int> score(ROWS * COLUMNS);
    const std::string reference = letters(COLUMNS, 5);
    std::vector<std::string> queries;
    for (int q = 0; q < QUERIES; q++) queries.push_back(letters(ROWS - 1, 100 + q));
    std::vector<Progress> progress(count + 1);
    std::vector<int> best(count * 16);
    std::barrier round(count);

    auto align_strip = [&](int t) {
        const int first = COLUMNS / count * t;
        const int end = t + 1 == count ? COLUMNS : first + COLUMNS / count;
        int highest = 0;
        for (int q = 0; q < QUERIES; q++) {
            for (int r = 1; r < ROWS; r++) {
                const int needed = q * ROWS + std::min(ROWS - 1, (r + AHEAD - 1) / AHEAD * AHEAD);
                while (t > 0) {
                    const int done = progress[t].rows.load(std::memory_order_acquire);
                    if (done >= needed) break;
                    progress[t].rows.wait(done);
                }
                const int* above = score.data() + static_cast<size_t>(r - 1) * COLUMNS;
                int* row = score.data() + static_cast<size_t>(r) * COLUMNS;
                highest = std::max(
                    highest, fill_row(above, row, reference.data(), queries[q][r - 1], first, end));
                progress[t + 1].rows.store(q * ROWS + r, std::memory_order_release);
                if (r % AHEAD == 0 || r == ROWS - 1) progress[t + 1].rows.notify_one();
            }
            round.arrive_and_wait();
        }
        best[t * 16] = highest;
    };

    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++) threads.emplace_back(align_strip, t);
    for (auto& thread : threads) thread.join();
    long corner = 0;
    for (int c = 0; c < COLUMNS; c++) corner += score[(ROWS - 1) * COLUMNS + c];
    std::printf("best %d, last row %ld\n", *std::max_element(best.begin(), best.end()), corner);
    return 0;
}
