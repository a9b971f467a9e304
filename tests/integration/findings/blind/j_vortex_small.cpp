// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: 4000 vortices are 128 KB, which all threads read and which stays in every cache; 16 million
// interactions in each step are computing. All vortices cost the same.
// action: run = none
// harm: vortices = spread | copy | local | divide
// harm: speed = spread | copy | local | divide
// harm: run = balance
// Vortices in a plane: each moves with the flow of all others; a regularised kernel, steps of
// Heun's method.
//   usage: vortex_small [threads] [vortices] [steps]
#include <omp.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Point {
    double x = 0, y = 0;
};

struct Vortex {
    Point at;
    double strength = 0;
    double core = 0;
};

static Point operator+(Point a, Point b) {
    return {a.x + b.x, a.y + b.y};
}
static Point operator*(double s, Point a) {
    return {s * a.x, s * a.y};
}

class Flow {
  public:
    explicit Flow(int count) : vortices(count), moved(count), speed(count), second(count) {
        for (int i = 0; i < count; ++i) {
            const double angle = 2.399963 * i,
                         radius = std::sqrt(i + 0.5) / std::sqrt(double(count));
            vortices[i] = {{radius * std::cos(angle), radius * std::sin(angle)},
                           (i % 3 ? 1.0 : -0.5) / count,
                           1e-4 * (1 + i % 5)};
        }
    }

    void step(double dt) {
        velocities(vortices, speed);
        for (size_t i = 0; i < vortices.size(); ++i) {
            moved[i] = vortices[i];
            moved[i].at = vortices[i].at + dt * speed[i];
        }
        velocities(moved, second);
        for (size_t i = 0; i < vortices.size(); ++i)
            vortices[i].at = vortices[i].at + 0.5 * dt * (speed[i] + second[i]);
    }

    Point momentum() const {
        Point sum;
        for (const Vortex& v : vortices) sum = sum + v.strength * v.at;
        return sum;
    }

    double energy() const {
        double sum = 0;
        for (size_t i = 1; i < vortices.size(); ++i) {
            const double dx = vortices[i].at.x - vortices[0].at.x,
                         dy = vortices[i].at.y - vortices[0].at.y;
            sum -= vortices[i].strength * vortices[0].strength * std::log(dx * dx + dy * dy);
        }
        return sum;
    }

  private:
    static void velocities(const std::vector<Vortex>& from, std::vector<Point>& result) {
        const int n = int(from.size());
#pragma omp parallel for schedule(guided)
        for (int i = 0; i < n; ++i) {
            const Point at = from[i].at;
            Point sum;
            for (int j = 0; j < n; ++j) {
                const Vortex& v = from[j];
                const double dx = at.x - v.at.x, dy = at.y - v.at.y;
                const double factor = v.strength / (dx * dx + dy * dy + v.core);
                sum.x -= factor * dy;
                sum.y += factor * dx;
            }
            result[i] = 0.15915494309189535 * sum;
        }
    }

    std::vector<Vortex> vortices, moved;
    std::vector<Point> speed, second;
};

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? std::atoi(argv[1]) : 4);
    const int count = argc > 2 ? std::atoi(argv[2]) : 4000;
    const int steps = argc > 3 ? std::atoi(argv[3]) : 6;
    Flow flow(count);
    for (int s = 0; s < steps; ++s) flow.step(0.01);
    const Point momentum = flow.momentum();
    std::printf("momentum %.12f %.12f energy %.12f\n", momentum.x, momentum.y, flow.energy());
}
