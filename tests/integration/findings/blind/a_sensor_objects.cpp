// SPDX-License-Identifier: Apache-2.0
// Smooths the histories of 8192 sensors, objects of 1000 bytes that main makes one after another.
// Thread t takes the sensors t, t + T, t + 2T and so on, always the same ones, so a page of about
// four objects belongs to all four threads, while no object is shared.
// label: sensors = page-level false sharing
// action: sensors = divide | pad
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int SENSORS = 8192;
constexpr int ROUNDS = 24;

struct Sensor {
    explicit Sensor(int number) : mean(0), drift(number % 7) {
        for (int k = 0; k < 123; k++) history[k] = (number * 31 + k * 17) % 97;
    }
    void smooth() {
        double level = history[0];
        for (double& value : history) {
            level += 0.25 * (value - level);
            value = level;
        }
        mean = 0.5 * (mean + level) + 0.001 * drift;
    }
    double history[123];
    double mean;
    double drift;
};

using Sensors = std::vector<std::unique_ptr<Sensor>>;

void smooth_every(const Sensors& sensors, int first, int stride) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int s = first; s < SENSORS; s += stride) sensors[s]->smooth();
    }
}

}  // namespace

int main() {
    const char* chosen = std::getenv("THREADS");
    const int count = chosen ? std::atoi(chosen) : 4;
    Sensors sensors;
    for (int s = 0; s < SENSORS; s++) sensors.push_back(std::make_unique<Sensor>(s));
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++) {
        threads.emplace_back(smooth_every, std::cref(sensors), t, count);
    }
    for (auto& thread : threads) thread.join();
    double sum = 0;
    for (const auto& sensor : sensors) sum += sensor->mean;
    std::printf("mean %.6f\n", sum / SENSORS);
    return 0;
}
