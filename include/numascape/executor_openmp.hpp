// SPDX-License-Identifier: Apache-2.0
// OpenMP's threads as an executor; compile with -fopenmp.
//
//     #include <numascape/executor_openmp.hpp>
//     #include <numascape/parallel_algorithm.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         numascape::openmp_executor threads;
//         numascape::segmented_vector<double> v{threads, numascape::layout{}, 1000, 1.0};
//         numascape::for_each(threads, v, [](double& x) { x += 1; });
//         return v[999] == 2 ? 0 : 1;
//     }
#pragma once

#ifndef _OPENMP
#error "numascape: executor_openmp.hpp needs OpenMP (-fopenmp)"
#endif

#include <omp.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "numascape/executor.hpp"

namespace numascape {

// Each bulk is one parallel region. The machine's CPUs are distributed over the threads in order;
// with fewer threads than CPUs, a thread has several. A thread is bound to the node of its CPU only
// while it works. It therefore works with and without OMP_PROC_BIND.
class openmp_executor {
  public:
    explicit openmp_executor(topology machine = topology::of_machine())
        : groups_{std::move(machine), 0} {}

    std::size_t workers_on(int node) const noexcept {
        return groups_.group_size(groups_.group_of_node(node));
    }

    template <std::invocable<std::size_t> F>
    void bulk(std::span<const int> nodes, F&& f) const {
        const auto tasks = groups_.tasks_by_worker(nodes);
        const auto workers = groups_.workers();
        detail::first_exception errors;
#pragma omp parallel default(shared) num_threads(threads_for(workers))
        {
            const auto threads = static_cast<std::size_t>(omp_get_num_threads());
            const auto thread = static_cast<std::size_t>(omp_get_thread_num());
            for (std::size_t worker = thread; worker < workers; worker += threads) {
                if (tasks[worker].empty()) continue;
                auto work = [&](std::size_t) {
                    const bound_to bound{groups_.cpus(groups_.group_of_worker(worker))};
                    for (const std::size_t task : tasks[worker]) errors.guard(task, f);
                };
                errors.guard(tasks[worker].front(), work);  // binding may fail
            }
        }
        errors.rethrow();
    }

  private:
    static int threads_for(std::size_t workers) noexcept {
        return static_cast<int>(std::min(workers, static_cast<std::size_t>(omp_get_max_threads())));
    }

    detail::worker_groups groups_;
};

static_assert(node_executor<const openmp_executor>);

}  // namespace numascape
