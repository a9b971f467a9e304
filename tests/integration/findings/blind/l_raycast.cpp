// SPDX-License-Identifier: Apache-2.0
// Rays through a small scene, in tiles that the threads take and steal: the run computes.
// label: run = no NUMA problem
// label: scene.balls_ = cache-resident
// Renders a field of spheres with shadows and one mirror bounce, tiles on a
// pool with a deque per worker.
// usage: l_raycast [threads] [image width]
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Vec {
    float x, y, z;
    Vec operator+(const Vec& o) const { return {x + o.x, y + o.y, z + o.z}; }
    Vec operator-(const Vec& o) const { return {x - o.x, y - o.y, z - o.z}; }
    Vec operator*(float f) const { return {x * f, y * f, z * f}; }
    float dot(const Vec& o) const { return x * o.x + y * o.y + z * o.z; }
    Vec unit() const { return *this * (1.0f / std::sqrt(dot(*this))); }
};

struct Sphere {
    Vec c;
    float r2;
    float shade;
};

class Scene {
  public:
    explicit Scene(int count) {
        uint32_t s = 77;
        auto unit = [&s] {
            s = s * 1664525u + 1013904223u;
            return static_cast<float>(s >> 8) / 16777216.0f;
        };
        for (int i = 0; i < count; i++) {
            float r = 0.15f + 0.45f * unit();
            balls_.push_back(
                {{8 * unit() - 4, 5 * unit() - 2.5f, 4 + 8 * unit()}, r * r, 0.3f + 0.7f * unit()});
        }
    }
    const Sphere* hit(const Vec& o, const Vec& d, float& dist) const {
        const Sphere* best = nullptr;
        for (const Sphere& b : balls_) {
            Vec oc = b.c - o;
            float t = oc.dot(d), q = oc.dot(oc) - t * t;
            if (t < 0 || q > b.r2) continue;
            t -= std::sqrt(b.r2 - q);
            if (t > 1e-3f && t < dist) {
                dist = t;
                best = &b;
            }
        }
        return best;
    }
    float trace(const Vec& o, const Vec& d, int depth) const {
        float t = 1e9f;
        const Sphere* b = hit(o, d, t);
        if (!b) return 0.2f + 0.3f * (d.y + 1.0f) * 0.5f;
        Vec p = o + d * t, n = (p - b->c).unit(), light = Vec{-0.4f, 0.8f, -0.45f}.unit();
        float l = n.dot(light), far = 1e9f;
        if (l <= 0 || hit(p + n * 1e-2f, light, far)) l = 0;
        float v = b->shade * (0.15f + 0.85f * l);
        if (depth > 0)
            v = 0.8f * v + 0.2f * trace(p + n * 1e-2f, d - n * (2 * d.dot(n)), depth - 1);
        return v;
    }

  private:
    std::vector<Sphere> balls_;
};

class Pool {
  public:
    explicit Pool(int threads) {
        for (int i = 0; i < threads; i++) queues_.push_back(std::make_unique<Queue>());
    }
    void add(std::function<void()> f) {
        queues_[next_++ % queues_.size()]->tasks.push_back(std::move(f));
    }
    void run() {
        std::vector<std::thread> threads;
        for (size_t i = 0; i < queues_.size(); i++) threads.emplace_back([this, i] { loop(i); });
        for (auto& t : threads) t.join();
    }

  private:
    struct alignas(128) Queue {
        std::mutex m;
        std::deque<std::function<void()>> tasks;
    };
    bool pop(size_t q, bool own, std::function<void()>& f) {
        std::lock_guard<std::mutex> g(queues_[q]->m);
        auto& t = queues_[q]->tasks;
        if (t.empty()) return false;
        if (own) {
            f = std::move(t.back());
            t.pop_back();
        } else {
            f = std::move(t.front());
            t.pop_front();
        }
        return true;
    }
    void loop(size_t me) {
        std::function<void()> f;
        for (;;) {
            bool found = pop(me, true, f);
            for (size_t k = 1; !found && k < queues_.size(); k++)
                found = pop((me + k) % queues_.size(), false, f);
            if (!found) return;
            f();
        }
    }
    std::vector<std::unique_ptr<Queue>> queues_;
    size_t next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int width = argc > 2 ? std::atoi(argv[2]) : 2560;
    if (threads < 1 || threads > 256 || width < 64) {
        std::fprintf(stderr, "usage: %s [threads] [width]\n", argv[0]);
        return 1;
    }
    const int height = width * 9 / 16, tile = 32;
    Scene scene(180);
    std::vector<float> image(static_cast<size_t>(width) * height);
    Pool pool(threads);
    for (int y0 = 0; y0 < height; y0 += tile)
        for (int x0 = 0; x0 < width; x0 += tile)
            pool.add([&, x0, y0] {
                for (int y = y0; y < y0 + tile && y < height; y++)
                    for (int x = x0; x < x0 + tile && x < width; x++) {
                        float u = (static_cast<float>(x) + 0.5f) / static_cast<float>(width) - 0.5f;
                        float v =
                            0.5f - (static_cast<float>(y) + 0.5f) / static_cast<float>(height);
                        Vec d = Vec{1.6f * u, 0.9f * v, 1.0f}.unit();
                        image[static_cast<size_t>(y) * width + x] = scene.trace({0, 0, 0}, d, 1);
                    }
            });
    pool.run();
    uint64_t h = 1469598103934665603ull;
    double mean = 0;
    for (float f : image) {
        mean += f;
        h = (h ^ static_cast<uint64_t>(f * 4096.0f)) * 1099511628211ull;
    }
    std::printf("image %dx%d mean %.5f checksum %016llx\n", width, height,
                mean / static_cast<double>(image.size()), (unsigned long long)h);
    return 0;
}
