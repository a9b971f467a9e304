// SPDX-License-Identifier: Apache-2.0
// Breadth-first search on a random graph. The main thread builds it; the threads take vertices of
// the frontier by a cursor, read the edges of any vertex, and set the distance of any other.
// label: g.edges_ = shared, read-mostly
// action: g.edges_ = copy or spread
// harm: g.edges_ = local
// label: g.offsets_ = shared, read-mostly
// action: g.offsets_ = copy or spread
// harm: g.offsets_ = local
// label: s.dist_ = shared, written
// action: s.dist_ = spread
// harm: s.dist_ = copy
// label: s.frontier_ = shared, written
// action: s.frontier_ = spread
// label: s.next_ = shared, written
// action: s.next_ = spread
// Breadth-first distances from several sources in a skewed random graph.
// usage: l_bfs [threads] [log2 of vertices]
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct Rng {
    uint64_t s;
    explicit Rng(uint64_t seed) : s(seed * 0x9E3779B97F4A7C15ull + 1) {}
    uint64_t next() {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        return s * 0x2545F4914F6CDD1Dull;
    }
};

class Graph {
  public:
    Graph(int scale, int degree) : n_(1u << scale) {
        const uint64_t m = static_cast<uint64_t>(n_) * degree;
        std::vector<std::pair<uint32_t, uint32_t>> pairs;
        pairs.reserve(m);
        Rng rng(17);
        for (uint64_t e = 0; e < m; e++) {
            uint64_t r = rng.next();
            uint32_t a = static_cast<uint32_t>(r) & (n_ - 1);
            uint32_t b = static_cast<uint32_t>(r >> 32) & (n_ - 1);
            if ((r >> 29 & 7) < 3)
                b = static_cast<uint32_t>((static_cast<uint64_t>(b) * b) >> scale);
            b = (b * 2654435761u) & (n_ - 1);
            pairs.emplace_back(a, b);
        }
        offsets_.assign(n_ + 1, 0);
        for (auto& p : pairs) {
            offsets_[p.first + 1]++;
            offsets_[p.second + 1]++;
        }
        for (uint32_t v = 0; v < n_; v++) offsets_[v + 1] += offsets_[v];
        edges_.resize(2 * m);
        std::vector<uint64_t> at(offsets_.begin(), offsets_.end() - 1);
        for (auto& p : pairs) {
            edges_[at[p.first]++] = p.second;
            edges_[at[p.second]++] = p.first;
        }
    }
    uint32_t size() const { return n_; }
    uint64_t edge_count() const { return edges_.size(); }
    const uint32_t* begin(uint32_t v) const { return edges_.data() + offsets_[v]; }
    const uint32_t* end(uint32_t v) const { return edges_.data() + offsets_[v + 1]; }

  private:
    uint32_t n_;
    std::vector<uint64_t> offsets_;
    std::vector<uint32_t> edges_;
};

class Search {
  public:
    Search(const Graph& g, int threads)
        : g_(g),
          threads_(threads),
          dist_(new std::atomic<int32_t>[g.size()]),
          frontier_(g.size()),
          next_(g.size()),
          sync_(threads) {}

    void run(uint32_t source, uint64_t& reached, uint64_t& sum) {
        for (uint32_t v = 0; v < g_.size(); v++) dist_[v].store(-1, std::memory_order_relaxed);
        dist_[source].store(0);
        frontier_[0] = source;
        count_ = 1;
        level_ = 0;
        cursor_ = 0;
        tail_ = 0;
        std::vector<std::thread> pool;
        for (int t = 0; t < threads_; t++) pool.emplace_back(&Search::work, this, t);
        for (auto& t : pool) t.join();
        reached = 0;
        sum = 0;
        for (uint32_t v = 0; v < g_.size(); v++) {
            int32_t d = dist_[v].load(std::memory_order_relaxed);
            if (d >= 0) {
                reached++;
                sum += static_cast<uint64_t>(d) * (v % 1009 + 1);
            }
        }
    }

  private:
    static constexpr uint32_t kGrab = 256;
    static constexpr size_t kFlush = 1024;

    void flush(std::vector<uint32_t>& found) {
        uint32_t at = tail_.fetch_add(static_cast<uint32_t>(found.size()));
        std::copy(found.begin(), found.end(), next_.begin() + at);
        found.clear();
    }

    void work(int me) {
        std::vector<uint32_t> found;
        found.reserve(kFlush + 8);
        while (count_ > 0) {
            for (;;) {
                uint32_t from = cursor_.fetch_add(kGrab);
                if (from >= count_) break;
                uint32_t to = std::min(from + kGrab, count_);
                for (uint32_t i = from; i < to; i++) {
                    uint32_t v = frontier_[i];
                    for (const uint32_t* e = g_.begin(v); e != g_.end(v); ++e) {
                        if (dist_[*e].load(std::memory_order_relaxed) >= 0) continue;
                        int32_t none = -1;
                        if (dist_[*e].compare_exchange_strong(none, level_ + 1,
                                                              std::memory_order_relaxed)) {
                            found.push_back(*e);
                            if (found.size() >= kFlush) flush(found);
                        }
                    }
                }
            }
            flush(found);
            sync_.arrive_and_wait();
            if (me == 0) {
                frontier_.swap(next_);
                count_ = tail_.load();
                cursor_ = 0;
                tail_ = 0;
                level_++;
            }
            sync_.arrive_and_wait();
        }
    }

    const Graph& g_;
    int threads_;
    std::unique_ptr<std::atomic<int32_t>[]> dist_;
    std::vector<uint32_t> frontier_, next_;
    std::barrier<> sync_;
    uint32_t count_ = 0;
    int32_t level_ = 0;
    alignas(128) std::atomic<uint32_t> cursor_{0};
    alignas(128) std::atomic<uint32_t> tail_{0};
};

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int scale = argc > 2 ? std::atoi(argv[2]) : 20;
    if (threads < 1 || threads > 256 || scale < 8 || scale > 26) {
        std::fprintf(stderr, "usage: %s [threads] [log2 vertices]\n", argv[0]);
        return 1;
    }
    Graph g(scale, 9);
    Search s(g, threads);
    Rng pick(5);
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t reached, sum;
        s.run(static_cast<uint32_t>(pick.next() >> 20) & (g.size() - 1), reached, sum);
        seen += reached;
        total = total * 31 + sum;
    }
    std::printf("vertices %u edges %llu reached %llu checksum %016llx\n", g.size(),
                (unsigned long long)g.edge_count(), (unsigned long long)seen,
                (unsigned long long)total);
    return 0;
}
