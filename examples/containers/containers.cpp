// SPDX-License-Identifier: Apache-2.0
// Heat in a rod, as an array of objects: cells with their temperature and material, divided among
// threads in equal blocks. Explicit Euler in time, central differences in space.
//
//   vector     std::vector<Cell>: main constructs all cells, so all pages lie on its node
//   segmented  numascape::segmented_vector<Cell>: each thread constructs the cells it will use
//
// Both run the same sweeps. The rod starts as one arch of a sine, with both ends kept at zero;
// every step of this scheme then multiplies all temperatures by one and the same factor (von
// Neumann's analysis), so that the result is known in closed form.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <numbers>
#include <span>
#include <vector>

#include "../options.h"
#include "numascape/executor.hpp"
#include "numascape/segmented_vector.hpp"

namespace {

struct Cell {
    double temperature = 0;
    double next = 0;
    double diffusion = 0;  // per step, in squared cells
    double heat_capacity = 1;
    double heat = 0;  // temperature times capacity, kept up to date for output
    double position = 0;
    long material = 0;
    long updates = 0;
};
static_assert(sizeof(Cell) == 64);

constexpr double diffusion = 0.25;

struct Rod {
    std::size_t size;

    double first_temperature(std::size_t i) const {
        return std::sin(std::numbers::pi * static_cast<double>(i + 1) /
                        static_cast<double>(size + 1));
    }
    Cell cell(std::size_t i) const {
        Cell result;
        result.temperature = first_temperature(i);
        result.diffusion = diffusion;
        result.position = static_cast<double>(i) / static_cast<double>(size);
        return result;
    }
    // The factor by which one step multiplies every temperature.
    double factor() const {
        const double half = std::numbers::pi / 2 / static_cast<double>(size + 1);
        return 1 - 4 * diffusion * std::sin(half) * std::sin(half);
    }
};

// The cells of one thread, and the temperatures on both sides of them.
void compute_next(std::span<Cell> cells, const double* before, const double* after) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double left = i > 0 ? cells[i - 1].temperature : before != nullptr ? *before : 0;
        const double right = i + 1 < cells.size() ? cells[i + 1].temperature
                             : after != nullptr   ? *after
                                                  : 0;
        Cell& cell = cells[i];
        cell.next = cell.temperature + cell.diffusion * (left - 2 * cell.temperature + right);
    }
}

void take_next(std::span<Cell> cells) {
    for (Cell& cell : cells) {
        cell.temperature = cell.next;
        cell.heat = cell.temperature * cell.heat_capacity;
        ++cell.updates;
    }
}

// Runs the sweeps over blocks of cells, block k by a worker of nodes[k].
void solve(numascape::node_threads& workers, std::span<const int> nodes,
           const std::vector<std::span<Cell>>& blocks, long steps) {
    for (long step = 0; step < steps; ++step) {
        workers.bulk(nodes, [&](std::size_t k) {
            compute_next(blocks[k], k > 0 ? &blocks[k - 1].back().temperature : nullptr,
                         k + 1 < blocks.size() ? &blocks[k + 1].front().temperature : nullptr);
        });
        workers.bulk(nodes, [&](std::size_t k) { take_next(blocks[k]); });
    }
}

bool correct(const Rod& rod, long steps, const std::vector<std::span<Cell>>& blocks) {
    const double factor = std::pow(rod.factor(), static_cast<double>(steps));
    std::size_t i = 0;
    for (const std::span<Cell> cells : blocks) {
        for (const Cell& cell : cells) {
            const double expected = factor * rod.first_temperature(i++);
            if (std::abs(cell.temperature - expected) > 1e-9 || cell.updates != steps) return false;
        }
    }
    return i == rod.size;
}

bool run(bool segmented, std::size_t size, long steps, std::size_t threads) {
    const Rod rod{size};
    const numascape::topology machine = numascape::topology::of_machine();
    const std::vector<int> nodes = machine.memory_nodes(true);
    numascape::node_threads workers{machine, (threads + nodes.size() - 1) / nodes.size()};
    const auto where = numascape::layout{numascape::block{threads}}.on(
        numascape::node_list{std::span<const int>{nodes}});
    std::vector<std::span<Cell>> blocks;
    if (segmented) {
        numascape::segmented_vector<Cell> cells{
            workers, where, size,
            numascape::from_index{[&](std::size_t i) { return rod.cell(i); }}};
        for (const std::span<Cell> segment : cells.segments()) blocks.push_back(segment);
        solve(workers, cells.nodes(), blocks, steps);
        return correct(rod, steps, blocks);
    }
    std::vector<Cell> cells(size);
    for (std::size_t i = 0; i < size; ++i) cells[i] = rod.cell(i);
    std::vector<int> owners;
    for (std::size_t k = 0; k < threads; ++k) {
        const std::size_t first = where.first(k, size);
        blocks.emplace_back(cells.data() + first, where.first(k + 1, size) - first);
        owners.push_back(where.node(k, size));
    }
    solve(workers, owners, blocks, steps);
    return correct(rod, steps, blocks);
}

}  // namespace

int main(int count, char** arguments) {
    const char* usage = "usage: containers [-n CELLS] [-s STEPS] [-t THREADS] vector|segmented\n";
    long size = 65536;
    long steps = 20;
    long threads = 4;
    for (int option = 0; (option = getopt(count, arguments, "n:s:t:")) != -1;) {
        if (option == 'n')
            size = whole_number("-n", optarg, 4096, 1L << 32);
        else if (option == 's')
            steps = whole_number("-s", optarg, 1, 1000000);
        else if (option == 't')
            threads = whole_number("-t", optarg, 1, 64);
        else
            return std::fputs(usage, stderr), 2;
    }
    const char* version = optind + 1 == count ? arguments[optind] : "";
    const bool segmented = std::strcmp(version, "segmented") == 0;
    if (!segmented && std::strcmp(version, "vector") != 0) return std::fputs(usage, stderr), 2;
    const auto cells = static_cast<std::size_t>(size);
    try {
        const bool right = run(segmented, cells, steps, static_cast<std::size_t>(threads));
        std::printf("containers %s: %ld cells, %ld steps, %ld threads, %s\n", version, size, steps,
                    threads, right ? "correct" : "WRONG");
        return right ? 0 : 1;
    } catch (const std::bad_alloc&) {
        out_of_memory(cells * sizeof(Cell));
    }
}
