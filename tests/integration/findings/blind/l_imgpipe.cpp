// SPDX-License-Identifier: Apache-2.0
// Images are blurred by rows and then by strips of columns, so each plane between the two is
// touched first in one division and used in the other.
// label: horizontal.px_ = pages change users
// action: horizontal.px_ = divide | spread
// harm: horizontal.px_ = copy
// label: smooth.px_ = pages change users
// action: smooth.px_ = divide | spread
// harm: smooth.px_ = copy
// label: raw.px_ = partitioned
// label: mean.px_ = partitioned
// Denoise pipeline for a sequence of frames: decode, separable blur, temporal average.
// usage: l_imgpipe [threads] [image height]
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

constexpr int kWidth = 4096;
constexpr int kRadius = 4;
constexpr int kStrip = 64;
constexpr int kFrames = 20;

class Plane {
  public:
    explicit Plane(int height) : height_(height) {
        size_t bytes = sizeof(float) * kWidth * static_cast<size_t>(height);
        px_ = static_cast<float*>(std::aligned_alloc(4096, bytes));
        if (!px_) throw std::bad_alloc();
    }
    ~Plane() { std::free(px_); }
    Plane(const Plane&) = delete;
    Plane& operator=(const Plane&) = delete;
    float* row(int y) { return px_ + static_cast<size_t>(y) * kWidth; }
    const float* row(int y) const { return px_ + static_cast<size_t>(y) * kWidth; }
    int height() const { return height_; }

  private:
    int height_;
    float* px_;
};

struct Kernel {
    float w[2 * kRadius + 1];
    Kernel() {
        double sum = 0;
        for (int i = -kRadius; i <= kRadius; i++) sum += std::exp(-i * i / 8.0);
        for (int i = -kRadius; i <= kRadius; i++)
            w[i + kRadius] = static_cast<float>(std::exp(-i * i / 8.0) / sum);
    }
};

inline uint32_t hash(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

inline int clampi(int v, int hi) {
    return v < 0 ? 0 : (v >= hi ? hi - 1 : v);
}

void decode(Plane& dst, int frame) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < dst.height(); y++) {
        float* d = dst.row(y);
        for (int x = 0; x < kWidth; x++) {
            uint32_t h = hash(static_cast<uint32_t>(y) * kWidth + x + frame * 7919u);
            float base = 0.5f + 0.001f * static_cast<float>((x + 2 * y + frame * 5) % 400);
            d[x] = base + static_cast<float>(h & 1023) * (1.0f / 4096);
        }
    }
}

void blur_rows(const Plane& src, Plane& dst, const Kernel& k) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < src.height(); y++) {
        const float* s = src.row(y);
        float* d = dst.row(y);
        for (int x = 0; x < kWidth; x++) {
            float a = 0;
            if (x >= kRadius && x < kWidth - kRadius)
                for (int i = 0; i <= 2 * kRadius; i++) a += k.w[i] * s[x + i - kRadius];
            else
                for (int i = 0; i <= 2 * kRadius; i++)
                    a += k.w[i] * s[clampi(x + i - kRadius, kWidth)];
            d[x] = a;
        }
    }
}

void blur_columns(const Plane& src, Plane& dst, const Kernel& k) {
    const int height = src.height();
#pragma omp parallel for schedule(static)
    for (int strip = 0; strip < kWidth / kStrip; strip++) {
        const int x0 = strip * kStrip;
        float acc[kStrip];
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < kStrip; x++) acc[x] = 0;
            for (int i = 0; i <= 2 * kRadius; i++) {
                const float* s = src.row(clampi(y + i - kRadius, height)) + x0;
                for (int x = 0; x < kStrip; x++) acc[x] += k.w[i] * s[x];
            }
            float* d = dst.row(y) + x0;
            for (int x = 0; x < kStrip; x++) d[x] = acc[x];
        }
    }
}

void accumulate(Plane& mean, const Plane& now, int frame) {
    const float f = 1.0f / static_cast<float>(frame + 1);
#pragma omp parallel for schedule(static)
    for (int y = 0; y < mean.height(); y++) {
        float* m = mean.row(y);
        const float* n = now.row(y);
        if (frame == 0)
            for (int x = 0; x < kWidth; x++) m[x] = n[x];
        else
            for (int x = 0; x < kWidth; x++) m[x] += f * (n[x] - m[x]);
    }
}

uint64_t digest(const Plane& p) {
    std::vector<uint64_t> rows(p.height());
#pragma omp parallel for schedule(static)
    for (int y = 0; y < p.height(); y++) {
        uint64_t s = 0;
        for (int x = 0; x < kWidth; x++) s += static_cast<uint64_t>(p.row(y)[x] * 65536.0f);
        rows[y] = s;
    }
    uint64_t all = 0;
    for (uint64_t r : rows) all = all * 1099511628211ull + r;
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int height = argc > 2 ? std::atoi(argv[2]) : 2880;
    if (threads < 1 || height < 16 || height > 30000) {
        std::fprintf(stderr, "usage: %s [threads] [height]\n", argv[0]);
        return 1;
    }
    omp_set_num_threads(threads);
    Kernel kernel;
    Plane raw(height), horizontal(height), smooth(height), mean(height);
    for (int f = 0; f < kFrames; f++) {
        decode(raw, f);
        blur_rows(raw, horizontal, kernel);
        blur_columns(horizontal, smooth, kernel);
        accumulate(mean, smooth, f);
    }
    std::printf("frames %d of %dx%d checksum %016llx\n", kFrames, kWidth, height,
                (unsigned long long)digest(mean));
    return 0;
}
