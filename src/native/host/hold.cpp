// SPDX-License-Identifier: Apache-2.0
//
// hold NODE
//
// Allocates the requested memory on a node, so that the kernel frees what it can free there; frees
// the memory when its input ends. `numascape host sweep` decides how much is safe.
//
// Input: lines with a number of bytes to allocate in addition. For each, it prints
//   {"pages": {"0": 16384}}
// with the nodes of the new pages, as the kernel reports them. The first line of output, before any
// input, is
//   {"bound": true, "first_to_end": true}
// bound: its memory comes from the node alone; first_to_end: the kernel's OOM killer ends this
// process before others (oom_score_adj).
// Exit status: 0, or 2 with one line on standard error.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "node_pages.h"

using namespace numascape::host;

namespace {

// The largest value of oom_score_adj (proc(5)); raising it needs no privilege.
bool offer_to_end_first() {
    std::ofstream file("/proc/self/oom_score_adj");
    file << 1000 << std::flush;
    return file.good();
}

void touch(std::byte* start, std::size_t bytes) {
    for (std::size_t offset = 0; offset < bytes; offset += page_size()) {
        *const_cast<volatile std::byte*>(start + offset) = std::byte{1};
    }
}

std::byte* take(std::size_t bytes, int node, bool bind) {
    std::byte* start = map_memory(bytes);
    const int nodes[] = {node};
    if (bind) set_policy(start, bytes, NodePolicy::kBind, nodes);
    touch(start, bytes);
    return start;
}

void run(int node) {
    const bool first_to_end = offer_to_end_first();
    std::byte* probe = map_memory(page_size());
    const int nodes[] = {node};
    const bool bound = set_policy(probe, page_size(), NodePolicy::kBind, nodes);
    std::cout << "{\"bound\": " << (bound ? "true" : "false")
              << ", \"first_to_end\": " << (first_to_end ? "true" : "false") << "}" << std::endl;
    std::size_t wanted = 0;
    while (std::cin >> wanted) {
        const std::size_t bytes = wanted / page_size() * page_size();
        if (bytes == 0) throw std::runtime_error("the number of bytes is less than a page");
        const std::byte* start = take(bytes, node, bound);
        std::printf("{\"pages\": ");
        print_counts(count_nodes(start, bytes));
        std::printf("}\n");
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) throw std::runtime_error("usage: hold NODE");
        run(std::atoi(argv[1]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
