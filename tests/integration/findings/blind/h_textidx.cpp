// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: Practically all memory work (corpus, index) is done by the single main thread; the 4 query
// threads only read a few short posting lists at the end.
// action: run = none
// Labels of what needs no action, added after the first look:
// label: corpus = partitioned
// Why: Only main uses it.
// action: corpus = none
// harm: corpus = spread | local
// harm: postings_ = spread | local | copy
// Builds an inverted index over a synthetic document collection and then
// answers a handful of boolean queries with a few threads.
//   usage: textidx [documents] [query threads]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

struct Posting {
    uint32_t doc;
    uint32_t freq;
};

class Index {
  public:
    void add_document(uint32_t doc, std::string_view text) {
        std::unordered_map<std::string_view, uint32_t> freq;
        size_t pos = 0;
        while (pos < text.size()) {
            size_t end = text.find(' ', pos);
            if (end == std::string_view::npos) end = text.size();
            if (end > pos) ++freq[text.substr(pos, end - pos)];
            pos = end + 1;
        }
        for (auto& [word, n] : freq) postings_[std::string(word)].push_back({doc, n});
    }
    const std::vector<Posting>* lookup(const std::string& w) const {
        auto it = postings_.find(w);
        return it == postings_.end() ? nullptr : &it->second;
    }
    size_t terms() const { return postings_.size(); }
    size_t total() const {
        size_t n = 0;
        for (auto& kv : postings_) n += kv.second.size();
        return n;
    }

  private:
    std::unordered_map<std::string, std::vector<Posting>> postings_;
};

static uint32_t rng_state = 12345;
static uint32_t rnd() {
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 17;
    rng_state ^= rng_state << 5;
    return rng_state;
}

static std::string make_word(uint32_t id) {
    std::string w;
    do {
        w += char('a' + id % 26);
        id /= 26;
    } while (id);
    return w;
}

static std::string make_corpus(int docs, std::vector<size_t>& starts) {
    std::string text;
    text.reserve(size_t(docs) * 420);
    for (int d = 0; d < docs; ++d) {
        starts.push_back(text.size());
        int words = 60 + rnd() % 40;
        for (int i = 0; i < words; ++i) {
            uint32_t a = rnd() % 9000, b = rnd() % 9000;  // skewed vocabulary
            text += make_word(std::min(a, b));
            text += ' ';
        }
    }
    starts.push_back(text.size());
    return text;
}

static size_t run_query(const Index& ix, const std::string& a, const std::string& b) {
    auto *pa = ix.lookup(a), *pb = ix.lookup(b);
    if (!pa || !pb) return 0;
    size_t i = 0, j = 0, hits = 0;
    while (i < pa->size() && j < pb->size()) {
        if ((*pa)[i].doc == (*pb)[j].doc) {
            ++hits;
            ++i;
            ++j;
        } else if ((*pa)[i].doc < (*pb)[j].doc)
            ++i;
        else
            ++j;
    }
    return hits;
}

int main(int argc, char** argv) {
    int docs = argc > 1 ? std::atoi(argv[1]) : 9000;
    int nthreads = argc > 2 ? std::atoi(argv[2]) : 4;

    std::vector<size_t> starts;
    std::string corpus = make_corpus(docs, starts);
    Index index;
    for (int d = 0; d < docs; ++d)
        index.add_document(d,
                           std::string_view(corpus).substr(starts[d], starts[d + 1] - starts[d]));
    std::printf("documents %d, bytes %zu, terms %zu, postings %zu\n", docs, corpus.size(),
                index.terms(), index.total());

    // a short smoke test with concurrent readers
    std::vector<std::thread> pool;
    std::vector<size_t> hits(nthreads);
    for (int t = 0; t < nthreads; ++t)
        pool.emplace_back([&, t] {
            size_t h = 0;
            for (int q = 0; q < 25; ++q)
                h += run_query(index, make_word(10 + q + t), make_word(40 + 3 * q));
            hits[t] = h;
        });
    for (auto& th : pool) th.join();
    size_t sum = 0;
    for (size_t h : hits) sum += h;
    std::printf("checksum %zu\n", sum);
}
