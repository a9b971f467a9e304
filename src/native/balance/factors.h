// SPDX-License-Identifier: Apache-2.0
//
// What multiplies the cost of a message, for each pair of nodes: a matrix or, with costs by level,
// groups of nodes inside the rows of a smaller matrix. With a node for each of 16384 cores, a
// matrix of all pairs would need 2 GiB.
//
//     row of the matrix:  0 0 0 0 0 0 0 0 1 1 1 ...    NUMA nodes
//     group, level 1:     0 0 0 0 1 1 1 1 2 2 2 ...    L3 caches
//     group, level 0:     0 0 1 1 2 2 3 3 4 4 5 ...    L2 caches
//     node:               0 1 2 3 4 5 6 7 8 9 10 ...   cores
//
// A message costs what the finest level says on which both nodes are in one group; otherwise what
// the matrix says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace numascape::balance {

using Node = std::uint32_t;

// The arrays belong to the caller. Only `matrix` is needed, row-major; the row is the sender's.
struct FactorArrays {
    std::span<const double> matrix;
    std::span<const std::uint32_t> row;    // of each node; empty: that of its number
    std::span<const std::uint32_t> group;  // of each node, level by level, from the finest
    std::span<const double> cost;          // within a group of each level
};

class Factors {
  public:
    Factors() = default;
    // Without levels, `nodes` is the number of rows. Throws BalanceError if sizes or numbers
    // contradict each other, or a group is not inside one group of the next level and one row.
    Factors(const FactorArrays& arrays, std::size_t nodes);

    std::size_t nodes() const { return nodes_; }
    std::size_t rows() const { return rows_; }
    std::size_t levels() const { return arrays_.cost.size(); }
    const FactorArrays& arrays() const { return arrays_; }
    // Whether each node has a row of its own, so that the matrix says everything.
    bool is_matrix() const { return arrays_.row.empty(); }

    std::uint32_t row(Node n) const { return is_matrix() ? n : arrays_.row[n]; }
    std::uint32_t group(std::size_t level, Node n) const {
        return arrays_.group[level * nodes_ + n];
    }
    // The place of a pair in matrices over rows.
    std::size_t pair(Node i, Node j) const { return row(i) * rows_ + row(j); }
    double operator()(Node i, Node j) const {
        for (std::size_t level = 0; level < levels(); ++level) {
            if (group(level, i) == group(level, j)) return arrays_.cost[level];
        }
        return arrays_.matrix[pair(i, j)];
    }
    double smallest() const;
    // The factor between any two different nodes, if there is one, and one of all nodes to
    // themselves; otherwise a negative number.
    double between_any() const;

    bool symmetric() const { return symmetric_; }
    // The matrix, and the matrix whose row is the receiver's.
    std::span<const double> matrix() const { return arrays_.matrix; }
    std::span<const double> transposed() const {
        return symmetric_ ? arrays_.matrix : std::span<const double>(transposed_);
    }
    // The nodes of a group, and those of a row. Only if this is not a matrix.
    std::span<const Node> members(std::size_t level, std::uint32_t group) const;
    std::span<const Node> nodes_of_row(std::uint32_t row) const { return members(levels(), row); }
    // A number that is the same for two nodes unless a third node is surely nearer to one of them.
    std::uint64_t neighbourhood(Node n) const;

  private:
    void check() const;
    void collect_members();

    FactorArrays arrays_;
    std::size_t nodes_ = 0, rows_ = 0;
    bool symmetric_ = true;
    std::vector<double> transposed_;  // empty if the matrix is symmetric
    // The members of all groups, level by level, then those of rows; where those of each begin.
    std::vector<Node> members_;
    std::vector<std::size_t> first_member_;
};

// Adds up what messages with some nodes cost, on each node at once.
class FactorSums {
  public:
    // `factors` must outlive this object.
    explicit FactorSums(const Factors& factors);

    // costs[n] becomes the sum over the nodes m in `touched` of sent[m] * factor(n, m) +
    // received[m] * factor(m, n).
    void add_up(std::span<const Node> touched, const std::vector<double>& sent,
                const std::vector<double>& received, std::vector<double>& costs);

    // Of the last call, if the factors are not a matrix: the rows of the touched nodes, and what
    // the messages cost on each node of another row.
    std::span<const std::uint32_t> near_rows() const { return rows_; }
    const std::vector<double>& cost_of_row() const { return of_row_; }

  private:
    void add_rows(std::span<const std::uint32_t> rows, const std::vector<double>& sent,
                  const std::vector<double>& received, std::vector<double>& costs) const;
    void add_level(std::size_t level, std::span<const Node> touched,
                   const std::vector<double>& sent, const std::vector<double>& received,
                   std::vector<double>& costs);

    const Factors& factors_;
    std::vector<double> of_row_, sent_, received_, weight_;
    std::vector<std::uint32_t> rows_, groups_;
    std::vector<std::uint8_t> is_touched_;
};

}  // namespace numascape::balance
