// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication by std::thread; main computes nothing.
#include <thread>
#include <vector>

#include "columns.h"

int main(int argc, char** argv) {
    read_arguments(argc, argv);
    std::vector<std::thread> team;
    for (long t = 0; t < threads; t++) team.emplace_back(multiply_columns, t);
    for (std::thread& thread : team) thread.join();
    return 0;
}
