// SPDX-License-Identifier: Apache-2.0
// Name corrected after the first look: the constructor takes the memory of points over, as
// points_.
// label: points = shared, read-mostly
// Why: The points are put in order in place once, by a few tasks, and then read by all threads
// at random during the queries.
// action: points = copy | spread | copy or spread
// harm: points = local | divide
// kd-tree in place: built by asynchronous tasks, then nearest neighbours for many queries.
//   usage: kd_tree [points] [queries] [threads]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>
#include <vector>

struct Point {
    std::array<double, 3> at;
    int id, group;
};

class Tree {
  public:
    explicit Tree(std::vector<Point> points, int depth) : points_(std::move(points)) {
        build(0, points_.size(), 0, depth);
    }
    const Point& nearest(const std::array<double, 3>& query) const {
        size_t best = 0;
        double distance = 1e30;
        search(0, points_.size(), 0, query, best, distance);
        return points_[best];
    }

  private:
    void build(size_t from, size_t to, int axis, int forks) {
        if (to - from < 2) return;
        const size_t middle = (from + to) / 2;
        std::nth_element(
            points_.begin() + from, points_.begin() + middle, points_.begin() + to,
            [axis](const Point& a, const Point& b) { return a.at[axis] < b.at[axis]; });
        const int next = (axis + 1) % 3;
        if (forks > 0) {
            auto left =
                std::async(std::launch::async, [=, this] { build(from, middle, next, forks - 1); });
            build(middle + 1, to, next, forks - 1);
            left.get();
        } else {
            build(from, middle, next, 0);
            build(middle + 1, to, next, 0);
        }
    }
    void search(size_t from, size_t to, int axis, const std::array<double, 3>& query, size_t& best,
                double& distance) const {
        if (from >= to) return;
        const size_t middle = (from + to) / 2;
        const Point& p = points_[middle];
        double d = 0;
        for (int k = 0; k < 3; ++k) d += (p.at[k] - query[k]) * (p.at[k] - query[k]);
        if (d < distance) distance = d, best = middle;
        const double side = query[axis] - p.at[axis];
        const int next = (axis + 1) % 3;
        if (side < 0)
            search(from, middle, next, query, best, distance);
        else
            search(middle + 1, to, next, query, best, distance);
        if (side * side < distance) {
            if (side < 0)
                search(middle + 1, to, next, query, best, distance);
            else
                search(from, middle, next, query, best, distance);
        }
    }
    std::vector<Point> points_;
};

int main(int argc, char** argv) {
    const int size = argc > 1 ? std::atoi(argv[1]) : 200000;
    const int queries = argc > 2 ? std::atoi(argv[2]) : 60000;
    const int count = argc > 3 ? std::atoi(argv[3]) : 4;
    std::mt19937 random(7);
    std::uniform_real_distribution<double> place(0, 1);
    std::vector<Point> points;
    for (int i = 0; i < size; ++i)
        points.push_back({{place(random), place(random), place(random)}, i, i % 16});
    const Tree tree(std::move(points), 2);
    std::vector<int> found(queries);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 own(100 + t);
            std::uniform_real_distribution<double> unit(0, 1);
            for (int q = queries * t / count; q < queries * (t + 1) / count; ++q)
                found[q] = tree.nearest({unit(own), unit(own), unit(own)}).group;
        });
    for (auto& thread : threads) thread.join();
    long sum = 0;
    for (int g : found) sum += g;
    std::printf("sum %ld\n", sum);
}
