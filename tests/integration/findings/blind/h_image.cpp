// SPDX-License-Identifier: Apache-2.0
// label: lum_ = serial first touch
// Why: 10 MB, zeroed by the vector constructor in main, then written and read in static row blocks
// for each of 8 exposures.
// action: lum_ = local
// label: out_ = serial first touch
// Why: 2.6 MB, zeroed by the constructor in main, then used in static row blocks.
// action: out_ = local
// label: px = serial first touch
// Why: 5 MB, written by the serial decoder, then read in static row blocks 8 times; the decoder
// cannot be parallel, but the pages can be touched in parallel before (or interleaved).
// action: px = local | spread
// harm: px = parallelise the existing loop
// label: hist_ = page-level false sharing
// Why: Six histograms of 1 KB lie in two or three pages of main's stack and are updated for every
// pixel; better a private copy per thread.
// action: hist_ = pad
// Labels of what needs no action, added after the first look:
// label: dev = cache-resident
// Why: It contains curve_, 16 KB that all threads read for each pixel.
// action: dev = none
// Note: the author of f_histeq labelled the same pattern "cache-resident": a thread's histogram
// stays in the cache of its core, whichever node has the page. This label of hist_ stays as it is.
// Exposure bracketing: develops one raw picture at several exposures with
// local smoothing and histogram equalisation, and keeps the best one.
//   usage: image [width] [height] [threads]
#include <omp.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr int kLevels = 256;
constexpr int kMaxThreads = 16;

struct Picture {
    int w = 0, h = 0;
    std::vector<uint16_t> px;
    Picture(int w_, int h_) : w(w_), h(h_), px(size_t(w_) * h_) {}
};

// stands for the decoder, which is serial because the bit stream is
static Picture decode(int w, int h) {
    Picture p(w, h);
    uint32_t state = 99;
    int pred = 2000;
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            state = state * 1103515245u + 12345u;
            pred += int((state >> 16) & 127) - 63;
            int target = 800 + (x * 2200) / w + (y * 900) / h;
            pred += (target - pred) / 8;
            p.px[size_t(y) * w + x] = uint16_t(std::clamp(pred, 0, 4095));
        }
    return p;
}

using Histogram = std::array<uint32_t, kLevels>;

class Developer {
  public:
    Developer(const Picture& raw) : raw_(raw), lum_(raw.px.size()), out_(raw.px.size()) {}

    double develop(float exposure) {
        const int w = raw_.w, h = raw_.h;
        for (auto& hg : hist_) hg.fill(0);
        for (int i = 0; i < 4096; ++i)
            curve_[i] = std::min(255.0f, 255.0f * std::pow(i / 4095.0f, 1.0f / 2.2f) * exposure);

#pragma omp parallel for schedule(static)
        for (int y = 0; y < h; ++y) {
            const uint16_t* in = &raw_.px[size_t(y) * w];
            float* l = &lum_[size_t(y) * w];
            for (int x = 0; x < w; ++x) l[x] = curve_[in[x] & 4095];
        }

#pragma omp parallel for schedule(static)
        for (int y = 0; y < h; ++y) {
            Histogram& mine = hist_[omp_get_thread_num()];
            const float* c = &lum_[size_t(y) * w];
            const float* u = &lum_[size_t(y ? y - 1 : y) * w];
            const float* d = &lum_[size_t(y + 1 < h ? y + 1 : y) * w];
            uint8_t* o = &out_[size_t(y) * w];
            for (int x = 0; x < w; ++x) {
                int xl = x ? x - 1 : x, xr = x + 1 < w ? x + 1 : x;
                float v = 0.5f * c[x] + 0.125f * (c[xl] + c[xr] + u[x] + d[x]);
                int level = int(v);
                o[x] = uint8_t(level);
                mine[level]++;
            }
        }

        Histogram total{};
        for (auto& hg : hist_)
            for (int i = 0; i < kLevels; ++i) total[i] += hg[i];
        std::array<uint8_t, kLevels> map;
        uint64_t run = 0;
        for (int i = 0; i < kLevels; ++i) {
            run += total[i];
            map[i] = uint8_t(run * 255 / (size_t(w) * h));
        }

        double score = 0;
#pragma omp parallel for schedule(static) reduction(+ : score)
        for (int y = 0; y < h; ++y) {
            uint8_t* o = &out_[size_t(y) * w];
            int prev = 0;
            for (int x = 0; x < w; ++x) {
                o[x] = map[o[x]];
                score += std::abs(o[x] - prev);
                prev = o[x];
            }
        }
        return score / (double(w) * h);
    }

    uint32_t checksum() const {
        uint32_t c = 1;
        for (size_t i = 0; i < out_.size(); i += 509) c = c * 31 + out_[i];
        return c;
    }

  private:
    const Picture& raw_;
    std::vector<float> lum_;
    std::vector<uint8_t> out_;
    std::array<Histogram, kMaxThreads> hist_;
    std::array<float, 4096> curve_;
};

int main(int argc, char** argv) {
    int w = argc > 1 ? std::atoi(argv[1]) : 2048;
    int h = argc > 2 ? std::atoi(argv[2]) : 1280;
    int threads = std::min(kMaxThreads, argc > 3 ? std::atoi(argv[3]) : 6);
    omp_set_num_threads(threads);

    Picture raw = decode(w, h);
    Developer dev(raw);
    double best = -1;
    float best_ev = 0;
    for (float ev : {0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f, 1.2f}) {
        double s = dev.develop(ev);
        if (s > best) {
            best = s;
            best_ev = ev;
        }
    }
    std::printf("%dx%d best exposure %.1f score %.6f checksum %08x\n", w, h, best_ev, best,
                dev.checksum());
}
