// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace numascape::balance {

namespace {

// Far above any real load, count or size; sums of 2^32 such values are finite.
constexpr double kLargest = 1e200;

void check_size(const char* name, std::size_t size, std::size_t wanted, bool may_be_empty) {
    if (size == wanted || (may_be_empty && size == 0)) return;
    throw BalanceError(std::string(name) + " has " + std::to_string(size) + " values instead of " +
                       std::to_string(wanted));
}

void check_values(const char* name, std::span<const double> values, bool zero = true) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        // Written so that NaN fails too.
        if (!(values[i] >= 0.0 && values[i] <= kLargest) || (!zero && values[i] == 0.0)) {
            throw BalanceError(std::string(name) + " " + std::to_string(i) + " is " +
                               std::to_string(values[i]) + ", not a finite number " +
                               (zero ? "from 0" : "above 0"));
        }
    }
}

}  // namespace

Problem::Problem(const Arrays& arrays) : arrays_(arrays) {
    for (Node n : arrays_.core_node) nodes_ = std::max<std::size_t>(nodes_, n + std::size_t{1});
    const FactorArrays& factor = arrays_.factor;
    nodes_ =
        std::max(nodes_, factor.row.empty() ? std::size_t(std::sqrt(double(factor.matrix.size())))
                                            : factor.row.size());
    check_cores();
    factors_ = Factors(factor, nodes_);
    check_machine();
    check_tasks();
    check_messages();
    double work = 0.0, speed_sum = 0.0;
    for (double load : arrays_.load) work += load;
    for (Core c = 0; c < cores(); ++c) {
        work += background(c) * speed(c);
        speed_sum += speed(c);
        one_speed_ = one_speed_ && speed(c) == speed(0);
    }
    perfect_time_ = work / speed_sum;
    node_offsets_.assign(nodes_ + 1, 0);
    for (Node n : arrays_.core_node) ++node_offsets_[n + 1];
    std::partial_sum(node_offsets_.begin(), node_offsets_.end(), node_offsets_.begin());
    node_cores_.resize(cores() + 1);  // one more: cores_of(an empty last node) stays inside
    std::vector<std::size_t> next(node_offsets_.begin(), node_offsets_.end() - 1);
    for (Core c = 0; c < cores(); ++c) node_cores_[next[node(c)]++] = c;
}

void Problem::check_cores() const {
    if (cores() == 0) throw BalanceError("there is no core to map tasks to");
    if (cores() > (1U << 24)) throw BalanceError("there are more than 2^24 cores");
    // Without this check, a large node number would need a huge matrix.
    if (nodes_ > (1U << 16)) throw BalanceError("there are more than 2^16 nodes");
}

void Problem::check_machine() const {
    const std::size_t pairs = factors_.rows() * factors_.rows();
    check_size("latency", arrays_.latency.size(), pairs, true);
    check_size("bandwidth", arrays_.bandwidth.size(), pairs, true);
    check_size("node_memory", arrays_.node_memory.size(), nodes_, true);
    check_size("speed", arrays_.speed.size(), cores(), true);
    check_size("background", arrays_.background.size(), cores(), true);
    check_values("factor", arrays_.factor.matrix);
    check_values("level_cost", arrays_.factor.cost);
    check_values("latency", arrays_.latency);
    check_values("bandwidth", arrays_.bandwidth, false);
    check_values("node_memory", arrays_.node_memory);
    check_values("speed", arrays_.speed, false);
    check_values("background", arrays_.background);
    check_size("core_memory", arrays_.core_memory.size(), cores(), true);
    check_size("core_memory_taken", arrays_.core_memory_taken.size(), cores(), true);
    check_values("core_memory", arrays_.core_memory);
    check_values("core_memory_taken", arrays_.core_memory_taken);
}

void Problem::check_tasks() const {
    if (tasks() > std::numeric_limits<Task>::max() / 2) throw BalanceError("too many tasks");
    check_size("core", arrays_.core.size(), tasks(), false);
    check_size("fixed", arrays_.fixed.size(), tasks(), true);
    check_size("migrated_bytes", arrays_.migrated_bytes.size(), tasks(), true);
    check_size("memory", arrays_.memory.size(), tasks(), true);
    check_values("load", arrays_.load);
    check_values("migrated_bytes", arrays_.migrated_bytes);
    check_values("memory", arrays_.memory);
    check_size("working", arrays_.working.size(), tasks(), true);
    check_size("block", arrays_.block.size(), tasks(), true);
    check_values("working", arrays_.working);
    check_values("block_bytes", arrays_.block_bytes);
    for (Task t = 0; t < tasks(); ++t) {
        if (block(t) != kNoBlock && block(t) >= blocks()) {
            throw BalanceError("task " + std::to_string(t) + " shares block " +
                               std::to_string(block(t)) + " of " + std::to_string(blocks()));
        }
    }
    for (Task t = 0; t < tasks(); ++t) {
        if (core(t) >= cores()) {
            throw BalanceError("task " + std::to_string(t) + " is on core " +
                               std::to_string(core(t)) + " of " + std::to_string(cores()));
        }
    }
}

void Problem::check_messages() const {
    const auto& offsets = arrays_.message_offsets;
    check_size("message_offsets", offsets.size(), tasks() + 1, messages() == 0);
    check_size("message_bytes", arrays_.message_bytes.size(), messages(), true);
    check_size("message_count", arrays_.message_count.size(), messages(), true);
    check_values("message_bytes", arrays_.message_bytes);
    check_values("message_count", arrays_.message_count);
    const double costs[] = {arrays_.cost_per_message, arrays_.cost_per_byte};
    check_values("message cost", costs);
    if (!offsets.empty() && (offsets.front() != 0 || offsets.back() != messages() ||
                             !std::is_sorted(offsets.begin(), offsets.end()))) {
        throw BalanceError("message_offsets do not rise from 0 to the number of messages");
    }
    for (std::size_t m = 0; m < messages(); ++m) {
        if (arrays_.message_to[m] >= tasks()) {
            throw BalanceError("message " + std::to_string(m) + " goes to task " +
                               std::to_string(arrays_.message_to[m]) + " of " +
                               std::to_string(tasks()));
        }
    }
}

double Problem::message_time(std::uint64_t m, Node from, Node to) const {
    if (!has_times()) return message_cost(m) * factor(from, to);
    const std::size_t pair = factors_.pair(from, to);
    return message_count(m) * arrays_.latency[pair] + message_bytes(m) / arrays_.bandwidth[pair];
}

std::vector<Task> heaviest_first(const Problem& problem) {
    // Loads are stored next to their tasks: sorting indices would cause a cache miss each time.
    std::vector<std::pair<double, Task>> loads(problem.tasks());
    for (Task t = 0; t < problem.tasks(); ++t) loads[t] = {-problem.load(t), t};
    std::sort(loads.begin(), loads.end());
    std::vector<Task> order(problem.tasks());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = loads[i].second;
    return order;
}

}  // namespace numascape::balance
