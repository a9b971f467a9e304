// SPDX-License-Identifier: Apache-2.0
// k-means on points of eight features. Each thread fills its own range of the points and of the
// assignments, in memory that nobody has touched, and keeps this range in all iterations. Sums are
// collected on the thread's own stack and handed over once in an iteration. The centroids (512
// bytes) are read by all and stay in every cache. Nothing is to be done.
// label: points = partitioned
// action: points = none
// label: nearest = partitioned
// action: nearest = none
// label: centroids = cache-resident
// action: centroids = none
// label: run = no NUMA problem
// action: run = none
#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t POINTS = 1'000'000, FEATURES = 8, CLUSTERS = 16;
constexpr int ITERATIONS = 5;

struct alignas(4096) Sums {
    std::array<double, CLUSTERS * FEATURES> of{};
    std::array<std::size_t, CLUSTERS> members{};
};

class KMeans {
  public:
    explicit KMeans(std::size_t threads)
        : threads(threads),
          points(new float[POINTS * FEATURES]),
          nearest(new std::int32_t[POINTS]),
          handed(threads),
          barrier(static_cast<std::ptrdiff_t>(threads)) {}

    void work(std::size_t id) {
        const std::size_t from = POINTS * id / threads, to = POINTS * (id + 1) / threads;
        for (std::size_t p = from; p < to; p++) {
            std::uint64_t state = (p + 1) * 0x9e3779b97f4a7c15u;
            for (std::size_t f = 0; f < FEATURES; f++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                points[p * FEATURES + f] = static_cast<float>(state >> 40) * 0x1p-24f;
            }
            nearest[p] = -1;
        }
        barrier.arrive_and_wait();
        if (id == 0)
            for (std::size_t i = 0; i < CLUSTERS * FEATURES; i++) centroids[i] = points[i];
        barrier.arrive_and_wait();
        for (int iteration = 0; iteration < ITERATIONS; iteration++) {
            handed[id] = assign(from, to);
            barrier.arrive_and_wait();
            if (id == 0) update();
            barrier.arrive_and_wait();
        }
    }

    double checksum() const {
        double sum = 0;
        for (float c : centroids) sum += static_cast<double>(c);
        return sum + nearest[POINTS / 2];
    }

  private:
    Sums assign(std::size_t from, std::size_t to) {
        Sums sums;
        for (std::size_t p = from; p < to; p++) {
            const float* point = &points[p * FEATURES];
            std::size_t best = 0;
            float least = 1e30f;
            for (std::size_t c = 0; c < CLUSTERS; c++) {
                float distance = 0;
                for (std::size_t f = 0; f < FEATURES; f++) {
                    float d = point[f] - centroids[c * FEATURES + f];
                    distance += d * d;
                }
                if (distance < least) least = distance, best = c;
            }
            nearest[p] = static_cast<std::int32_t>(best);
            sums.members[best]++;
            for (std::size_t f = 0; f < FEATURES; f++)
                sums.of[best * FEATURES + f] += static_cast<double>(point[f]);
        }
        return sums;
    }

    void update() {
        for (std::size_t c = 0; c < CLUSTERS; c++) {
            std::size_t members = 0;
            for (const Sums& sums : handed) members += sums.members[c];
            for (std::size_t f = 0; f < FEATURES && members; f++) {
                double sum = 0;
                for (const Sums& sums : handed) sum += sums.of[c * FEATURES + f];
                centroids[c * FEATURES + f] =
                    static_cast<float>(sum / static_cast<double>(members));
            }
        }
    }

    std::size_t threads;
    std::unique_ptr<float[]> points;
    std::unique_ptr<std::int32_t[]> nearest;
    std::array<float, CLUSTERS * FEATURES> centroids{};
    std::vector<Sums> handed;
    std::barrier<> barrier;
};

}  // namespace

int main(int argc, char** argv) {
    const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4;
    KMeans kmeans(threads);
    std::vector<std::thread> workers;
    for (std::size_t id = 0; id < threads; id++)
        workers.emplace_back([&kmeans, id] { kmeans.work(id); });
    for (std::thread& worker : workers) worker.join();
    std::printf("checksum %.4f\n", kmeans.checksum());
}
