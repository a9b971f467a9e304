// SPDX-License-Identifier: Apache-2.0
// The machine's NUMA nodes as Linux describes them in /sys, and the node of a thread.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "numascape/page_memory.hpp"

namespace numascape {

// A node. `cpus` are those that this process may use. The distances are those to the nodes of
// `topology::nodes()`, in order, in the kernel's unit (10 is local). The bandwidth is the highest
// one with which the CPUs of any node read this node's memory, in GB/s (10^9 bytes); 0 is unknown.
struct numa_node {
    int id = 0;
    std::vector<int> cpus;
    bool has_memory = true;
    std::vector<int> distances;
    std::uint64_t memory_bytes = 0;
    double bandwidth = 0;
};

namespace detail {

// Reads a kernel list such as "0-3,8,10-11"; anything else ends the reading.
inline std::vector<int> parse_cpu_list(std::string_view text) {
    std::vector<int> numbers;
    std::size_t at = 0;
    const auto number = [&] {
        int value = 0;
        for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
            value = std::min(value * 10 + (text[at] - '0'), 1 << 20);
        return value;
    };
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        const int first = number();
        int last = first;
        if (at < text.size() && text[at] == '-') {
            ++at;
            last = number();
        }
        for (int value = first; value <= last; ++value) numbers.push_back(value);
        if (at < text.size() && text[at] == ',') ++at;
    }
    return numbers;
}

// The size of a node's memory in its `meminfo`, a line of which is "Node 0 MemTotal: 16311740 kB".
inline std::uint64_t memory_in(const std::filesystem::path& meminfo) {
    std::ifstream file{meminfo};
    std::string word;
    std::uint64_t kib = 0;
    while (file >> word)
        if (word == "MemTotal:" && file >> kib) return kib * 1024;
    return 0;
}

inline std::string first_line(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::string line;
    std::getline(file, line);
    return line;
}

// The CPUs that the calling thread may run on; empty if the kernel does not tell.
inline std::vector<int> allowed_cpus() {
    system::number_mask mask;
    const long got = syscall(SYS_sched_getaffinity, 0, mask.bytes, mask.data());
    std::vector<int> cpus;
    for (int cpu = 0; cpu < got * 8; ++cpu)
        if (mask.has(cpu)) cpus.push_back(cpu);
    return cpus;
}

// Every CPU that Linux knows here, also those that this process may not use.
inline std::vector<int> every_cpu() {
    std::vector<int> cpus = parse_cpu_list(first_line("/sys/devices/system/cpu/possible"));
    return cpus.empty() ? allowed_cpus() : cpus;
}

}  // namespace detail

// Binds the calling thread to CPUs. Throws std::system_error.
inline void bind_this_thread(std::span<const int> cpus) {
    system::number_mask mask;
    for (const int cpu : cpus) mask.set(cpu);
    if (syscall(SYS_sched_setaffinity, 0, mask.bytes, mask.data()) != 0)
        system::throw_errno("cannot bind the thread to its node's CPUs");
}

// Binds the calling thread while the object exists.
class bound_to {
  public:
    explicit bound_to(std::span<const int> cpus) : before_{detail::allowed_cpus()} {
        bind_this_thread(cpus);
    }
    bound_to(const bound_to&) = delete;
    bound_to& operator=(const bound_to&) = delete;
    ~bound_to() {
        try {
            bind_this_thread(before_);
        } catch (const std::system_error&) {  // these CPUs went away; the thread stays where it is
        }
    }

  private:
    std::vector<int> before_;
};

// The node of the calling thread's current CPU. Usually without a system call.
inline int current_node() noexcept {
    unsigned cpu = 0;
    unsigned node = 0;
    return getcpu(&cpu, &node) == 0 ? static_cast<int>(node) : 0;
}

// The nodes of a machine, in ascending order of their numbers. A value; it does not change when
// CPUs go offline.
//
//     #include <numascape/topology.hpp>
//     #include <cstdio>
//
//     int main() {
//         const auto machine = numascape::topology::of_machine();
//         for (const auto& node : machine.nodes())
//             std::printf("node %d: %zu CPUs\n", node.id, node.cpus.size());
//     }
class topology {
  public:
    // This machine, restricted to the CPUs that the calling thread may use. /sys is read once per
    // process, because a small container takes less time to construct than its files to read.
    static topology of_machine() {
        const std::vector<int> allowed = detail::allowed_cpus();
        topology usable = with_every_cpu();
        for (numa_node& node : usable.nodes_)
            std::erase_if(node.cpus, [&](int cpu) {
                return !std::binary_search(allowed.begin(), allowed.end(), cpu);
            });
        return usable;
    }

    // The same as of_machine().memory_nodes(true), without a copy of all CPUs.
    static std::vector<int> usable_nodes() {
        const topology& all = with_every_cpu();
        system::number_mask allowed;
        syscall(SYS_sched_getaffinity, 0, allowed.bytes, allowed.data());
        std::vector<int> ids;
        for (const numa_node& node : all.nodes_)
            if (node.has_memory && std::any_of(node.cpus.begin(), node.cpus.end(),
                                               [&](int cpu) { return allowed.has(cpu); }))
                ids.push_back(node.id);
        return ids.empty() ? all.memory_nodes() : ids;
    }

    // The machine of a /sys tree at `root`, with its CPUs in `allowed`. If the tree has no nodes (a
    // kernel without NUMA), the machine has one node with all CPUs.
    topology(const std::filesystem::path& root, std::span<const int> allowed) {
        const std::filesystem::path folder = root / "devices/system/node";
        const auto with_memory = detail::parse_cpu_list(detail::first_line(folder / "has_memory"));
        for (const int id : detail::parse_cpu_list(detail::first_line(folder / "online"))) {
            const std::filesystem::path place = folder / ("node" + std::to_string(id));
            numa_node node{id, {}, true, {}, detail::memory_in(place / "meminfo")};
            for (const int cpu : detail::parse_cpu_list(detail::first_line(place / "cpulist")))
                if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end())
                    node.cpus.push_back(cpu);
            node.has_memory =
                std::find(with_memory.begin(), with_memory.end(), id) != with_memory.end();
            std::ifstream distances{place / "distance"};
            for (int distance = 0; distances >> distance;) node.distances.push_back(distance);
            nodes_.push_back(std::move(node));
        }
        if (nodes_.empty()) nodes_.push_back({0, {allowed.begin(), allowed.end()}, true, {10}});
    }

    explicit topology(std::vector<numa_node> nodes) : nodes_{std::move(nodes)} {}

    const std::vector<numa_node>& nodes() const noexcept { return nodes_; }

    // The numbers of the nodes that have memory; `with_cpus`: only nodes that also have CPUs,
    // unless there are none.
    std::vector<int> memory_nodes(bool with_cpus = false) const {
        std::vector<int> ids;
        for (const numa_node& node : nodes_)
            if (node.has_memory && (!with_cpus || !node.cpus.empty())) ids.push_back(node.id);
        return ids.empty() && with_cpus ? memory_nodes() : ids;
    }

    // The kernel's distance between two nodes; a large one if a node is unknown.
    int distance(int from, int to) const noexcept {
        for (const numa_node& node : nodes_)
            if (node.id == from)
                for (std::size_t i = 0; i < node.distances.size() && i < nodes_.size(); ++i)
                    if (nodes_[i].id == to) return node.distances[i];
        return from == to ? 10 : std::numeric_limits<int>::max();
    }

    // The position of the nearest to `node` in `candidates`, which must not be empty; the first of
    // equally near ones.
    std::size_t nearest(int node, std::span<const int> candidates) const noexcept {
        std::size_t best = 0;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (candidates[i] == node) return i;
            if (distance(node, candidates[i]) < distance(node, candidates[best])) best = i;
        }
        return best;
    }

  private:
    static const topology& with_every_cpu() {
        static const topology all{"/sys", detail::every_cpu()};
        return all;
    }

    std::vector<numa_node> nodes_;
};

}  // namespace numascape
