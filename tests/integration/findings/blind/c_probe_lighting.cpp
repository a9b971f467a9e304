// SPDX-License-Identifier: Apache-2.0
// Lights an image with a table of light probes, and accumulates five samples for each pixel. The
// image is stored in tiles of 64 KiB. In each frame, four threads take tiles from a common counter.
// The image is allocated without being cleared, and the first frame writes it. Each sample reads
// four probes at positions that depend on a hash of the pixel.
// label: framebuffer = pages change users
// action: framebuffer = divide
// label: probes = shared, read-mostly
// action: probes = copy or spread
// harm: probes = divide
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kTilePixels = 4096;
constexpr std::size_t kTiles = 256;
constexpr std::size_t kProbes = 1 << 16;
constexpr int kFrames = 5;

struct Pixel {
    float r, g, b, weight;
};

struct Probe {
    float r, g, b, distance;
};

class Renderer {
  public:
    explicit Renderer(std::ptrdiff_t threads)
        : framebuffer(std::make_unique_for_overwrite<Pixel[]>(kTiles * kTilePixels)),
          probes(std::make_unique_for_overwrite<Probe[]>(kProbes)),
          frame_done(threads) {
        for (std::size_t p = 0; p < kProbes; p++) {
            const float light = static_cast<float>(p % 97) * 0.01f;
            probes[p] = {light, light * 0.5f, light * 0.25f, static_cast<float>(p % 13)};
        }
    }

    void render() {
        for (int frame = 0; frame < kFrames; frame++) {
            const std::size_t end = kTiles * static_cast<std::size_t>(frame + 1);
            for (std::size_t tile = take(end); tile < end; tile = take(end))
                shade(tile % kTiles, frame);
            frame_done.arrive_and_wait();
        }
    }

    float sample() const {
        float sum = 0;
        for (std::size_t tile = 0; tile < kTiles; tile += 16)
            sum += framebuffer[tile * kTilePixels + tile].g;
        return sum;
    }

  private:
    std::size_t take(std::size_t end) {
        std::size_t tile = next_tile.load();
        while (tile < end && !next_tile.compare_exchange_weak(tile, tile + 1)) {
        }
        return tile;
    }

    void shade(std::size_t tile, int frame) {
        Pixel* pixels = &framebuffer[tile * kTilePixels];
        for (std::size_t i = 0; i < kTilePixels; i++) {
            std::uint32_t hash = static_cast<std::uint32_t>(tile * kTilePixels + i) * 2654435761u +
                                 static_cast<std::uint32_t>(frame) * 40503u;
            float r = 0, g = 0, b = 0;
            for (int bounce = 0; bounce < 4; bounce++) {
                const Probe& probe = probes[hash >> 16];
                r += probe.r;
                g += probe.g;
                b += probe.b * probe.distance;
                hash = hash * 1664525u + 1013904223u;
            }
            if (frame == 0) pixels[i] = {0, 0, 0, 0};
            pixels[i].r += r;
            pixels[i].g += g;
            pixels[i].b += b;
            pixels[i].weight += 1;
        }
    }

    std::unique_ptr<Pixel[]> framebuffer;
    std::unique_ptr<Probe[]> probes;
    std::atomic<std::size_t> next_tile{0};
    std::barrier<> frame_done;
};

}  // namespace

int main() {
    const char* setting = std::getenv("THREADS");
    const long threads = setting ? std::strtol(setting, nullptr, 10) : 4;
    if (threads < 1) return 1;
    Renderer renderer(threads);
    std::vector<std::thread> pool;
    for (long t = 0; t < threads; t++) pool.emplace_back([&renderer] { renderer.render(); });
    for (std::thread& thread : pool) thread.join();
    std::printf("light in the sample: %.3f\n", static_cast<double>(renderer.sample()));
}
