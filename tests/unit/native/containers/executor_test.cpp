// SPDX-License-Identifier: Apache-2.0
// Executors run every task once, on the CPUs of its node, and propagate exceptions.
#include "numascape/executor.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "numascape/executor_openmp.hpp"
#include "numascape/executor_tbb.hpp"
#include "numascape/segmented_vector.hpp"

using namespace numascape;

namespace {

// This machine's CPUs, one node for each, and a node without CPUs that is nearest to the last.
topology divided_machine() {
    std::vector<numa_node> nodes;
    for (const int cpu : detail::allowed_cpus())
        nodes.push_back({static_cast<int>(nodes.size()), {cpu}, true, {}});
    const std::size_t count = nodes.size() + 1;
    nodes.push_back({static_cast<int>(nodes.size()), {}, true, {}});
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j)
            nodes[i].distances.push_back(i == j ? 10 : j + 2 == count && i + 1 == count ? 12 : 20);
    return topology{nodes};
}

template <class Executor>
void expect_every_task_on_its_node(Executor& executor) {
    const topology machine = divided_machine();
    const std::size_t count = machine.nodes().size();
    std::vector<int> nodes;
    for (std::size_t k = 0; k < 200; ++k) nodes.push_back(static_cast<int>(k % count));
    std::vector<int> runs(nodes.size(), 0);
    std::vector<int> cpus(nodes.size(), -1);
    executor.bulk(nodes, [&](std::size_t k) {
        ++runs[k];
        cpus[k] = sched_getcpu();
    });
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        EXPECT_EQ(runs[k], 1);
        const std::size_t home = std::min(k % count, count - 2);  // the last has no CPU
        EXPECT_EQ(cpus[k], machine.nodes()[home].cpus[0]);
    }
    executor.bulk({}, [](std::size_t) { FAIL(); });
}

template <class Executor>
void expect_first_exception(Executor& executor) {
    const std::vector<int> nodes(50, 0);
    for (int round = 0; round < 10; ++round) {
        std::atomic<int> ran = 0;
        try {
            executor.bulk(nodes, [&](std::size_t k) {
                ++ran;
                if (k >= 20) throw std::runtime_error{std::to_string(k)};
            });
            FAIL();
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "20");
        }
        EXPECT_GE(ran, 21);
        executor.bulk(nodes, [&](std::size_t) { ++ran; });  // works again
    }
}

TEST(NodeThreads, RunTasksOnTheirNodes) {
    node_threads workers{divided_machine()};
    EXPECT_EQ(workers.workers(), detail::allowed_cpus().size());
    expect_every_task_on_its_node(workers);
    expect_first_exception(workers);
    node_threads more{divided_machine(), 3};
    EXPECT_EQ(more.workers(), 3 * detail::allowed_cpus().size());
    expect_every_task_on_its_node(more);
}

TEST(NodeThreads, GiveTheSameTasksToTheSameThreads) {
    node_threads workers{divided_machine(), 2};
    const std::vector<int> nodes(16, 0);
    std::vector<std::thread::id> first(16);
    std::vector<std::thread::id> second(16);
    workers.bulk(nodes, [&](std::size_t k) { first[k] = std::this_thread::get_id(); });
    workers.bulk(nodes, [&](std::size_t k) { second[k] = std::this_thread::get_id(); });
    EXPECT_EQ(first, second);
    EXPECT_NE(first[0], first[1]);
}

TEST(NodeThreads, TakeTurnsWithTheBulksOfSeveralThreads) {
    node_threads workers;
    const std::vector<int> nodes(8, 0);
    std::vector<long> sums(8, 0);  // two bulks at a time would both add to one
    const auto add = [&] {
        for (int round = 0; round < 50; ++round)
            workers.bulk(nodes, [&](std::size_t k) { ++sums[k]; });
    };
    std::thread other{add};
    add();
    other.join();
    EXPECT_EQ(sums, std::vector<long>(8, 100));
}

TEST(NodeThreads, RefuseABulkInsideABulk) {
    node_threads workers;
    const std::vector<int> nodes(2, 0);
    const auto inner = [](std::size_t) {};
    EXPECT_THROW(workers.bulk(nodes, [&](std::size_t) { workers.bulk(nodes, inner); }),
                 std::logic_error);
    workers.bulk(nodes, inner);  // works again
}

TEST(NodeThreads, NeedCpus) {
    const std::vector<numa_node> none{{0, {}, true, {10}}};
    EXPECT_THROW(node_threads{topology{none}}, std::invalid_argument);
    const std::vector<numa_node> elsewhere{{0, {1000}, true, {10}}};
    EXPECT_THROW(node_threads{topology{elsewhere}}, std::system_error);
}

// Every call of bulk after the first ones fails.
struct Failing {
    int left;
    template <class F>
    void bulk(std::span<const int> nodes, F&& f) {
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            if (k == 1 && left-- <= 0) throw std::runtime_error{"executor"};
            f(k);
        }
    }
};

TEST(FailingExecutor, LeavesNoElementAndDestroysNoneTwice) {
    static int living = 0;
    struct Counted {
        Counted() { ++living; }
        ~Counted() { --living; }
    };
    using Vector = segmented_vector<Counted>;
    for (int bulks = 0; bulks < 2; ++bulks) {
        Failing executor{bulks};
        EXPECT_THROW((Vector{executor, layout{block{4}}.first_touched(), 100}), std::runtime_error);
        EXPECT_EQ(living, 0);
    }
    {
        Failing executor{2};
        Vector v{executor, layout{block{4}}.first_touched(), 100};
        EXPECT_EQ(living, 100);
        EXPECT_THROW(v.clear(executor), std::runtime_error);
    }
    EXPECT_EQ(living, 0);
}

TEST(Serial, StopsAtAnException) {
    serial_executor here;
    expect_first_exception(here);
}

TEST(OpenMP, RunsTasksOnTheirNodesAndReleasesItsThreads) {
    openmp_executor threads{divided_machine()};
    const std::vector<int> before = detail::allowed_cpus();
    expect_every_task_on_its_node(threads);
    EXPECT_EQ(detail::allowed_cpus(), before);
    expect_first_exception(threads);
}

TEST(Tbb, RunsTasksOnTheirNodesAndReleasesItsThreads) {
    oneapi::tbb::task_arena arena;
    tbb_executor tasks{arena, divided_machine()};
    const std::vector<int> before = detail::allowed_cpus();
    expect_every_task_on_its_node(tasks);
    EXPECT_EQ(detail::allowed_cpus(), before);
    expect_first_exception(tasks);
}

}  // namespace
