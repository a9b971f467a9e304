// SPDX-License-Identifier: Apache-2.0
//
// include/numascape/balance.h: translates arrays and errors, and lets no exception out.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms.h"
#include "metrics.h"
#include "numascape/balance.h"
#include "relabel.h"

using namespace numascape::balance;

namespace {

template <typename T>
std::span<const T> array(const T* values, std::size_t size) {
    return values == nullptr ? std::span<const T>() : std::span(values, size);
}

// A Problem, and factors for a machine without factors.
struct Given {
    std::vector<double> ones;
    Problem problem;

    explicit Given(const numascape_balance_problem& from)
        : ones(from.factor == nullptr ? checked_nodes(from) * from.nodes : 0, 1.0),
          problem(arrays(from, ones)) {}

  private:
    static std::size_t checked_nodes(const numascape_balance_problem& from) {
        if (from.nodes > 65536) throw BalanceError("there are more than 2^16 nodes");
        return from.nodes;
    }
    static Arrays arrays(const numascape_balance_problem& from, const std::vector<double>& ones) {
        Arrays a;
        a.load = array(from.load, from.tasks);
        a.core = array(from.core, from.tasks);
        a.fixed = array(from.fixed, from.tasks);
        a.migrated_bytes = array(from.migrated_bytes, from.tasks);
        a.memory = array(from.memory, from.tasks);
        a.message_offsets = array(from.message_offsets, std::size_t{from.tasks} + 1);
        const std::size_t messages =
            from.message_offsets == nullptr ? 0 : from.message_offsets[from.tasks];
        a.message_to = array(from.message_to, messages);
        a.message_bytes = array(from.message_bytes, messages);
        a.message_count = array(from.message_count, messages);
        if (from.cost_per_message != 0.0 || from.cost_per_byte != 0.0) {
            a.cost_per_message = from.cost_per_message;
            a.cost_per_byte = from.cost_per_byte;
        }
        a.core_node = array(from.core_node, from.cores);
        a.speed = array(from.speed, from.cores);
        a.background = array(from.background, from.cores);
        const std::size_t pairs = std::size_t{from.nodes} * from.nodes;
        a.factor.matrix =
            from.factor == nullptr ? std::span<const double>(ones) : std::span(from.factor, pairs);
        a.latency = array(from.latency, pairs);
        a.bandwidth = array(from.bandwidth, pairs);
        a.node_memory = array(from.node_memory, from.nodes);
        return a;
    }
};

numascape_balance_metrics translated(const Metrics& m, double own_seconds) {
    return {m.imbalance,      m.communication,  m.off_node_bytes,  m.migrations,
            m.migrated_bytes, m.iteration_time, m.memory_overflow, own_seconds};
}

// The words of a text that are separated by commas.
std::vector<std::string> words(const char* text) {
    std::vector<std::string> result;
    if (text == nullptr) return result;
    std::string_view rest(text);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        if (end > 0) result.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return result;
}

template <typename Work>
int guarded(char* error, std::size_t size, Work&& work) {
    const auto say = [&](const char* text) {
        if (error == nullptr || size == 0) return -1;
        std::strncpy(error, text, size - 1);
        error[size - 1] = 0;
        return -1;
    };
    try {
        work();
        return 0;
    } catch (const std::bad_alloc&) {
        return say("not enough memory");
    } catch (const std::exception& failure) {
        return say(failure.what());
    }
}

}  // namespace

extern "C" {

void numascape_balance_defaults(numascape_balance_options* options) {
    const Options defaults;
    *options = {"incumbent",
                defaults.alpha,
                0,
                defaults.max_imbalance,
                defaults.max_migrations,
                defaults.max_migrated_bytes,
                defaults.max_communication,
                defaults.migration_price,
                defaults.byte_price,
                defaults.communication_weight,
                defaults.effort,
                defaults.time_limit,
                defaults.threads,
                defaults.seed,
                nullptr,
                defaults.iterations,
                nullptr};
}

const char* numascape_balance_algorithm(size_t index) {
    return index < algorithms().size() ? algorithms()[index].name : nullptr;
}

int numascape_balance(const numascape_balance_problem* from,
                      const numascape_balance_options* options, uint32_t* mapping,
                      numascape_balance_metrics* metrics, char* error, size_t error_size) {
    return guarded(error, error_size, [&] {
        const Given given(*from);
        Mapping start;
        Options chosen;
        chosen.alpha = options->alpha;
        chosen.direction =
            options->received_too != 0 ? Direction::sent_and_received : Direction::sent;
        chosen.max_imbalance = options->max_imbalance;
        chosen.max_migrations = options->max_migrations;
        chosen.max_migrated_bytes = options->max_migrated_bytes;
        chosen.max_communication = options->max_communication;
        chosen.migration_price = options->migration_price;
        chosen.byte_price = options->byte_price;
        chosen.communication_weight = options->communication_weight;
        chosen.effort = options->effort;
        chosen.time_limit = options->time_limit;
        chosen.threads = options->threads;
        chosen.seed = options->seed;
        chosen.iterations = options->iterations;
        chosen.starts = words(options->starts);
        if (options->start != nullptr) {
            start.assign(options->start, options->start + from->tasks);
            chosen.start = &start;
        }
        const auto begin = std::chrono::steady_clock::now();
        const Mapping result = algorithm(options->algorithm).run(given.problem, chosen);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (metrics != nullptr) *metrics = translated(measure(given.problem, result), took.count());
        std::copy(result.begin(), result.end(), mapping);
    });
}

int numascape_balance_measure(const numascape_balance_problem* from, const uint32_t* mapping,
                              numascape_balance_metrics* metrics, char* error, size_t error_size) {
    return guarded(error, error_size, [&] {
        const Given given(*from);
        *metrics = translated(measure(given.problem, {mapping, mapping + from->tasks}), 0.0);
    });
}

int numascape_balance_relabel(const numascape_balance_problem* from, uint32_t* mapping, char* error,
                              size_t error_size) {
    return guarded(error, error_size, [&] {
        const Given given(*from);
        const Mapping former(mapping, mapping + from->tasks);
        check_mapping(given.problem, former);
        const Mapping result = relabel(given.problem, former);
        std::copy(result.begin(), result.end(), mapping);
    });
}

}  // extern "C"
