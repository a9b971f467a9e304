// SPDX-License-Identifier: Apache-2.0
// All workers of a node share the elements on it, equally, and each works on the node's CPUs.
#include "numascape/work_division.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "numascape/numa_vector.hpp"
#include "numascape/parallel_algorithm.hpp"
#include "numascape/per_node.hpp"
#include "numascape/segmented_vector.hpp"
#include "numascape/sort.hpp"

using namespace numascape;

namespace {

// Two nodes with 64 CPUs each, and memory without CPUs that is nearest to node 1.
topology large_machine() {
    std::vector<int> all(128);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<int> low{all.begin(), all.begin() + 64};
    const std::vector<int> high{all.begin() + 64, all.end()};
    return topology{std::vector<numa_node>{
        {0, low, true, {10, 20, 30}}, {1, high, true, {20, 10, 14}}, {2, {}, true, {30, 14, 10}}}};
}

// Runs all tasks in this thread, and counts the tasks of each worker of the large machine.
struct Recorder {
    detail::worker_groups groups{large_machine(), 0};
    std::vector<std::size_t> tasks = std::vector<std::size_t>(groups.workers());

    template <class F>
    void bulk(std::span<const int> nodes, F&& f) {
        const auto by_worker = groups.tasks_by_worker(nodes);
        for (std::size_t worker = 0; worker < by_worker.size(); ++worker) {
            current = worker;
            tasks[worker] += by_worker[worker].size();
            for (const std::size_t k : by_worker[worker]) f(k);
        }
    }
    std::size_t workers_on(int node) const { return groups.group_size(groups.group_of_node(node)); }
    std::size_t current = 0;
};

constexpr std::size_t grain = detail::grain_bytes / sizeof(double);
constexpr std::size_t large = 128 * grain * 2 + 77;

template <class V>
void expect_equal_shares(V& v, const std::vector<int>& nodes) {
    Recorder executor;
    std::vector<std::size_t> elements(128);
    for_each(executor, v, [&](double&) { ++elements[executor.current]; });
    for (std::size_t worker = 0; worker < 128; ++worker) {
        EXPECT_LE(executor.tasks[worker], 1U);
        const int node = worker < 64 ? 0 : 1;
        const bool used = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
        EXPECT_EQ(elements[worker] > 0, used) << worker;
        const std::size_t share = v.size() / (64 * nodes.size());
        EXPECT_NEAR(double(elements[worker]), used ? double(share) : 0, 2.0 * grain) << worker;
    }
    EXPECT_EQ(std::accumulate(elements.begin(), elements.end(), std::size_t{0}), v.size());
}

TEST(Division, GivesEveryCpuOfItsNodeAnEqualShare) {
    const auto both = layout{block{}}.on({0, 1}).first_touched();
    segmented_vector<double> two{both, large};  // two segments, 128 workers
    expect_equal_shares(two, {0, 1});
    numa_vector<double> contiguous{both, large};
    expect_equal_shares(contiguous, {0, 1});
    segmented_vector<double> five{layout{block{5}}.on({0}).first_touched(), large};
    expect_equal_shares(five, {0});
    segmented_vector<double, layout<block_cyclic<>>> cyclic{
        layout{block_cyclic{grain}}.on({0, 1}).first_touched(), large};
    expect_equal_shares(cyclic, {0, 1});
}

TEST(Division, KeepsASharesWorkerForEveryAlgorithm) {
    segmented_vector<double> v{layout{block{}}.on({0, 1}).first_touched(), large, 1.0};
    Recorder executor;
    std::unordered_map<const double*, std::size_t> owners;
    const auto see = [&](const double& x) {
        const auto [at, added] = owners.emplace(&x, executor.current);
        return added || at->second == executor.current;
    };
    for_each(executor, v, [&](double& x) { EXPECT_TRUE(see(x)); });
    EXPECT_EQ(count_if(executor, v, see), std::ssize(v));
    EXPECT_EQ(find_if(executor, v, [&](const double& x) { return !see(x); }), v.end());
}

TEST(Division, SharesTheWorkOfConstructionAndSorting) {
    Recorder executor;
    // The elements by worker. Many elements are compared, so a set would take most of the time.
    std::vector<bool> constructing(128), sorting(128);
    const auto value = [&](std::size_t i) {
        constructing[executor.current] = true;
        return static_cast<double>(i * 7919 % 10'007);
    };
    segmented_vector<double> v{executor, layout{block{}}.on({0, 1}).first_touched(), large,
                               from_index{value}};
    EXPECT_EQ(std::count(constructing.begin(), constructing.end(), true), 128);
    const auto less = [&](double a, double b) {
        sorting[executor.current] = true;
        return a < b;
    };
    numascape::sort(executor, v, less);
    EXPECT_EQ(std::count(sorting.begin(), sorting.end(), true), 128);
    EXPECT_TRUE(std::is_sorted(v.begin(), v.end()));
}

TEST(Division, GivesMemoryWithoutCpusToTheNearestNode) {
    Recorder executor;
    segmented_vector<double> v{layout{block{1}}.on({2}).first_touched(), large};
    for_each(executor, v, [](double&) {});
    for (std::size_t worker = 0; worker < 128; ++worker)
        EXPECT_EQ(executor.tasks[worker], worker < 64 ? 0U : 1U);
}

TEST(Division, MakesATaskForEachSegmentIfWorkersAreUnknown) {
    struct Plain {
        std::vector<int> nodes;
        void bulk(std::span<const int> given, const std::function<void(std::size_t)>& f) {
            nodes.assign(given.begin(), given.end());
            for (std::size_t k = 0; k < given.size(); ++k) f(k);
        }
    };
    Plain executor;
    segmented_vector<double> v{layout{block{6}}.on({0, 1}).first_touched(), large};
    for_each(executor, v, [](double&) {});
    EXPECT_EQ(executor.nodes, (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(Division, WakesNobodyForAFewNumbers) {
    node_threads workers;
    std::set<std::thread::id> threads;
    std::mutex mutex;
    const auto note = [&](auto&) {
        const std::lock_guard lock{mutex};
        threads.insert(std::this_thread::get_id());
    };
    const std::set<std::thread::id> here{std::this_thread::get_id()};
    segmented_vector<double> few{workers, layout{block{4}}, 100};
    for_each(workers, few, note);
    numascape::sort(workers, few, [&](double a, double b) {
        note(a);
        return a < b;
    });
    EXPECT_EQ(threads, here);
    // The exceptions are elements with much work each, and elements that own memory.
    threads.clear();
    for_each(in_grains{workers, 1}, few, note);
    EXPECT_EQ(threads.size(), std::min<std::size_t>(workers.workers(), 100));
    EXPECT_FALSE(threads.contains(*here.begin()));
    threads.clear();
    per_node<std::vector<int>> lists;
    for_each(workers, lists, note);
    EXPECT_FALSE(threads.contains(*here.begin()));
}

TEST(Division, RunsSharesOfRealWorkersOnTheirCpus) {
    std::vector<numa_node> nodes;
    for (const int cpu : detail::allowed_cpus())
        nodes.push_back({static_cast<int>(nodes.size()), {cpu}, true, {}});
    node_threads workers{topology{nodes}, 4};
    std::vector<int> numbers(nodes.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    segmented_vector<double> v{
        layout{block{}}.on(node_list{std::span<const int>{numbers}}).first_touched(), large};
    std::mutex mutex;
    std::map<std::thread::id, std::set<int>> cpus;
    std::map<int, std::set<std::thread::id>> by_node;
    for_each(in_grains{workers, grain}, v, [&](double& x) {
        if (static_cast<std::size_t>(&x - &v[0]) % grain != 0) return;
        const std::lock_guard lock{mutex};
        cpus[std::this_thread::get_id()].insert(sched_getcpu());
        by_node[sched_getcpu()].insert(std::this_thread::get_id());
    });
    EXPECT_EQ(cpus.size(), 4 * nodes.size());
    for (const auto& [thread, used] : cpus) EXPECT_EQ(used.size(), 1U);
    for (const auto& [cpu, threads] : by_node) EXPECT_EQ(threads.size(), 4U);
}

}  // namespace
