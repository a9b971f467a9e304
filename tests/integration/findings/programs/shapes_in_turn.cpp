// SPDX-License-Identifier: Apache-2.0
// Objects of 720 bytes, made one after the other. Thread t moves the objects t, t + 4, t + 8, ...,
// so a page has objects of all threads, and no object is shared.
// label: shapes = page-level false sharing
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

constexpr int kShapes = 6000, kThreads = 4, kSteps = 6;

struct Shape {
    double place[90] = {};
    void move(double by) {
        for (double& x : place) x += by;
    }
};

int main() {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < kShapes; ++i) shapes.push_back(std::make_unique<Shape>());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&shapes, t] {
            for (int step = 0; step < kSteps; ++step) {
                for (int i = t; i < kShapes; i += kThreads) shapes[i]->move(t + 1);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    std::printf("%d\n", static_cast<int>(shapes[0]->place[0]));
}
