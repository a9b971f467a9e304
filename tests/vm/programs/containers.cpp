// SPDX-License-Identifier: Apache-2.0
// Constructs containers in a guest, and prints for each, as a line of JSON, where the kernel has
// the pages of each segment. Asks move_pages(2) itself, beside the containers' own verify().
//
//     containers SMALL     SMALL is the node that has too little memory for 192 MiB
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory_resource>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "numascape/layout_text.hpp"
#include "numascape/machine_layout.hpp"
#include "numascape/memory_resource.hpp"
#include "numascape/numa_vector.hpp"
#include "numascape/per_node.hpp"
#include "numascape/replicated.hpp"
#include "numascape/segmented_vector.hpp"
#include "numascape/spans.hpp"

using namespace numascape;

namespace {

constexpr std::size_t base_page = 4096;
constexpr std::size_t elements = 600'000;

// Prints which workers had elements of which node, and on which CPUs they ran. One thread for each
// CPU; the default layout has one segment for each node.
void share_work(node_threads& workers) {
    segmented_vector<double> v{workers, layout{}, elements, 1.0};
    std::mutex mutex;
    std::map<std::thread::id, std::pair<int, int>> seen;  // CPU, node of the elements
    bool moved = false;
    for (int round = 0; round < 3; ++round) {
        for_each_span(
            workers,
            [&](std::size_t, std::span<double> part) {
                int node = -1;
                void* page = part.data();
                if (syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) != 0) std::abort();
                const std::lock_guard lock{mutex};
                const std::pair<int, int> now{sched_getcpu(), node};
                const auto [at, added] = seen.emplace(std::this_thread::get_id(), now);
                moved = moved || (!added && at->second.second != node);
            },
            v);
    }
    std::ostringstream text;
    for (const auto& [thread, where] : seen)
        text << (text.tellp() > 0 ? ", " : "") << "[" << where.first << ", " << where.second << "]";
    std::printf("{\"name\": \"shares\", \"workers\": %zu, \"moved\": %s, \"seen\": [%s]}\n",
                workers.workers(), moved ? "true" : "false", text.str().c_str());
}

// The number of pages with these bytes on each node.
std::string nodes_of(const void* start, std::size_t size) {
    std::map<int, int> counts;
    const auto first = reinterpret_cast<std::uintptr_t>(start) / base_page * base_page;
    for (auto at = first; at < reinterpret_cast<std::uintptr_t>(start) + size; at += base_page) {
        void* address = reinterpret_cast<void*>(at);
        int node = -1;
        if (syscall(SYS_move_pages, 0, 1UL, &address, nullptr, &node, 0) != 0) std::abort();
        ++counts[node];
    }
    std::ostringstream text;
    for (const auto& [node, count] : counts)
        text << (text.tellp() > 0 ? ", " : "") << '"' << node << "\": " << count;
    return "{" + text.str() + "}";
}

// KiB of huge pages in the mapping of an address.
long huge_kib(const void* address) {
    std::ifstream maps{"/proc/self/smaps"};
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0;
        std::uintptr_t last = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
            inside = first <= wanted && wanted < last;
        else if (inside && line.starts_with("AnonHugePages:"))
            return std::atol(line.c_str() + 14);
    }
    return -1;
}

template <class V>
void print(const std::string& name, const V& v) {
    const placement_report report = v.verify();
    std::printf("{\"name\": \"%s\", \"pages\": %zu, \"misplaced\": %zu, \"absent\": %zu, ",
                name.c_str(), report.pages().size(), report.misplaced(), report.absent());
    std::printf("\"ok\": %s, \"segments\": [", report.ok() ? "true" : "false");
    const auto segments = v.segments();
    for (std::size_t k = 0; k < segments.size(); ++k) {
        const auto segment = segments[k];
        std::printf("%s{\"node\": %d, \"huge_kib\": %ld, \"pages\": %s}", k > 0 ? ", " : "",
                    v.nodes()[k], segment.empty() ? 0 : huge_kib(segment.data()),
                    nodes_of(segment.data(), segment.size_bytes()).c_str());
    }
    std::printf("]}\n");
    std::fflush(stdout);
}

// A container without segments: one line of nodes for each part.
void print_parts(const std::string& name, std::span<const std::string> parts) {
    std::printf("{\"name\": \"%s\", \"parts\": [", name.c_str());
    for (std::size_t k = 0; k < parts.size(); ++k)
        std::printf("%s%s", k > 0 ? ", " : "", parts[k].c_str());
    std::printf("]}\n");
    std::fflush(stdout);
}

template <class Layout>
void construct(node_threads& workers, const std::string& name, const Layout& where) {
    for (const auto& [page, size] :
         {std::pair{page_size::base, "4K"}, {page_size::kib64, "64K"}, {page_size::mib2, "2M"}}) {
        const Layout bound = where.pages(page);
        const std::string tail = name + " " + size;
        print("segmented " + tail + " bind",
              segmented_vector<double, Layout>{workers, bound, elements});
        print("segmented " + tail + " touch",
              segmented_vector<double, Layout>{workers, bound.first_touched(), elements});
        print("contiguous " + tail + " bind",
              numa_vector<double, Layout>{workers, bound, elements});
        print("contiguous " + tail + " touch",
              numa_vector<double, Layout>{workers, bound.first_touched(), elements});
    }
}

void construct_layouts(node_threads& workers, std::size_t nodes) {
    construct(workers, "block", layout{});
    construct(workers, "blocks", layout{block{3 * nodes}}.padded(base_page).staggered(192));
    construct(workers, "cyclic", layout{block_cyclic<65536>{}});
    construct(workers, "weighted", layout{weighted{3, 1}});
    // By one thread: a policy still places the pages, but first touch does not.
    print("segmented block 4K bind serial", segmented_vector<double>{layout{}, elements});
    print("segmented block 4K touch serial",
          segmented_vector<double>{layout{}.first_touched(), elements});
}

// Layouts that come from elsewhere: the machine, and the parts of a plan.
void construct_given(node_threads& workers, const topology& machine) {
    const auto by_memory = layout_by_memory(machine);
    print("by memory", segmented_vector<double, layout<weighted>>{workers, by_memory, elements});
    const any_layout parts = parse_layout("parts 0-0.25@1,0.25-1@0");
    print("by parts", segmented_vector<double, any_layout>{workers, parts, elements});
}

void construct_copies(node_threads& workers) {
    const std::vector<double> table(elements / 10, 0.5);
    const replicated<double[]> array{workers, table};
    const replicated<std::pmr::vector<double>> object{
        std::pmr::vector<double>(table.begin(), table.end())};
    per_node<std::pmr::vector<double>> lists;
    std::vector<std::string> arrays, objects, own, near;
    for (const int node : array.nodes()) {
        arrays.push_back(nodes_of(array.on(node).data(), array.on(node).size_bytes()));
        objects.push_back(nodes_of(object.on(node).data(), object.on(node).size() * 8));
        for (std::size_t i = 0; i < elements / 10; ++i) lists.on(node).push_back(1);
        own.push_back(nodes_of(lists.on(node).data(), lists.on(node).size() * 8));
    }
    near.resize(array.nodes().size());
    std::vector<char> found(near.size());
    workers.bulk(array.nodes(), [&](std::size_t k) {
        const int node = array.nodes()[k];
        found[k] = array.local().data() == array.on(node).data() &&
                   &object.local() == &object.on(node) && &lists.local() == &lists.on(node);
    });
    for (std::size_t k = 0; k < near.size(); ++k)
        near[k] = "{\"" + std::to_string(array.nodes()[k]) + "\": " + (found[k] ? "1}" : "0}");
    print_parts("replicated array", arrays);
    print_parts("replicated object", objects);
    print_parts("per node", own);
    print_parts("local", near);
}

void allocate(const topology& machine) {
    std::vector<std::string> bound;
    for (const int node : machine.memory_nodes()) {
        const std::vector<double, placed_allocator<double>> v(elements / 10, 1.0,
                                                              page_policy::on_node(node));
        bound.push_back(nodes_of(v.data(), v.size() * 8));
    }
    print_parts("allocator", bound);
    const std::vector<double, placed_allocator<double>> v(
        elements / 10, 1.0, page_policy::interleaved(machine.memory_nodes()));
    print_parts("interleaved", std::vector{nodes_of(v.data(), v.size() * 8)});
}

// Constructs where a full node is an error, and prints what was thrown.
template <class Executor, class Layout>
void refuse(const char* name, Executor&& executor, const Layout& where, std::size_t n) {
    try {
        const segmented_vector<double> v{executor, where.when_node_is_full(when_full::fail), n};
        std::printf("{\"name\": \"%s\", \"thrown\": null}\n", name);
    } catch (const node_full& full) {
        std::printf("{\"name\": \"%s\", \"thrown\": \"%s\"}\n", name, full.what());
    }
}

void overfill(node_threads& workers, int small) {
    const std::size_t n = (192UL << 20) / sizeof(double);
    const auto where = layout{block{1}}.on({small});
    print("spill", segmented_vector<double>{workers, where, n});
    refuse("fail", workers, where, n);
    // Workers touch pages on their nodes; one thread touches all on its own.
    refuse("touch", workers, layout{}.first_touched(), elements);
    refuse("touch fail", serial_executor{}, layout{block{2}}.on({0, 1}).first_touched(), elements);
    // The memory of the failed construction is free again.
    print("after",
          segmented_vector<double>{workers, where.when_node_is_full(when_full::fail), elements});
}

// The memory of small vectors is used again: for each node, and after a page was moved to another.
void reuse_small_vectors(const topology& machine) {
    const std::vector<int> nodes = machine.memory_nodes();
    std::vector<std::string> placed(nodes.size()), moved(nodes.size());
    std::map<const double*, int> seen;
    for (int round = 0; round < 20; ++round)
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const segmented_vector<double> v{layout{}.on({nodes[k]}), 100, 1.0};
            placed[k] = nodes_of(&v[0], 800);
            ++seen[&v[0]];
        }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        {
            segmented_vector<double> v{layout{}.on({nodes[k]}), 100, 1.0};
            void* page = &v[0];
            const int other = nodes[(k + 1) % nodes.size()];
            int status = -1;
            if (syscall(SYS_move_pages, 0, 1UL, &page, &other, &status, MPOL_MF_MOVE) != 0)
                std::abort();
        }
        const segmented_vector<double> v{layout{}.on({nodes[k]}), 100, 1.0};
        moved[k] = nodes_of(&v[0], 800);
    }
    print_parts("small", placed);
    print_parts("small after a move", moved);
    print_parts("addresses of small", std::vector{std::to_string(seen.size())});
}

}  // namespace

int main(int count, char** arguments) {
    const int small = count > 1 ? std::atoi(arguments[1]) : 0;
    const topology machine = topology::of_machine();
    node_threads workers{machine};
    construct_layouts(workers, machine.memory_nodes(true).size());
    construct_given(workers, machine);
    construct_copies(workers);
    share_work(workers);
    allocate(machine);
    reuse_small_vectors(machine);
    overfill(workers, small);
    return 0;
}
