// SPDX-License-Identifier: Apache-2.0
// Threads index their own documents and count in one array, merge terms, and look up lists.
// label: df = true sharing of cache lines
// minor: df = false sharing of cache lines
// harm: df = pad
// minor: text = serial first touch
// action: text = local | spread | none
// minor: start = serial first touch
// action: start = none
// label: mine = partitioned
// action: mine = none
// minor: shard = false sharing of cache lines | partitioned
// action: shard = pad | divide | none
// minor: answer = false sharing of cache lines
// minor: partial = false sharing of cache lines
// postings - builds an inverted index over a text collection and runs AND queries on it.
//   postings [threads]
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

using Postings = std::vector<uint32_t>;                  // ascending document numbers
using Partial = std::unordered_map<uint32_t, Postings>;  // term -> postings of one worker

constexpr uint32_t kDocs = 12000, kVocab = 20000, kQueries = 24000;

struct Collection {
    std::string text;
    std::vector<size_t> start{0};
    std::string_view doc(uint32_t d) const {
        return std::string_view(text).substr(start[d], start[d + 1] - start[d]);
    }
};

struct Index {
    std::vector<std::unordered_map<uint32_t, Postings>> shard;  // by term % shards
    std::vector<std::atomic<uint32_t>> df;                      // documents with the term
    explicit Index(size_t n) : shard(n), df(kVocab) {}
};

static uint64_t step(uint64_t& s) {
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
}

static uint32_t zipfish(uint64_t& s) {
    double u = double(step(s) >> 11) / 9007199254740992.0;
    return uint32_t(kVocab * u * u * u * u);
}

static Collection crawl() {
    Collection c;
    uint64_t s = 0xfeedfacecafebeefull;
    for (uint32_t d = 0; d < kDocs; d++) {
        int words = 40 + int(step(s) % 60);
        for (int w = 0; w < words; w++) {
            c.text += "t";
            c.text += std::to_string(zipfish(s));
            c.text += ' ';
        }
        c.start.push_back(c.text.size());
    }
    return c;
}

static void indexDocs(const Collection& c, uint32_t from, uint32_t to, Partial& mine, Index& ix) {
    for (uint32_t d = from; d < to; d++) {
        uint32_t term = 0;
        for (char ch : c.doc(d)) {
            if (ch >= '0' && ch <= '9')
                term = term * 10 + uint32_t(ch - '0');
            else if (ch == ' ') {
                Postings& p = mine[term];
                if (p.empty() || p.back() != d) {
                    p.push_back(d);
                    ix.df[term].fetch_add(1, std::memory_order_relaxed);
                }
                term = 0;
            }
        }
    }
}

static uint64_t andQuery(const Index& ix, uint32_t a, uint32_t b) {
    const auto &sa = ix.shard[a % ix.shard.size()], &sb = ix.shard[b % ix.shard.size()];
    auto pa = sa.find(a), pb = sb.find(b);
    if (pa == sa.end() || pb == sb.end()) return 0;
    uint64_t sum = 0;
    auto i = pa->second.begin(), j = pb->second.begin();
    while (i != pa->second.end() && j != pb->second.end()) {
        if (*i < *j)
            ++i;
        else if (*j < *i)
            ++j;
        else
            sum += 1 + *i, ++i, ++j;
    }
    return sum;
}

int main(int argc, char** argv) {
    const unsigned n = argc > 1 ? unsigned(std::atoi(argv[1])) : 4;
    const Collection coll = crawl();
    Index ix(n);
    std::vector<Partial*> partial(n);
    std::vector<uint64_t> answer(n);
    std::barrier sync(n);

    auto worker = [&](unsigned me) {
        Partial mine;
        partial[me] = &mine;
        indexDocs(coll, kDocs * me / n, kDocs * (me + 1) / n, mine, ix);
        sync.arrive_and_wait();

        // every worker builds the final lists of its terms
        auto& shard = ix.shard[me];
        for (uint32_t term = me; term < kVocab; term += n) {
            uint32_t df = ix.df[term].load(std::memory_order_relaxed);
            if (!df) continue;
            Postings& p = shard[term];
            p.reserve(df);
            for (unsigned w = 0; w < n; w++)
                if (auto it = partial[w]->find(term); it != partial[w]->end())
                    p.insert(p.end(), it->second.begin(), it->second.end());
        }
        sync.arrive_and_wait();

        uint64_t sum = 0;
        for (uint32_t q = kQueries * me / n; q < kQueries * (me + 1) / n; q++) {
            uint64_t s = 77 + 1099511628211ull * (q + 1);
            for (int k = 0; k < 4; k++) step(s);
            uint32_t a = 10 + zipfish(s) % (kVocab - 10), b = 10 + zipfish(s) % (kVocab - 10);
            sum += andQuery(ix, a, b);
        }
        answer[me] = sum;
        sync.arrive_and_wait();  // others may still read our partial index
    };
    std::vector<std::thread> th;
    for (unsigned t = 0; t < n; t++) th.emplace_back(worker, t);
    for (auto& t : th) t.join();

    uint64_t total = 0, postings = 0;
    for (uint64_t a : answer) total += a;
    for (auto& d : ix.df) postings += d.load();
    std::printf("text %zu bytes postings %lu answers %lu\n", coll.text.size(), postings, total);
}
