// SPDX-License-Identifier: Apache-2.0
// Compares a batch of face descriptors with a gallery, as the last step of recognition. The main
// thread loads both. The threads form a grid: a thread takes one half of the queries and one half
// of the gallery, so that each half of each array has two users.
// label: queries = shared by groups
// action: queries = spread | copy or spread | none
// label: gallery = shared by groups
// action: gallery = spread | copy or spread | none
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kLength = 8192;
constexpr std::size_t kQueries = 64;
constexpr std::size_t kGallery = 64;

std::vector<float> load(std::size_t rows, std::uint32_t seed) {
    std::vector<float> values;
    values.reserve(rows * kLength);
    for (std::size_t i = 0; i < rows * kLength; i++) {
        seed = seed * 1664525u + 1013904223u;
        values.push_back(static_cast<float>(seed >> 8) / 16777216.0f - 0.5f);
    }
    return values;
}

float dot(const float* a, const float* b) {
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (std::size_t i = 0; i < kLength; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    return s0 + s1 + (s2 + s3);
}

struct Best {
    float score = -1e30f;
    std::size_t query = 0, face = 0;
};

Best match(const std::vector<float>& queries, const std::vector<float>& gallery,
           std::size_t query_begin, std::size_t query_end, std::size_t face_begin,
           std::size_t face_end) {
    Best best;
    for (std::size_t q = query_begin; q < query_end; q++)
        for (std::size_t f = face_begin; f < face_end; f++) {
            const float score = dot(&queries[q * kLength], &gallery[f * kLength]);
            if (score > best.score) best = {score, q, f};
        }
    return best;
}

}  // namespace

int main() {
    const char* setting = std::getenv("THREADS");
    const std::size_t threads = setting ? std::strtoul(setting, nullptr, 10) : 4;
    if (threads < 2 || threads % 2 != 0) return 1;
    const std::size_t rows = threads / 2;
    const std::vector<float> queries = load(kQueries, 12345);
    const std::vector<float> gallery = load(kGallery, 67890);
    std::vector<Best> results(threads);
    std::vector<std::thread> grid;
    for (std::size_t t = 0; t < threads; t++)
        grid.emplace_back([&, t] {
            const std::size_t row = t / 2, column = t % 2;
            results[t] = match(queries, gallery, kQueries * row / rows, kQueries * (row + 1) / rows,
                               kGallery * column / 2, kGallery * (column + 1) / 2);
        });
    for (std::thread& thread : grid) thread.join();
    Best best;
    for (const Best& result : results)
        if (result.score > best.score) best = result;
    std::printf("query %zu matches face %zu with %.3f\n", best.query, best.face,
                static_cast<double>(best.score));
}
