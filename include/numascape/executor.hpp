// SPDX-License-Identifier: Apache-2.0
// Where work runs. An executor has one function:
//
//     executor.bulk(nodes, f)   // std::span<const int> nodes, f(std::size_t)
//
// calls f(k) once for each k below nodes.size(), on a worker that is bound to node nodes[k], in any
// order and in parallel, and returns when all calls have returned. If some of them throw, the
// exception of the smallest k is thrown after all started calls have ended. The same nodes give the
// same workers, so elements are used by the worker that constructed them. It may also have
//
//     executor.workers_on(node)   // std::size_t
//
// the number of workers for tasks of this node: the algorithms then make as many tasks. Without it
// they make one for each segment.
//
// This header has two executors, `serial_executor` and `node_threads`. executor_openmp.hpp and
// executor_tbb.hpp adapt OpenMP's threads and oneTBB's arenas.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "numascape/topology.hpp"

namespace numascape {

template <class E>
concept node_executor = requires(E& executor, std::span<const int> nodes, void (*f)(std::size_t)) {
    executor.bulk(nodes, f);
};

// Runs everything in the calling thread, in order, wherever that is. Stops at an exception.
struct serial_executor {
    template <std::invocable<std::size_t> F>
    void bulk(std::span<const int> nodes, F&& f) const {
        for (std::size_t k = 0; k < nodes.size(); ++k) f(k);
    }
    std::size_t workers_on(int /*node*/) const noexcept { return 1; }
};

namespace detail {

// Keeps the exception of the task with the smallest number.
class first_exception {
  public:
    // Calls f(k) and keeps what it throws.
    template <class F>
    void guard(std::size_t k, F& f) noexcept {
        try {
            f(k);
        } catch (...) {
            const std::lock_guard lock{mutex_};
            if (k < task_) {
                task_ = k;
                exception_ = std::current_exception();
            }
        }
    }
    // Throws the kept exception, if any, and forgets it.
    void rethrow() {
        task_ = none;
        if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
    }

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    std::mutex mutex_;
    std::size_t task_ = none;
    std::exception_ptr exception_;
};

// Workers in groups, one group for each node that has CPUs. Chooses the worker of each task.
class worker_groups {
  public:
    // `per_node` workers on each node, by default one for each of its CPUs.
    worker_groups(topology machine, std::size_t per_node) : machine_{std::move(machine)} {
        for (const numa_node& node : machine_.nodes()) {
            if (node.cpus.empty()) continue;
            nodes_.push_back(node.id);
            cpus_.push_back(node.cpus);
            firsts_.push_back(workers_);
            workers_ += per_node != 0 ? per_node : node.cpus.size();
        }
        firsts_.push_back(workers_);
        if (workers_ == 0) throw std::invalid_argument{"no node has a CPU for workers"};
    }

    std::size_t workers() const noexcept { return workers_; }
    std::size_t groups() const noexcept { return nodes_.size(); }
    std::size_t group_size(std::size_t group) const noexcept {
        return firsts_[group + 1] - firsts_[group];
    }
    std::size_t group_of_worker(std::size_t worker) const noexcept {
        std::size_t group = 0;
        while (firsts_[group + 1] <= worker) ++group;
        return group;
    }
    const std::vector<int>& cpus(std::size_t group) const noexcept { return cpus_[group]; }
    // The group that works for a node: its own, or that of the nearest node with CPUs.
    std::size_t group_of_node(int node) const noexcept { return machine_.nearest(node, nodes_); }

    // Tasks of a node without CPUs go to the nearest node with CPUs.
    std::vector<std::vector<std::size_t>> tasks_by_worker(std::span<const int> nodes) const {
        std::vector<std::vector<std::size_t>> tasks(workers_);
        std::vector<std::size_t> dealt(groups(), 0);
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const std::size_t group = group_of_node(nodes[k]);
            tasks[firsts_[group] + dealt[group]++ % group_size(group)].push_back(k);
        }
        return tasks;
    }

  private:
    topology machine_;
    std::vector<int> nodes_;
    std::vector<std::vector<int>> cpus_;
    std::vector<std::size_t> firsts_;
    std::size_t workers_ = 0;
};

}  // namespace detail

// Has its own threads, each bound to the CPUs of one node. Bulks from several threads run one after
// the other. A bulk inside a bulk of the same executor would never end, so it throws
// std::logic_error.
//
//     #include <numascape/executor.hpp>
//     #include <cstdio>
//     #include <vector>
//
//     int main() {
//         numascape::node_threads workers;
//         const std::vector<int> nodes = numascape::topology::of_machine().memory_nodes(true);
//         workers.bulk(nodes, [&](std::size_t k) {
//             std::printf("on node %d\n", nodes[k] == numascape::current_node() ? nodes[k] : -1);
//         });
//     }
class node_threads {
  public:
    explicit node_threads(topology machine = topology::of_machine(), std::size_t per_node = 0)
        : groups_{std::move(machine), per_node}, workers_(groups_.workers()) {
        try {
            unfinished_ = static_cast<int>(workers_.size());
            for (std::size_t number = 0; number < workers_.size(); ++number)
                workers_[number].thread = std::thread{[this, number] { work(number); }};
            wait_for_workers();
            errors_.rethrow();
        } catch (...) {
            stop();
            throw;
        }
    }
    node_threads(const node_threads&) = delete;
    node_threads& operator=(const node_threads&) = delete;
    ~node_threads() { stop(); }

    std::size_t workers() const noexcept { return workers_.size(); }
    std::size_t workers_on(int node) const noexcept {
        return groups_.group_size(groups_.group_of_node(node));
    }

    // Wakes only the workers that have a task.
    template <std::invocable<std::size_t> F>
    void bulk(std::span<const int> nodes, F&& f) {
        for (const worker& one : workers_)
            if (one.thread.get_id() == std::this_thread::get_id())
                throw std::logic_error{"a bulk was started inside a bulk of the same node_threads"};
        const auto tasks = groups_.tasks_by_worker(nodes);
        const std::function<void(std::size_t)> call{[&f](std::size_t k) { f(k); }};
        const std::lock_guard turn{turn_};
        tasks_ = &tasks;
        call_ = &call;
        const auto busy = [](const std::vector<std::size_t>& own) { return !own.empty(); };
        unfinished_ = static_cast<int>(std::count_if(tasks.begin(), tasks.end(), busy));
        for (std::size_t number = 0; number < workers_.size(); ++number)
            if (busy(tasks[number])) workers_[number].start();
        wait_for_workers();
        errors_.rethrow();
    }

  private:
    // Each worker has a cache line of its own, because other workers wait for their own `starts` at
    // the same time.
    struct alignas(64) worker {
        std::atomic<unsigned> starts = 0;
        std::thread thread;

        void start() noexcept {
            starts.fetch_add(1);
            starts.notify_one();
        }
    };

    void work(std::size_t number) {
        auto bind = [&](std::size_t) {
            bind_this_thread(groups_.cpus(groups_.group_of_worker(number)));
        };
        errors_.guard(number, bind);
        for (unsigned seen = 0;; ++seen) {
            if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_one();
            workers_[number].starts.wait(seen);
            if (stopping_) return;
            for (const std::size_t task : (*tasks_)[number]) errors_.guard(task, *call_);
        }
    }
    void wait_for_workers() const noexcept {
        for (int left = unfinished_; left != 0; left = unfinished_) unfinished_.wait(left);
    }
    void stop() noexcept {
        stopping_ = true;
        for (worker& one : workers_) {
            one.start();
            if (one.thread.joinable()) one.thread.join();
        }
    }

    detail::worker_groups groups_;
    detail::first_exception errors_;
    std::mutex turn_;                  // held during a bulk
    std::atomic<int> unfinished_ = 0;  // workers that have not ended what they do
    std::atomic<bool> stopping_ = false;
    const std::vector<std::vector<std::size_t>>* tasks_ = nullptr;
    const std::function<void(std::size_t)>* call_ = nullptr;
    std::vector<worker> workers_;
};

static_assert(node_executor<const serial_executor> && node_executor<node_threads>);

}  // namespace numascape
