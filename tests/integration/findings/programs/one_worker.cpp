// SPDX-License-Identifier: Apache-2.0
// The main thread fills an array that one other thread works on.
// label: data = remote first touch
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    std::vector<double> data(N, 1.0);
    double total = 0.0;
    std::thread([&] {
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (const double value : data) total += value;
    }).join();
    std::printf("%g\n", total);
}
