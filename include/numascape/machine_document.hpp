// SPDX-License-Identifier: Apache-2.0
// Reads a machine's description, as `numascape machine probe` writes it. It uses these parts of the
// JSON document: the nodes, the allowed nodes and CPUs, the distances, and the bandwidths of
// memory.
//
//     #include <numascape/machine_document.hpp>
//     #include <numascape/machine_layout.hpp>
//     #include <cstdio>
//
//     int main() {
//         using namespace numascape;
//         const topology machine = parse_machine(R"({
//             "format": "numascape machine", "version": 1, "name": "an example",
//             "nodes": [{"node": 0, "cpus": [0, 1], "memory_bytes": 17179869184},
//                       {"node": 1, "cpus": [], "memory_bytes": 8589934592}],
//             "bandwidths": [{"values": [[30.5, 15.25], [null, null]], "operation": "read"}]})");
//         const auto where = layout_by_bandwidth(machine);  // two thirds on node 0
//         std::printf("%s", where.describe(1000, sizeof(double)).c_str());
//     }
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "numascape/json_reader.hpp"
#include "numascape/topology.hpp"

namespace numascape {

namespace detail {

// Collects the values of a description, in any order, and makes a topology.
class machine_reader {
  public:
    explicit machine_reader(std::string_view text) : json_{text} {
        json_.object([this](const std::string& name) { member(name); });
        json_.end();
        if (format_ != "numascape machine") json_.wrong("not a numascape machine description");
        if (version_ != 1) json_.wrong("expected a machine of version 1");
        check();
    }

    topology result() {
        for (std::size_t j = 0; j < nodes_.size(); ++j) {
            numa_node& node = nodes_[j];
            if (allowed_cpus_)
                std::erase_if(node.cpus, [&](int cpu) { return !has(*allowed_cpus_, cpu); });
            if (allowed_nodes_) node.has_memory = has(*allowed_nodes_, node.id);
            node.bandwidth = bandwidth(j);
            if (!distances_.empty())
                for (const double distance : distances_[j])
                    node.distances.push_back(whole(distance));
        }
        return topology{std::move(nodes_)};
    }

  private:
    using figures = std::vector<double>;  // 0 is unknown
    struct figures_of {
        std::vector<figures> rows;
        std::string operation = "read";
    };
    static constexpr std::size_t max_nodes = 1024;
    static constexpr std::size_t max_cpus = 65536;
    static constexpr std::size_t max_number = std::numeric_limits<int>::max();

    void member(const std::string& name) {
        if (name == "format") {
            format_ = json_.string();
        } else if (name == "version") {
            version_ = json_.count(max_number);
        } else if (name == "nodes") {
            json_.array([this] { nodes_.push_back(node()); });
        } else if (name == "allowed_cpus") {
            allowed_cpus_ = numbers_or_null(max_cpus - 1);
        } else if (name == "allowed_nodes") {
            allowed_nodes_ = numbers_or_null(max_number);
        } else if (name == "distances") {
            if (!json_.null()) distances_ = matrix().rows;
        } else if (name == "bandwidths") {
            json_.array([this] { bandwidths_.push_back(matrix()); });
        } else if (name == "controllers") {
            json_.array([this] { controllers_.push_back(one_row()); });
        } else {
            json_.skip();
        }
    }

    numa_node node() {
        numa_node result;
        result.id = -1;
        json_.object([&](const std::string& name) {
            if (name == "node")
                result.id = static_cast<int>(json_.count(max_number));
            else if (name == "cpus")
                result.cpus = numbers(max_cpus - 1);
            else if (name == "memory_bytes")
                result.memory_bytes = json_.count(std::numeric_limits<std::size_t>::max());
            else
                json_.skip();
        });
        if (result.id < 0) json_.wrong("a node without a number");
        return result;
    }
    std::vector<int> numbers(std::size_t most) {
        std::vector<int> result;
        json_.array([&] { result.push_back(static_cast<int>(json_.count(most))); });
        std::sort(result.begin(), result.end());
        return result;
    }
    std::optional<std::vector<int>> numbers_or_null(std::size_t most) {
        if (json_.null()) return std::nullopt;
        return numbers(most);
    }
    figures row() {
        figures result;
        json_.array([&] {
            const double value = json_.null() ? 0 : json_.number();
            if (value < 0) json_.wrong("a value below 0");
            result.push_back(value);
        });
        return result;
    }
    // An object whose `values` are read by a function.
    template <class F>
    figures_of figures_with(F values) {
        figures_of result;
        json_.object([&](const std::string& name) {
            if (name == "values")
                values(result.rows);
            else if (name == "operation")
                result.operation = json_.string();
            else
                json_.skip();
        });
        return result;
    }
    figures_of matrix() {
        return figures_with([this](auto& rows) { json_.array([&] { rows.push_back(row()); }); });
    }
    figures_of one_row() {
        return figures_with([this](auto& rows) { rows.push_back(row()); });
    }

    void check() const {
        const std::size_t n = nodes_.size();
        if (n == 0 || n > max_nodes) json_.wrong("expected 1 to 1024 nodes");
        std::vector<int> ids;
        for (const numa_node& node : nodes_) ids.push_back(node.id);
        std::sort(ids.begin(), ids.end());
        if (std::adjacent_find(ids.begin(), ids.end()) != ids.end())
            json_.wrong("two nodes have the same number");
        if (!distances_.empty()) check_size("distances", distances_, n);
        for (const figures_of& matrix : bandwidths_) check_size("bandwidths", matrix.rows, n);
        for (const figures_of& row : controllers_) check_size("controllers", row.rows, 1);
    }
    void check_size(const char* name, const std::vector<figures>& rows, std::size_t count) const {
        const bool right =
            rows.size() == count && std::all_of(rows.begin(), rows.end(), [&](const figures& row) {
                return row.size() == nodes_.size();
            });
        if (!right) json_.wrong(std::string{name} + " must have one value for each node");
    }

    // The highest bandwidth at which the CPUs of any one node read memory of node j, from the first
    // matrix that has the pair; or else the bandwidth of all CPUs.
    double bandwidth(std::size_t j) const {
        double best = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            best = std::max(best, first_known(bandwidths_, i, j));
        return best > 0 ? best : first_known(controllers_, 0, j);
    }
    static double first_known(const std::vector<figures_of>& several, std::size_t i,
                              std::size_t j) {
        for (const figures_of& one : several)
            if (one.operation == "read" && one.rows[i][j] > 0) return one.rows[i][j];
        return 0;
    }
    static int whole(double distance) {
        constexpr int far = std::numeric_limits<int>::max();
        return distance == 0 || distance >= far ? far : static_cast<int>(std::lround(distance));
    }
    static bool has(const std::vector<int>& sorted, int number) {
        return std::binary_search(sorted.begin(), sorted.end(), number);
    }

    json_reader json_;
    std::string format_;
    std::size_t version_ = 0;
    std::vector<numa_node> nodes_;
    std::optional<std::vector<int>> allowed_cpus_;
    std::optional<std::vector<int>> allowed_nodes_;
    std::vector<figures> distances_;
    std::vector<figures_of> bandwidths_;
    std::vector<figures_of> controllers_;
};

}  // namespace detail

// The machine of a description, in the order of its nodes and restricted to what the description
// allows. It need not be this machine: layouts for it can be computed anywhere. Throws
// std::invalid_argument, which says where the text is wrong.
inline topology parse_machine(std::string_view text) {
    return detail::machine_reader{text}.result();
}

// The same for a file of at most 64 MiB. Throws std::system_error if it cannot be read.
inline topology read_machine(const std::filesystem::path& path) {
    constexpr std::uintmax_t max_bytes = 64 << 20;
    const std::uintmax_t size = std::filesystem::file_size(path);
    std::ifstream file{path, std::ios::binary};
    std::string text(static_cast<std::size_t>(std::min(size, max_bytes)), '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(text.size())))
        throw std::system_error{errno != 0 ? errno : EIO, std::generic_category(),
                                "cannot read " + path.string()};
    try {
        if (size > max_bytes) throw std::invalid_argument{"the description has more than 64 MiB"};
        return parse_machine(text);
    } catch (const std::invalid_argument& wrong) {
        throw std::invalid_argument{path.string() + ": " + wrong.what()};
    }
}

}  // namespace numascape
