// SPDX-License-Identifier: Apache-2.0
// Main and tasks sort rectangles and build a tree, and new tasks look up random windows.
// label: items = shared, read-mostly
// action: items = spread | copy
// minor: nodes_ = shared, read-mostly | cache-resident
// action: nodes_ = spread | copy | none
// minor: queries = serial first touch
// action: queries = local | none
// minor: hits = serial first touch
// action: hits = local | none
// rtree - STR bulk loaded R-tree over map rectangles; counts the hits of window queries.
//   rtree [threads]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

struct Rect {
    float x0, y0, x1, y1;
    bool meets(const Rect& o) const { return x0 <= o.x1 && o.x0 <= x1 && y0 <= o.y1 && o.y0 <= y1; }
    void add(const Rect& o) {
        x0 = std::min(x0, o.x0);
        y0 = std::min(y0, o.y0);
        x1 = std::max(x1, o.x1);
        y1 = std::max(y1, o.y1);
    }
};

struct Item {
    Rect box;
    uint32_t id;
};

struct Node {
    Rect box;
    uint32_t first;  // child nodes, or items for a leaf
    uint16_t count;
    bool leaf;
};

class RTree {
  public:
    static constexpr size_t kFan = 16;

    RTree(std::vector<Item> items, int workers) : items_(std::move(items)) {
        sortSlices(workers);
        for (size_t i = 0; i < items_.size(); i += kFan) {
            size_t n = std::min(kFan, items_.size() - i);
            Node leaf{items_[i].box, uint32_t(i), uint16_t(n), true};
            for (size_t k = 1; k < n; k++) leaf.box.add(items_[i + k].box);
            nodes_.push_back(leaf);
        }
        size_t from = 0, to = nodes_.size();
        while (to - from > 1) {
            for (size_t i = from; i < to; i += kFan) {
                size_t n = std::min(kFan, to - i);
                Node in{nodes_[i].box, uint32_t(i), uint16_t(n), false};
                for (size_t k = 1; k < n; k++) in.box.add(nodes_[i + k].box);
                nodes_.push_back(in);
            }
            from = to;
            to = nodes_.size();
        }
    }

    uint32_t query(const Rect& q, uint64_t& digest) const {
        uint32_t stack[256], hits = 0;
        int top = 0;
        stack[top++] = uint32_t(nodes_.size() - 1);
        while (top) {
            const Node& n = nodes_[stack[--top]];
            if (n.leaf) {
                for (uint32_t k = n.first; k < n.first + n.count; k++)
                    if (items_[k].box.meets(q)) {
                        hits++;
                        digest += items_[k].id;
                    }
            } else {
                for (uint32_t k = n.first; k < n.first + n.count; k++)
                    if (nodes_[k].box.meets(q)) stack[top++] = k;
            }
        }
        return hits;
    }

  private:
    void sortSlices(int workers) {
        auto byX = [](const Item& a, const Item& b) {
            return a.box.x0 < b.box.x0 || (a.box.x0 == b.box.x0 && a.id < b.id);
        };
        auto byY = [](const Item& a, const Item& b) {
            return a.box.y0 < b.box.y0 || (a.box.y0 == b.box.y0 && a.id < b.id);
        };
        std::sort(items_.begin(), items_.end(), byX);
        size_t slices = size_t(std::sqrt(double(items_.size()) / kFan));
        size_t per = (items_.size() / slices + kFan) / kFan * kFan;
        std::vector<std::future<void>> jobs;
        for (int w = 0; w < workers; w++)
            jobs.push_back(std::async(std::launch::async, [&, w] {
                for (size_t s = slices * w / workers; s < slices * (w + 1) / workers; s++) {
                    size_t a = std::min(s * per, items_.size()),
                           b = std::min(a + per, items_.size());
                    std::sort(items_.begin() + a, items_.begin() + b, byY);
                }
            }));
        for (auto& j : jobs) j.get();
    }

    std::vector<Item> items_;
    std::vector<Node> nodes_;
};

int main(int argc, char** argv) {
    const int workers = argc > 1 ? std::atoi(argv[1]) : 4;
    const size_t nitems = 300000, nqueries = 80000;

    uint64_t s = 17;
    auto rnd = [&s] {
        s = s * 6364136223846793005u + 1442695040888963407u;
        return float(s >> 40) / 16777216.0f;
    };
    std::vector<Item> items(nitems);
    for (size_t i = 0; i < nitems; i++) {
        float x = rnd(), y = rnd();
        items[i] = {{x, y, x + 0.001f * rnd(), y + 0.001f * rnd()}, uint32_t(i)};
    }
    std::vector<Rect> queries(nqueries);
    for (Rect& q : queries) {
        float x = rnd(), y = rnd();
        q = {x, y, x + 0.006f, y + 0.006f};
    }

    RTree tree(std::move(items), workers);
    std::vector<uint32_t> hits(nqueries);

    std::vector<std::future<uint64_t>> jobs;
    for (int w = 0; w < workers; w++)
        jobs.push_back(std::async(std::launch::async, [&, w] {
            uint64_t digest = 0;
            for (size_t i = nqueries * w / workers; i < nqueries * (w + 1) / workers; i++)
                hits[i] = tree.query(queries[i], digest);
            return digest;
        }));
    uint64_t digest = 0, total = 0;
    for (auto& j : jobs) digest += j.get();
    for (uint32_t h : hits) total += h;
    std::printf("queries %zu hits %lu digest %lu\n", nqueries, total, digest);
}
