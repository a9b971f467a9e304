// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.balance: problems over NumPy's arrays, and the algorithms.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms.h"
#include "columns.h"
#include "core_memory.h"
#include "metrics.h"
#include "relabel.h"
#include "starts.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace balance = numascape::balance;

namespace {

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cores = Array<balance::Core>;

// A problem, and the arrays that it refers to.
class BoundProblem {
  public:
    BoundProblem(const nb::dict& arrays, double cost_per_message, double cost_per_byte) {
        balance::Arrays a;
        a.load = keep<double>(arrays, "load");
        a.core = keep<balance::Core>(arrays, "core");
        a.fixed = keep<std::uint8_t>(arrays, "fixed");
        a.migrated_bytes = keep<double>(arrays, "migrated_bytes");
        a.memory = keep<double>(arrays, "memory");
        a.working = keep<double>(arrays, "working");
        a.block = keep<balance::Block>(arrays, "block");
        a.block_bytes = keep<double>(arrays, "block_bytes");
        a.message_offsets = keep<std::uint64_t>(arrays, "message_offsets");
        a.message_to = keep<balance::Task>(arrays, "message_to");
        a.message_bytes = keep<double>(arrays, "message_bytes");
        a.message_count = keep<double>(arrays, "message_count");
        a.cost_per_message = cost_per_message;
        a.cost_per_byte = cost_per_byte;
        a.core_node = keep<balance::Node>(arrays, "core_node");
        a.speed = keep<double>(arrays, "speed");
        a.background = keep<double>(arrays, "background");
        a.core_memory = keep<double>(arrays, "core_memory");
        a.core_memory_taken = keep<double>(arrays, "core_memory_taken");
        a.factor.matrix = keep<double>(arrays, "factor");
        a.factor.row = keep<std::uint32_t>(arrays, "factor_row");
        a.factor.group = keep<std::uint32_t>(arrays, "level_group");
        a.factor.cost = keep<double>(arrays, "level_cost");
        a.latency = keep<double>(arrays, "latency");
        a.bandwidth = keep<double>(arrays, "bandwidth");
        a.node_memory = keep<double>(arrays, "node_memory");
        problem_ = std::make_unique<balance::Problem>(a);
    }
    const balance::Problem& get() const { return *problem_; }

  private:
    template <typename T>
    std::span<const T> keep(const nb::dict& arrays, const char* name) {
        if (!arrays.contains(name)) return {};
        auto array = nb::cast<Array<T>>(arrays[name]);
        kept_.push_back(nb::ndarray<>(array));
        return {array.data(), array.size()};
    }
    std::vector<nb::ndarray<>> kept_;
    std::unique_ptr<balance::Problem> problem_;
};

balance::Mapping mapping_of(const Cores& cores) {
    return {cores.data(), cores.data() + cores.size()};
}

balance::Options options_of(const nb::dict& from) {
    balance::Options o;
    const auto take = [&](const char* name, auto& value) {
        if (from.contains(name)) value = nb::cast<std::decay_t<decltype(value)>>(from[name]);
    };
    bool received_too = false;
    take("received_too", received_too);
    o.direction = received_too ? balance::Direction::sent_and_received : balance::Direction::sent;
    take("alpha", o.alpha);
    take("max_imbalance", o.max_imbalance);
    take("max_migrations", o.max_migrations);
    take("max_migrated_bytes", o.max_migrated_bytes);
    take("max_communication", o.max_communication);
    take("migration_price", o.migration_price);
    take("byte_price", o.byte_price);
    take("iterations", o.iterations);
    take("starts", o.starts);
    take("communication_weight", o.communication_weight);
    take("effort", o.effort);
    take("time_limit", o.time_limit);
    take("threads", o.threads);
    take("seed", o.seed);
    return o;
}

nb::tuple run(const BoundProblem& problem, const std::string& name, const nb::dict& given,
              const std::optional<Cores>& start) {
    balance::Options options = options_of(given);
    balance::Mapping from, result;
    if (start) {
        from = mapping_of(*start);
        options.start = &from;
    }
    const balance::Algorithm& algorithm = balance::algorithm(name);
    std::chrono::duration<double> took{};
    {
        nb::gil_scoped_release unlocked;
        const auto begin = std::chrono::steady_clock::now();
        result = algorithm.run(problem.get(), options);
        took = std::chrono::steady_clock::now() - begin;
    }
    return nb::make_tuple(column(std::move(result)), took.count());
}

nb::list pareto_front(const BoundProblem& problem, const nb::dict& given) {
    const balance::Options options = options_of(given);
    std::vector<balance::Mapping> mappings;
    {
        nb::gil_scoped_release unlocked;
        mappings = balance::pareto_front(problem.get(), options);
    }
    nb::list out;
    for (balance::Mapping& mapping : mappings) out.append(column(std::move(mapping)));
    return out;
}

nb::dict measure(const BoundProblem& problem, const Cores& mapping) {
    const balance::Metrics m = balance::measure(problem.get(), mapping_of(mapping));
    nb::dict out;
    out["imbalance"] = m.imbalance;
    out["communication"] = m.communication;
    out["off_node_bytes"] = m.off_node_bytes;
    out["migrations"] = m.migrations;
    out["migrated_bytes"] = m.migrated_bytes;
    out["iteration_time"] = m.iteration_time;
    out["memory_overflow"] = m.memory_overflow;
    out["core_memory"] = m.core_memory;
    out["core_memory_overflow"] = m.core_memory_overflow;
    out["cores_over"] = m.cores_over;
    return out;
}

nb::tuple objective(const BoundProblem& problem, const Cores& mapping, const nb::dict& given) {
    const balance::Objective o =
        balance::objective(problem.get(), mapping_of(mapping), options_of(given));
    return nb::make_tuple(o.migration_excess, o.memory_excess, o.excess, o.cost);
}

auto keep_core_memory(const BoundProblem& problem, const Cores& cores, const nb::dict& given) {
    return column(balance::keep_core_memory(problem.get(), mapping_of(cores), options_of(given)));
}

auto start(const BoundProblem& problem, const std::string& name, const nb::dict& given) {
    balance::check_starts({name});
    if (name == balance::kStartScratch) {
        throw balance::BalanceError("the start scratch is a search, not a mapping");
    }
    const balance::NodeProblem nodes(problem.get());
    return column(balance::start_mapping(name, nodes, problem.get(), options_of(given)));
}

auto core_times(const BoundProblem& problem, const Cores& cores) {
    const balance::Mapping mapping = mapping_of(cores);
    balance::check_mapping(problem.get(), mapping);
    return column(balance::core_times(problem.get(), mapping));
}

auto relabelled(const BoundProblem& problem, const Cores& cores) {
    const balance::Mapping mapping = mapping_of(cores);
    balance::check_mapping(problem.get(), mapping);
    return column(balance::relabel(problem.get(), mapping));
}

nb::list algorithms() {
    nb::list out;
    for (const balance::Algorithm& a : balance::algorithms()) {
        out.append(nb::make_tuple(a.name, a.description));
    }
    return out;
}

}  // namespace

void bind_balance(nb::module_& module) {
    nb::module_ m = module.def_submodule("balance", "Mapping tasks to cores");
    nb::exception<balance::BalanceError>(m, "BalanceError", PyExc_ValueError);
    nb::class_<BoundProblem>(m, "Problem", "Arrays as in problem.h, checked; they are not copied")
        .def(nb::init<const nb::dict&, double, double>(), "arrays"_a, "cost_per_message"_a,
             "cost_per_byte"_a);
    m.def("algorithms", &algorithms, "Names and descriptions, in the order of tables.");
    m.def("run", &run, "problem"_a, "algorithm"_a, "options"_a, "start"_a.none(),
          "The mapping and the algorithm's own seconds. Raises BalanceError.");
    m.def("pareto_front", &pareto_front, "problem"_a, "options"_a,
          "The Pareto-optimal mappings, in order of migrations.");
    m.def("measure", &measure, "problem"_a, "mapping"_a, "A mapping's metrics, see metrics.h.");
    m.def("objective", &objective, "problem"_a, "mapping"_a, "options"_a,
          "The values that incumbent minimises, in this order: the excess over the caps on "
          "migrations, over the memory of cores, over the other caps, and the cost.");
    m.def(
        "check_core_memory",
        [](const BoundProblem& problem) { balance::check_core_memory(problem.get()); }, "problem"_a,
        "Raises BalanceError if no mapping can keep the limits of the cores' memory.");
    m.def("keep_core_memory", &keep_core_memory, "problem"_a, "mapping"_a, "options"_a,
          "The mapping with tasks moved off cores whose memory is exceeded. Raises BalanceError.");
    m.def("start", &start, "problem"_a, "name"_a, "options"_a,
          "The relabelled mapping from which incumbent starts. Raises BalanceError.");
    m.def("core_times", &core_times, "problem"_a, "mapping"_a, "Seconds of each core's tasks.");
    m.def("relabel", &relabelled, "problem"_a, "mapping"_a,
          "The mapping with cores exchanged for the fewest migrations, see relabel.h.");
}
