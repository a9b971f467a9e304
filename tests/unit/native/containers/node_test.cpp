// SPDX-License-Identifier: Apache-2.0
// The machine's topology, one object for each node, and memory of a node.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numascape/memory_resource.hpp"
#include "numascape/parallel_algorithm.hpp"
#include "numascape/per_node.hpp"
#include "numascape/replicated.hpp"
#include "numascape/topology.hpp"

using namespace numascape;

namespace {

TEST(Topology, ReadsTheKernelsLists) {
    EXPECT_EQ(detail::parse_cpu_list("0-3,8,10-11"), (std::vector{0, 1, 2, 3, 8, 10, 11}));
    EXPECT_EQ(detail::parse_cpu_list(""), std::vector<int>{});
    EXPECT_EQ(detail::parse_cpu_list("junk"), std::vector<int>{});
    EXPECT_EQ(detail::parse_cpu_list("5"), std::vector{5});
}

TEST(Topology, KnowsWhichNodesAThreadMayUse) {
    EXPECT_EQ(topology::usable_nodes(), topology::of_machine().memory_nodes(true));
    const std::vector<int> one{detail::allowed_cpus().back()};
    const bound_to bound{one};
    EXPECT_EQ(topology::usable_nodes(), topology::of_machine().memory_nodes(true));
}

void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text << '\n';
}

TEST(Topology, ReadsNodesFromATree) {
    const std::filesystem::path root = testing::TempDir() + "numascape-topology";
    const std::filesystem::path folder = root / "devices/system/node";
    write(folder / "online", "0,2-3");
    write(folder / "has_memory", "0,3");
    write(folder / "node0/cpulist", "0-1");
    write(folder / "node0/distance", "10 20 30");
    write(folder / "node0/meminfo", "Node 0 MemTotal:  2048 kB\nNode 0 MemFree:  1 kB");
    write(folder / "node2/cpulist", "2-3");
    write(folder / "node2/distance", "20 10 17");
    write(folder / "node3/cpulist", "");
    write(folder / "node3/distance", "30 17 10");
    const std::vector<int> allowed{0, 2, 3};
    const topology machine{root, allowed};
    ASSERT_EQ(machine.nodes().size(), 3U);
    EXPECT_EQ(machine.nodes()[0].cpus, std::vector{0});  // CPU 1 is not allowed
    EXPECT_EQ(machine.nodes()[1].cpus, (std::vector{2, 3}));
    EXPECT_FALSE(machine.nodes()[1].has_memory);
    EXPECT_EQ(machine.nodes()[0].memory_bytes, 2048U * 1024);
    EXPECT_EQ(machine.nodes()[1].memory_bytes, 0U);
    EXPECT_TRUE(machine.nodes()[2].cpus.empty());
    EXPECT_EQ(machine.memory_nodes(), (std::vector{0, 3}));
    EXPECT_EQ(machine.memory_nodes(true), std::vector{0});
    EXPECT_EQ(machine.distance(0, 3), 30);
    EXPECT_EQ(machine.nearest(2, std::vector{0, 3}), 1U);
    EXPECT_EQ(machine.nearest(99, std::vector{0, 3}), 0U);
    std::filesystem::remove_all(root);
}

TEST(Topology, HasOneNodeWhereTheKernelKnowsNone) {
    const topology machine{"/nowhere", std::vector{4, 5}};
    ASSERT_EQ(machine.nodes().size(), 1U);
    EXPECT_EQ(machine.nodes()[0].cpus, (std::vector{4, 5}));
    EXPECT_EQ(machine.memory_nodes(true), std::vector{0});
}

TEST(Replicated, HasACopyOnEachNode) {
    const replicated<std::pmr::vector<int>> numbers{{2, 3, 5}};
    EXPECT_EQ(numbers->size(), 3U);
    for (const int node : numbers.nodes()) EXPECT_EQ(numbers.on(node), numbers.local());
    EXPECT_EQ((*numbers)[2], 5);
    EXPECT_TRUE(numbers.verify().ok());
    EXPECT_THROW((void)numbers.on(99), std::out_of_range);
    EXPECT_NE(numbers->get_allocator().resource(), std::pmr::get_default_resource());

    const std::vector<std::string> words(1000, "a word that is longer than most");
    const replicated<std::string[]> copies{words};
    EXPECT_EQ(copies.local().size(), 1000U);
    EXPECT_EQ(copies.local()[999], words[999]);
    const replicated<double[]> nothing{std::span<const double>{}};
    EXPECT_TRUE(nothing.local().empty());
}

TEST(Replicated, IsMovedWithItsMemory) {
    using Numbers = std::pmr::vector<int>;
    replicated<Numbers> a{Numbers(1000, 1)};
    replicated<Numbers> b{Numbers(2000, 2)};
    a = std::move(b);
    EXPECT_EQ(a->size(), 2000U);
    const replicated<Numbers> c{std::move(a)};
    EXPECT_EQ(c->back(), 2);
    per_node<Numbers> lists;
    lists.local().assign(1000, 3);
    per_node<Numbers> others;
    others.local().assign(500, 4);
    lists = std::move(others);
    EXPECT_EQ(lists.local().size(), 500U);
}

TEST(PerNode, GivesEachObjectToAWorkerOfItsNode) {
    node_threads workers;
    per_node<std::pmr::vector<int>> lists;
    for_each(workers, lists, [](std::pmr::vector<int>& list) { list.assign(10, current_node()); });
    for (const int node : lists.nodes()) EXPECT_EQ(lists.on(node).back(), node);
}

TEST(PerNode, HasOneObjectOnEachNode) {
    per_node<std::atomic<long>> counters{5};
    counters.local() += 2;
    long all = 0;
    for (const auto& counter : counters) all += counter;
    EXPECT_EQ(all, 2 + 5 * static_cast<long>(counters.size()));
    for (auto& counter : counters) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&counter) % 4096, 0U);
    EXPECT_TRUE(counters.verify().ok());
    per_node<std::pmr::list<int>> lists;
    lists.local().push_back(3);
    EXPECT_EQ(lists.on(lists.nodes()[0]).size() + lists.size(), 1 + lists.size());
    struct Thrower {
        explicit Thrower(int /*unused*/) { throw std::runtime_error{"construction"}; }
    };
    EXPECT_THROW(per_node<Thrower>{1}, std::runtime_error);
}

TEST(Memory, IsEqualWhenItsPolicyIs) {
    placed_resource zero{page_policy::on_node(0)};
    placed_resource same{page_policy::on_node(0)};
    placed_resource huge{page_policy::on_node(0).pages(page_size::mib2)};
    EXPECT_TRUE(zero == same);
    EXPECT_FALSE(zero == huge);
    EXPECT_FALSE(zero == *std::pmr::new_delete_resource());
    void* const block = zero.allocate(100, 8);
    same.deallocate(block, 100, 8);
    EXPECT_THROW(page_policy::on_node(64), std::invalid_argument);
    EXPECT_THROW(page_policy::interleaved(std::vector<int>{}), std::invalid_argument);
    EXPECT_THROW((void)zero.allocate(std::size_t{1} << 62, 8), std::bad_alloc);
}

TEST(Memory, IsAlignedAndWhereItShouldBe) {
    for (const page_size page : {page_size::base, page_size::kib64, page_size::mib2}) {
        placed_resource memory{page_policy::on_node(0).pages(page)};
        for (const std::size_t alignment : {1UL, 64UL, 4096UL, 1UL << 20}) {
            void* const block = memory.allocate(10'000, alignment);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % bytes(page), 0U);
            *static_cast<char*>(block) = 1;
            EXPECT_EQ(system::nodes_of_pages(block, 1)[0], 0);
            memory.deallocate(block, 10'000, alignment);
        }
    }
}

TEST(Memory, GoesWithItsContainer) {
    using Vector = std::vector<int, placed_allocator<int>>;
    const page_policy base = page_policy::on_node(0);
    const page_policy huge = base.pages(page_size::mib2);
    Vector a(100, 1, base);
    Vector b(100, 2, huge);
    const int* const data = b.data();
    Vector moved{std::move(b)};
    EXPECT_EQ(moved.data(), data);
    a = std::move(moved);
    EXPECT_EQ(a.data(), data);
    EXPECT_EQ(a.get_allocator().policy(), huge);
    Vector c(100, 3, base);
    swap(a, c);
    EXPECT_EQ(c.get_allocator().policy(), huge);
    a = c;  // a copy has its own
    EXPECT_EQ(a.get_allocator().policy(), base);
    EXPECT_EQ(a[99], 2);
    std::list<int, placed_allocator<int>> list{{1, 2, 3}, page_policy::interleaved({0})};
    EXPECT_EQ(list.back(), 3);
}

}  // namespace
