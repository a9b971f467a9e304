// SPDX-License-Identifier: Apache-2.0
// Scores texts: each thread draws words and compares their vectors (256 bytes each, 16 MiB in all)
// with one query vector. Main read the vectors from a "file"; the threads only read them, any
// thread any row. The rows are sorted by frequency, and 70 % of the words are among the first
// eighth (2 MiB).
// label: embeddings = shared, read-mostly
// label: embeddings = hot pages
// action: embeddings = copy or spread
// label: query = cache-resident
// action: query = none
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr unsigned WORDS = 1U << 16;
constexpr unsigned FREQUENT = WORDS / 8;
constexpr int D = 64;
constexpr int LOOKUPS = 1 << 21;

uint32_t draw(uint64_t& state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>(state >> 33);
}

uint32_t draw_word(uint64_t& state) {
    const uint32_t limit = draw(state) % 10 < 7 ? 0 : FREQUENT;
    const uint32_t range = limit ? WORDS - FREQUENT : FREQUENT;
    return limit + draw(state) % range;
}

double score_text(const std::vector<float>& embeddings, const std::vector<float>& query, int words,
                  uint64_t seed) {
    uint64_t state = seed;
    double total = 0;
    for (int w = 0; w < words; w++) {
        const float* row = embeddings.data() + static_cast<size_t>(draw_word(state)) * D;
        float product = 0;
        for (int d = 0; d < D; d++) product += row[d] * query[d];
        total += product;
    }
    return total;
}

}  // namespace

int main() {
    const char* chosen = std::getenv("THREADS");
    const int count = chosen ? std::atoi(chosen) : 4;
    std::vector<float> embeddings(static_cast<size_t>(WORDS) * D);
    uint64_t state = 3;
    for (auto& value : embeddings) value = static_cast<float>(draw(state) & 255) - 127.5F;
    std::vector<float> query(D);
    for (int d = 0; d < D; d++) query[d] = static_cast<float>(d % 5) - 2;
    std::vector<double> scores(count);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++) {
        threads.emplace_back(
            [&, t] { scores[t] = score_text(embeddings, query, LOOKUPS / count, 1000 + t); });
    }
    double sum = 0;
    for (int t = 0; t < count; t++) {
        threads[t].join();
        sum += scores[t];
    }
    std::printf("score %.1f\n", sum);
    return 0;
}
