// SPDX-License-Identifier: Apache-2.0
//
// The problem: tasks that exchange messages, and the cores and nodes that run them.
//
// Arrays belong to the caller and must exist as long as the Problem. Empty arrays stand for unknown
// values; the accessors then return the defaults below.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "factors.h"

namespace numascape::balance {

using Task = std::uint32_t;
using Core = std::uint32_t;
using Block = std::uint32_t;  // memory that several tasks share
constexpr Block kNoBlock = ~Block{0};
using Mapping = std::vector<Core>;  // the core of each task

// The input is contradictory, or an algorithm does not support it; the text is one line.
struct BalanceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Arrays {
    // Tasks. Loads are seconds of one iteration at speed 1.
    std::span<const double> load;
    std::span<const Core> core;              // where each task is now
    std::span<const std::uint8_t> fixed;     // 1: may not move; empty: all may
    std::span<const double> migrated_bytes;  // what a migration carries; empty: 0 each
    std::span<const double> memory;          // bytes on the node; empty: 0 each
    std::span<const double> working;         // bytes in addition while it runs; empty: 0 each
    std::span<const Block> block;            // that it shares, or kNoBlock; empty: none
    std::span<const double> block_bytes;     // of each block; a core has it once for all its tasks

    // Messages of one iteration, by sender: task t sends message_offsets[t] to
    // message_offsets[t + 1] - 1. Empty offsets: none.
    std::span<const std::uint64_t> message_offsets;
    std::span<const Task> message_to;
    std::span<const double> message_bytes;  // sum over the messages of the pair; empty: 0 each
    std::span<const double> message_count;  // empty: 1 each
    // Cost of messages within a node: count * cost_per_message + bytes * cost_per_byte. Use seconds
    // if iteration times are needed. With (1, 0), costs are numbers of messages.
    double cost_per_message = 1.0;
    double cost_per_byte = 0.0;

    // Cores.
    std::span<const Node> core_node;
    std::span<const double> speed;       // empty: 1 each
    std::span<const double> background;  // seconds per iteration that are not tasks'; empty: 0 each
    std::span<const double> core_memory;        // bytes of each core's process; empty: unlimited
    std::span<const double> core_memory_taken;  // bytes that are not tasks'; empty: 0 each

    // Nodes. The factor of nodes i and j multiplies the cost of messages from i to j: the NUMA
    // factor, 1 on the diagonal of the matrix.
    FactorArrays factor;
    // The same rows and columns as the matrix of factors.
    std::span<const double> latency;      // seconds per message; empty: unknown
    std::span<const double> bandwidth;    // bytes per second; empty: unknown
    std::span<const double> node_memory;  // of each node, in bytes; empty: unlimited
};

class Problem {
  public:
    // Throws BalanceError if sizes, ids or values contradict each other. Later accesses need no
    // checks of ids.
    explicit Problem(const Arrays& arrays);

    const Arrays& arrays() const { return arrays_; }
    std::size_t tasks() const { return arrays_.load.size(); }
    std::size_t cores() const { return arrays_.core_node.size(); }
    std::size_t nodes() const { return nodes_; }
    std::size_t messages() const { return arrays_.message_to.size(); }

    double load(Task t) const { return arrays_.load[t]; }
    Core core(Task t) const { return arrays_.core[t]; }
    bool fixed(Task t) const { return !arrays_.fixed.empty() && arrays_.fixed[t] != 0; }
    double migrated_bytes(Task t) const {
        return arrays_.migrated_bytes.empty() ? 0.0 : arrays_.migrated_bytes[t];
    }
    double memory(Task t) const { return arrays_.memory.empty() ? 0.0 : arrays_.memory[t]; }
    double working(Task t) const { return arrays_.working.empty() ? 0.0 : arrays_.working[t]; }
    Block block(Task t) const { return arrays_.block.empty() ? kNoBlock : arrays_.block[t]; }
    std::size_t blocks() const { return arrays_.block_bytes.size(); }
    double block_bytes(Block b) const { return arrays_.block_bytes[b]; }
    bool limits_core_memory() const { return !arrays_.core_memory.empty(); }
    double core_memory(Core c) const {
        return arrays_.core_memory.empty() ? std::numeric_limits<double>::infinity()
                                           : arrays_.core_memory[c];
    }
    double core_memory_taken(Core c) const {
        return arrays_.core_memory_taken.empty() ? 0.0 : arrays_.core_memory_taken[c];
    }
    Mapping current() const { return {arrays_.core.begin(), arrays_.core.end()}; }

    std::uint64_t first_message(Task t) const {
        return arrays_.message_offsets.empty() ? 0 : arrays_.message_offsets[t];
    }
    std::uint64_t end_message(Task t) const {
        return arrays_.message_offsets.empty() ? 0 : arrays_.message_offsets[t + 1];
    }
    Task message_to(std::uint64_t m) const { return arrays_.message_to[m]; }
    double message_count(std::uint64_t m) const {
        return arrays_.message_count.empty() ? 1.0 : arrays_.message_count[m];
    }
    double message_bytes(std::uint64_t m) const {
        return arrays_.message_bytes.empty() ? 0.0 : arrays_.message_bytes[m];
    }
    double message_cost(std::uint64_t m) const {
        return message_count(m) * arrays_.cost_per_message +
               message_bytes(m) * arrays_.cost_per_byte;
    }

    // Prefetches the data for later accesses to the task's messages. The caller chooses how many
    // tasks ahead.
    void prefetch_offsets(Task t) const {
        if (!arrays_.message_offsets.empty()) __builtin_prefetch(&arrays_.message_offsets[t]);
        __builtin_prefetch(&arrays_.load[t]);
    }
    void prefetch_messages(Task t) const {
        if (arrays_.message_offsets.empty()) return;
        const std::uint64_t first = arrays_.message_offsets[t];
        if (first == messages()) return;
        __builtin_prefetch(&arrays_.message_to[first]);
        if (!arrays_.message_count.empty()) {
            __builtin_prefetch(&arrays_.message_count[first]);
            __builtin_prefetch(&arrays_.message_count[std::min(first + 8, messages() - 1)]);
        }
    }

    Node node(Core c) const { return arrays_.core_node[c]; }
    double speed(Core c) const { return arrays_.speed.empty() ? 1.0 : arrays_.speed[c]; }
    double background(Core c) const {
        return arrays_.background.empty() ? 0.0 : arrays_.background[c];
    }
    double time(Task t, Core c) const { return load(t) / speed(c); }

    double factor(Node i, Node j) const { return factors_(i, j); }
    const Factors& factors() const { return factors_; }
    std::span<const double> latencies() const { return arrays_.latency; }
    bool one_speed() const { return one_speed_; }
    bool has_times() const { return !arrays_.latency.empty() && !arrays_.bandwidth.empty(); }
    // The seconds for message m between cores of two nodes: by latency and bandwidth if both are
    // known, otherwise its cost times the NUMA factor.
    double message_time(std::uint64_t m, Node from, Node to) const;
    double node_memory(Node n) const {
        return arrays_.node_memory.empty() ? std::numeric_limits<double>::infinity()
                                           : arrays_.node_memory[n];
    }

    // The time of each core if the work could be divided arbitrarily.
    double perfect_time() const { return perfect_time_; }
    // The cores of a node, in order.
    std::span<const Core> cores_of(Node n) const {
        return {&node_cores_[node_offsets_[n]], node_offsets_[n + 1] - node_offsets_[n]};
    }

  private:
    void check_tasks() const;
    void check_messages() const;
    void check_cores() const;
    void check_machine() const;

    Arrays arrays_;
    std::size_t nodes_ = 0;
    Factors factors_;
    bool one_speed_ = true;
    double perfect_time_ = 0.0;
    std::vector<std::size_t> node_offsets_;
    std::vector<Core> node_cores_;
};

// Tasks from the heaviest; equally heavy ones by number.
std::vector<Task> heaviest_first(const Problem& problem);

}  // namespace numascape::balance
