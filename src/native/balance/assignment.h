// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace numascape::balance {

// The column of each row such that the sum of values is largest and no column is used twice;
// `values` is row-major, size x size. The Hungarian method with potentials (Kuhn 1955; Jonker and
// Volgenant 1987): O(size^3).
std::vector<std::uint32_t> best_assignment(const std::vector<double>& values, std::size_t size);

// The same, greedily by the largest remaining value: at least half of the largest sum if no value
// is negative.
std::vector<std::uint32_t> greedy_assignment(const std::vector<double>& values, std::size_t size);

}  // namespace numascape::balance
