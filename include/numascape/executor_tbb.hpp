// SPDX-License-Identifier: Apache-2.0
// oneTBB's arenas as an executor; link with TBB::tbb.
//
//     #include <numascape/executor_tbb.hpp>
//     #include <numascape/parallel_algorithm.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         tbb::task_arena arena;
//         numascape::tbb_executor tasks{arena};
//         numascape::segmented_vector<double> v{tasks, numascape::layout{}, 1000, 1.0};
//         numascape::for_each(tasks, v, [](double& x) { x += 1; });
//         return v[999] == 2 ? 0 : 1;
//     }
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "numascape/executor.hpp"

namespace numascape {

// A thread of the arena is bound to the node of a task only while it runs the task. Any thread may
// run any task, but always near the task's data. The arena must outlive the executor.
class tbb_executor {
  public:
    explicit tbb_executor(oneapi::tbb::task_arena& arena, topology machine = topology::of_machine())
        : arena_{&arena}, groups_{std::move(machine), 1} {}

    // One for each CPU of the node, although any thread of the arena may be that worker.
    std::size_t workers_on(int node) const noexcept {
        return groups_.cpus(groups_.group_of_node(node)).size();
    }

    template <std::invocable<std::size_t> F>
    void bulk(std::span<const int> nodes, F&& f) const {
        const auto by_node = groups_.tasks_by_worker(nodes);
        detail::first_exception errors;
        arena_->execute([&] {
            for_all(by_node.size(), [&](std::size_t node) {
                for_all(by_node[node].size(), [&](std::size_t i) {
                    auto work = [&](std::size_t task) {
                        const bound_to bound{groups_.cpus(node)};
                        f(task);
                    };
                    errors.guard(by_node[node][i], work);
                });
            });
        });
        errors.rethrow();
    }

  private:
    template <class F>
    static void for_all(std::size_t n, const F& f) {
        oneapi::tbb::parallel_for(std::size_t{0}, n, f);
    }

    oneapi::tbb::task_arena* arena_;
    detail::worker_groups groups_;
};

static_assert(node_executor<const tbb_executor>);

}  // namespace numascape
