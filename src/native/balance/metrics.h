// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a mapping.
#pragma once

#include <vector>

#include "problem.h"

namespace numascape::balance {

struct Metrics {
    // Time of the slowest core / that of perfect balance; 1 without work.
    double imbalance = 1.0;
    double communication = 0.0;   // sum of message cost * NUMA factor of its nodes
    double off_node_bytes = 0.0;  // bytes of messages between nodes
    std::uint64_t migrations = 0;
    double migrated_bytes = 0.0;
    double iteration_time = 0.0;        // seconds of the slowest core, with its sending of messages
    double memory_overflow = 0.0;       // bytes of tasks beyond their nodes' memory
    double core_memory = 0.0;           // bytes of the largest core's process
    double core_memory_overflow = 0.0;  // bytes beyond the cores' memory
    std::uint32_t cores_over = 0;       // cores whose memory is exceeded
};

// Seconds of each core's tasks and background.
std::vector<double> core_times(const Problem& problem, const Mapping& mapping);

// Throws BalanceError if the mapping is not valid for the problem.
Metrics measure(const Problem& problem, const Mapping& mapping);

// Throws BalanceError unless each task has an existing core, and each fixed task its own core.
void check_mapping(const Problem& problem, const Mapping& mapping);

}  // namespace numascape::balance
