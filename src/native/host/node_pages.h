// SPDX-License-Identifier: Apache-2.0
//
// System calls about the nodes of memory, as the kernel numbers them (mbind(2), move_pages(2)).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace numascape::host {

// The number of pages by node. kUnknown: the kernel does not report the node, or there is no page.
using NodeCounts = std::map<int, std::size_t>;
inline constexpr int kUnknown = -1;

std::size_t page_size();

// Adds the node of each page to `counts`. The addresses must be touched already, because nothing is
// faulted in. Throws std::system_error if the kernel refuses the call.
void count_nodes(std::span<void* const> pages, NodeCounts& counts);
// The same for all pages of a range; start and bytes are multiples of the page size.
NodeCounts count_nodes(const void* start, std::size_t bytes);

enum class NodePolicy { kBind, kInterleave };

// Sets the policy of an untouched range. False if the system does not permit it (some containers);
// throws std::system_error if the node does not exist or may not be used.
bool set_policy(void* start, std::size_t bytes, NodePolicy policy, std::span<const int> nodes);

// Private memory in small pages, not touched. Throws std::system_error.
std::byte* map_memory(std::size_t bytes);

// {"0": 12, "1": 3}
void print_counts(const NodeCounts& counts);

}  // namespace numascape::host
