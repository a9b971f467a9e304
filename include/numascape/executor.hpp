// SPDX-License-Identifier: Apache-2.0
// Where work runs. An executor has one function:
//
//     executor.bulk(nodes, f)   // std::span<const int> nodes, f(std::size_t)
//
// calls f(k) once for each k below nodes.size(), on a worker that is bound to node nodes[k], in any
// order and in parallel, and returns when all calls have returned. If some of them throw, the
// exception of the smallest k is thrown after all started calls have ended. The same nodes give the
// same workers, so a segment is used by the worker that constructed it.
//
// This header has two executors, `serial_executor` and `node_threads`. executor_openmp.hpp and
// executor_tbb.hpp adapt OpenMP's threads and oneTBB's arenas.
#pragma once

#include <concepts>
#include <condition_variable>
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

// Workers in groups, one group for each node that has CPUs; which worker runs which task.
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

    // Tasks of a node without CPUs go to the nearest node with CPUs.
    std::vector<std::vector<std::size_t>> tasks_by_worker(std::span<const int> nodes) const {
        std::vector<std::vector<std::size_t>> tasks(workers_);
        std::vector<std::size_t> dealt(groups(), 0);
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const std::size_t group = machine_.nearest(nodes[k], nodes_);
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
        : groups_{std::move(machine), per_node} {
        try {
            for (std::size_t worker = 0; worker < groups_.workers(); ++worker)
                threads_.emplace_back([this, worker] { work(worker); });
            std::unique_lock lock{mutex_};
            done_.wait(lock, [this] { return running_ == 0; });
            errors_.rethrow();
        } catch (...) {
            stop();
            throw;
        }
    }
    node_threads(const node_threads&) = delete;
    node_threads& operator=(const node_threads&) = delete;
    ~node_threads() { stop(); }

    std::size_t workers() const noexcept { return threads_.size(); }

    template <std::invocable<std::size_t> F>
    void bulk(std::span<const int> nodes, F&& f) {
        for (const std::thread& thread : threads_)
            if (thread.get_id() == std::this_thread::get_id())
                throw std::logic_error{"a bulk inside a bulk of the same node_threads"};
        const auto tasks = groups_.tasks_by_worker(nodes);
        const std::function<void(std::size_t)> call = std::ref(f);
        const std::lock_guard turn{turn_};
        std::unique_lock lock{mutex_};
        tasks_ = &tasks;
        call_ = &call;
        running_ = threads_.size();
        ++generation_;
        start_.notify_all();
        done_.wait(lock, [this] { return running_ == 0; });
        lock.unlock();
        errors_.rethrow();
    }

  private:
    void work(std::size_t worker) {
        std::size_t seen = 0;
        auto bind = [&](std::size_t) {
            bind_this_thread(groups_.cpus(groups_.group_of_worker(worker)));
        };
        errors_.guard(worker, bind);
        std::unique_lock lock{mutex_};
        for (;;) {
            if (--running_ == 0) done_.notify_all();
            start_.wait(lock, [&] { return generation_ != seen; });
            seen = generation_;
            if (stopping_) return;
            lock.unlock();
            for (const std::size_t task : (*tasks_)[worker]) errors_.guard(task, *call_);
            lock.lock();
        }
    }

    void stop() noexcept {
        {
            const std::lock_guard lock{mutex_};
            stopping_ = true;
            ++generation_;
        }
        start_.notify_all();
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

    detail::worker_groups groups_;
    detail::first_exception errors_;
    std::mutex turn_;   // held during a bulk
    std::mutex mutex_;  // of what follows
    std::condition_variable start_;
    std::condition_variable done_;
    std::size_t generation_ = 0;
    std::size_t running_ = groups_.workers();  // workers that have not ended what they do
    bool stopping_ = false;
    const std::vector<std::vector<std::size_t>>* tasks_ = nullptr;
    const std::function<void(std::size_t)>* call_ = nullptr;
    std::vector<std::thread> threads_;
};

static_assert(node_executor<const serial_executor> && node_executor<node_threads>);

}  // namespace numascape
