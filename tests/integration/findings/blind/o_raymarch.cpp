// SPDX-License-Identifier: Apache-2.0
// All rays cross a volume that main filled. The bands of the image need unequal work.
// label: v_ = shared, read-mostly
// action: v_ = spread | copy | local
// minor: image = serial first touch
// action: image = local | none
// label: run = load imbalance
// action: run = balance
// minor: transfer = cache-resident
// harm: transfer = copy
// raymarch - direct volume rendering of a synthetic CT scan, front to back compositing.
//   raymarch [threads] [image size]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Rgba {
    float r, g, b, a;
};

class Volume {
  public:
    explicit Volume(int n) : n_(n), v_(size_t(n) * n * n) {
        // a hollow shell with a few dense balls in it
        const float c = n / 2.0f;
        for (int z = 0; z < n; z++)
            for (int y = 0; y < n; y++)
                for (int x = 0; x < n; x++) {
                    float dx = (x - c) / c, dy = (y - c) / c, dz = (z - c) / c;
                    float r2 = dx * dx + dy * dy + dz * dz, v = 0;
                    if (r2 > 0.70f && r2 < 0.80f)
                        v = 0.08f;
                    else if (r2 < 0.35f)
                        v = 0.25f * (1 - r2) + ((x ^ y ^ z) & 16 ? 0.1f : 0.0f);
                    v_[(size_t(z) * n + y) * n + x] = v;
                }
    }

    float sample(float x, float y, float z) const {
        int i = int(x), j = int(y), k = int(z);
        if (x < 0 || y < 0 || z < 0 || i >= n_ - 1 || j >= n_ - 1 || k >= n_ - 1) return 0;
        float fx = x - i, fy = y - j, fz = z - k;
        const float *p = &v_[(size_t(k) * n_ + j) * n_ + i], *q = p + size_t(n_) * n_;
        float a = p[0] + fx * (p[1] - p[0]), b = p[n_] + fx * (p[n_ + 1] - p[n_]);
        float c = q[0] + fx * (q[1] - q[0]), d = q[n_] + fx * (q[n_ + 1] - q[n_]);
        a += fy * (b - a);
        c += fy * (d - c);
        return a + fz * (c - a);
    }
    int size() const { return n_; }

  private:
    int n_;
    std::vector<float> v_;
};

struct Transfer {
    Rgba lut[256];
    Transfer() {
        for (int i = 0; i < 256; i++) {
            float t = i / 255.0f;
            lut[i] = {t, t * t, 1 - t, i < 8 ? 0.0f : 0.02f + 0.25f * t};
        }
    }
};

static Rgba castRay(const Volume& vol, const Transfer& tf, float u, float v) {
    // camera looks along (1,1,1) rotated a little, orthographic
    const float n = float(vol.size()), c = n / 2;
    const float d[3] = {0.52f, 0.62f, 0.587f};
    const float e[3] = {0.766f, -0.643f, 0.0f}, f[3] = {0.377f, 0.449f, -0.81f};
    float o[3], s = 0.98f * n;
    for (int k = 0; k < 3; k++) o[k] = c + s * (u * e[k] + v * f[k]) - n * 0.9f * d[k];

    // clip against the bounding sphere of the object
    float b = 0, cc = 0;
    for (int k = 0; k < 3; k++) {
        b += (o[k] - c) * d[k];
        cc += (o[k] - c) * (o[k] - c);
    }
    float disc = b * b - cc + 0.8f * c * c;
    Rgba out{0, 0, 0, 0};
    if (disc <= 0) return out;
    float h = std::sqrt(disc);
    for (float t = -b - h; t < -b + h; t += 0.75f) {
        float val = vol.sample(o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]);
        const Rgba& m = tf.lut[std::clamp(int(val * 512), 0, 255)];
        float w = m.a * (1 - out.a) * 0.5f;
        out.r += w * m.r;
        out.g += w * m.g;
        out.b += w * m.b;
        out.a += w;
        if (out.a > 0.995f) break;
    }
    return out;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const int size = argc > 2 ? std::atoi(argv[2]) : 384;

    Volume volume(176);
    Transfer transfer;
    std::vector<Rgba> image(size_t(size) * size);

    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back([&, t] {
            for (int y = size * t / threads; y < size * (t + 1) / threads; y++)
                for (int x = 0; x < size; x++)
                    image[size_t(y) * size + x] = castRay(
                        volume, transfer, (x + 0.5f) / size - 0.5f, (y + 0.5f) / size - 0.5f);
        });
    for (auto& th : pool) th.join();

    double sum = 0, opaque = 0;
    for (const Rgba& p : image) {
        sum += p.r + 2 * p.g + 3 * p.b;
        opaque += p.a;
    }
    std::printf("%dx%d checksum %.5f coverage %.5f\n", size, size, sum, opaque / image.size());
}
