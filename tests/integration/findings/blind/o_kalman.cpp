// SPDX-License-Identifier: Apache-2.0
// Each thread creates, fills and uses its own filters. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// label: filters_ = partitioned
// action: filters_ = none
// harm: filters_ = spread
// minor: meas_ = partitioned | cache-resident
// minor: gen = partitioned | cache-resident
// kalman - tracks many independent targets, a constant velocity Kalman filter for each.
//   kalman [threads] [steps]
// The targets are divided among the workers once; a worker creates its filters and its
// measurements itself and nobody else looks at them until the summary.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct Filter {
    double x[4];  // position, velocity
    double P[4][4];

    void predict(double dt, double q) {
        x[0] += dt * x[2];
        x[1] += dt * x[3];
        // P = F P F' + Q, F = [I dt*I; 0 I]
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 2; i++) P[i][j] += dt * P[i + 2][j];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++) P[i][j] += dt * P[i][j + 2];
        P[2][2] += q;
        P[3][3] += q;
    }

    // one scalar measurement of coordinate c; gives the normalised innovation squared
    double update(int c, double z, double r) {
        double s = P[c][c] + r, y = z - x[c], k[4], row[4];
        for (int i = 0; i < 4; i++) {
            k[i] = P[i][c] / s;
            row[i] = P[c][i];
        }
        for (int i = 0; i < 4; i++) {
            x[i] += k[i] * y;
            for (int j = 0; j < 4; j++) P[i][j] -= k[i] * row[j];
        }
        return y * y / s;
    }
};

struct Measurement {
    float u, v;
};

class Noise {
  public:
    explicit Noise(uint64_t seed) : s_(seed * 0x9E3779B97F4A7C15ull + 1) {}
    double operator()() {
        double a = 0;
        for (int i = 0; i < 4; i++) {
            s_ = s_ * 6364136223846793005ull + 1442695040888963407ull;
            a += double(s_ >> 11) / 9007199254740992.0 - 0.5;
        }
        return a;
    }

  private:
    uint64_t s_;
};

class Tracker {
  public:
    Tracker(uint32_t first, uint32_t last)
        : first_(first), filters_(last - first), meas_(last - first) {}

    void run(int steps) {
        for (size_t i = 0; i < filters_.size(); i++) {
            filters_[i] = Filter{};
            for (int k = 0; k < 4; k++) filters_[i].P[k][k] = 10;
        }
        std::vector<Noise> gen;
        gen.reserve(filters_.size());
        for (size_t i = 0; i < filters_.size(); i++) gen.emplace_back(first_ + i);

        double nis = 0;
        for (int k = 1; k <= steps; k++) {
            for (size_t i = 0; i < meas_.size(); i++) {
                double course = 0.001 * double(first_ + i);
                meas_[i] = {float(k * std::cos(course) + 0.3 * gen[i]()),
                            float(k * std::sin(course) + 0.3 * gen[i]())};
            }
            for (size_t i = 0; i < filters_.size(); i++) {
                filters_[i].predict(1.0, 0.01);
                nis += filters_[i].update(0, meas_[i].u, 0.03);
                nis += filters_[i].update(1, meas_[i].v, 0.03);
            }
        }
        nis_ = nis;
        for (const Filter& f : filters_) speed_ += std::hypot(f.x[2], f.x[3]);
    }
    double nis() const { return nis_; }
    double speed() const { return speed_; }

  private:
    uint32_t first_;
    std::vector<Filter> filters_;
    std::vector<Measurement> meas_;
    double nis_ = 0, speed_ = 0;
};

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 16;
    const uint32_t targets = 60000;

    std::vector<std::unique_ptr<Tracker>> tracker(threads);
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back([&, t] {
            // built here, by the thread that will use it
            auto mine = std::make_unique<Tracker>(uint32_t(uint64_t(targets) * t / threads),
                                                  uint32_t(uint64_t(targets) * (t + 1) / threads));
            mine->run(steps);
            tracker[t] = std::move(mine);
        });
    for (auto& th : pool) th.join();

    double nis = 0, speed = 0;
    for (auto& t : tracker) {
        nis += t->nis();
        speed += t->speed();
    }
    std::printf("targets %u steps %d mean NIS %.6f mean speed %.6f\n", targets, steps,
                nis / (2.0 * steps * targets), speed / targets);
}
