// SPDX-License-Identifier: Apache-2.0
// label: counts = false sharing of cache lines
// Why: Six Counts of 24 bytes lie side by side in a vector, and each thread updates its own for
// every character (reference parameter, cannot stay in registers because of the byte stores).
// action: counts = pad
// harm: counts = spread
// Labels of what needs no action, added after the first look:
// label: text = partitioned
// Why: Each thread allocates, fills and reads its own.
// action: text = none
// harm: text = spread
// label: shard = cache-resident
// Why: 4 KB for each thread, which only this thread uses.
// action: shard = none
// wc with case folding over a set of in-memory documents, one shard a thread.
//   usage: wordcount [MB per thread] [threads]
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Counts {
    long chars = 0;
    long words = 0;
    long lines = 0;
};

struct Shard {
    std::unique_ptr<unsigned char[]> text;
    size_t size = 0;
    unsigned char longest[4000] = {};
};

static const char* const dictionary[] = {
    "The",    "quick", "Brown", "fox", "jumps",   "over",  "LAZY", "dogs",  "and",   "Then",
    "memory", "Node",  "a",     "of",  "threads", "write", "Page", "first", "touch", "it",
};

static void generate(Shard& s, size_t bytes, uint32_t seed) {
    s.text.reset(new unsigned char[bytes]);
    s.size = 0;
    uint32_t x = seed * 2654435761u + 1;
    int column = 0;
    for (;;) {
        x = x * 1664525u + 1013904223u;
        const char* w = dictionary[(x >> 16) % 20];
        size_t need = std::char_traits<char>::length(w) + 1;
        if (s.size + need > bytes) break;
        while (*w) s.text[s.size++] = *w++;
        column += need;
        s.text[s.size++] = column > 70 ? '\n' : ' ';
        if (column > 70) column = 0;
    }
}

// folds to lower case in place and keeps the totals current, so that a
// progress display may read them at any time
static void process(unsigned char* p, size_t n, Counts& c) {
    bool in_word = false;
    for (size_t i = 0; i < n; ++i) {
        unsigned char ch = p[i];
        c.chars++;
        if (ch == '\n') c.lines++;
        if (ch == ' ' || ch == '\n') {
            in_word = false;
        } else {
            if (!in_word) c.words++;
            in_word = true;
            if (ch >= 'A' && ch <= 'Z') p[i] = ch | 0x20;
        }
    }
}

int main(int argc, char** argv) {
    double mb = argc > 1 ? std::atof(argv[1]) : 2.0;
    int nthreads = argc > 2 ? std::atoi(argv[2]) : 6;
    int passes = 3;

    std::vector<Counts> counts(nthreads);
    std::vector<std::unique_ptr<Shard>> shards(nthreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < nthreads; ++t)
        threads.emplace_back([&, t] {
            auto shard = std::make_unique<Shard>();
            generate(*shard, size_t(mb * 1024 * 1024), t + 1);
            for (int p = 0; p < passes; ++p) process(shard->text.get(), shard->size, counts[t]);
            shards[t] = std::move(shard);
        });
    for (auto& th : threads) th.join();

    Counts total;
    unsigned long h = 5381;
    for (int t = 0; t < nthreads; ++t) {
        total.chars += counts[t].chars;
        total.words += counts[t].words;
        total.lines += counts[t].lines;
        for (size_t i = 0; i < shards[t]->size; i += 4001) h = h * 33 + shards[t]->text[i];
    }
    std::printf("%8ld %8ld %10ld  checksum %016lx\n", total.lines / passes, total.words / passes,
                total.chars / passes, h);
}
