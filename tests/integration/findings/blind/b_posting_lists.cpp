// SPDX-License-Identifier: Apache-2.0
// A search index of 256 posting lists, a vector of vectors. Four threads build the lists in turn
// (list t by thread t % 4, which allocates and fills it). After a barrier the same threads answer
// queries, but now each has 64 lists in a row: three of four lists were touched first by another
// thread than the one that uses them.
// label: postings = remote first touch
// action: postings = local
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

constexpr int terms = 256, documents = 8192, rounds = 6;

using List = std::vector<uint32_t>;

static List build(int term) {
    List list;
    list.reserve(documents);
    uint32_t state = uint32_t(term), document = 0;
    for (int n = 0; n < documents; ++n) {
        state = state * 1664525U + 1013904223U;
        document += 1 + (state >> 30);
        list.push_back(document);
    }
    return list;
}

static uint64_t intersect(const List& a, const List& b) {
    uint64_t found = 0;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i] < b[j]) {
            ++i;
        } else if (b[j] < a[i]) {
            ++j;
        } else {
            found += a[i];
            ++i;
            ++j;
        }
    }
    return found;
}

int main() {
    const char* wanted = std::getenv("THREADS");
    const int threads = wanted ? std::atoi(wanted) : 4;
    std::vector<List> postings(terms);
    std::vector<uint64_t> found(terms);
    std::barrier built(threads);

    auto work = [&](int id) {
        for (int term = id; term < terms; term += threads) postings[term] = build(term);
        built.arrive_and_wait();
        const int first = terms * id / threads, last = terms * (id + 1) / threads;
        for (int round = 1; round <= rounds; ++round) {
            for (int term = first; term + round < last; ++term) {
                found[term] += intersect(postings[term], postings[term + round]);
            }
        }
    };
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) workers.emplace_back(work, t);
    for (std::thread& worker : workers) worker.join();

    uint64_t sum = 0;
    for (int term = 0; term < terms; ++term) sum += found[term];
    std::printf("sum %llu with %d threads\n", static_cast<unsigned long long>(sum), threads);
}
