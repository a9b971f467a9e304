// SPDX-License-Identifier: Apache-2.0
#include "factors.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "problem.h"

namespace numascape::balance {

namespace {

// Visits all pairs (i, j) in squares that fit into the first-level cache with their transposed
// ones. With a node for each of 4096 cores, row by row takes ten times as long.
template <typename Visit>
bool all_pairs(std::size_t rows, Visit&& visit) {
    constexpr std::size_t kSide = 32;
    for (std::size_t i0 = 0; i0 < rows; i0 += kSide) {
        for (std::size_t j0 = 0; j0 < rows; j0 += kSide) {
            for (std::size_t i = i0; i < std::min(i0 + kSide, rows); ++i) {
                for (std::size_t j = j0; j < std::min(j0 + kSide, rows); ++j) {
                    if (!visit(i * rows + j, j * rows + i)) return false;
                }
            }
        }
    }
    return true;
}

bool is_symmetric(std::span<const double> matrix, std::size_t rows) {
    return all_pairs(
        rows, [&](std::size_t at, std::size_t across) { return matrix[at] == matrix[across]; });
}

std::vector<double> transposed_matrix(std::span<const double> matrix, std::size_t rows) {
    std::vector<double> result(matrix.size());
    all_pairs(rows, [&](std::size_t at, std::size_t across) {
        result[across] = matrix[at];
        return true;
    });
    return result;
}

}  // namespace

Factors::Factors(const FactorArrays& arrays, std::size_t nodes)
    : arrays_(arrays),
      nodes_(nodes),
      rows_(arrays.row.empty() ? nodes : std::size_t(std::sqrt(double(arrays.matrix.size())))) {
    check();
    symmetric_ = is_symmetric(arrays_.matrix, rows_);
    if (!symmetric_) transposed_ = transposed_matrix(arrays_.matrix, rows_);
    collect_members();
}

void Factors::check() const {
    const auto expect = [](bool right, const std::string& what) {
        if (!right) throw BalanceError(what);
    };
    expect(arrays_.matrix.size() == rows_ * rows_,
           "factor has " + std::to_string(arrays_.matrix.size()) + " values instead of " +
               std::to_string(rows_ * rows_));
    expect(is_matrix() ? levels() == 0 : arrays_.row.size() == nodes_,
           "factor_row has " + std::to_string(arrays_.row.size()) + " values instead of " +
               std::to_string(nodes_));
    expect(arrays_.group.size() == levels() * nodes_,
           "level_group has " + std::to_string(arrays_.group.size()) + " values instead of " +
               std::to_string(levels() * nodes_));
    for (std::uint32_t row : arrays_.row) {
        expect(row < rows_,
               "factor_row has the row " + std::to_string(row) + " of " + std::to_string(rows_));
    }
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    for (std::size_t level = 0; level < levels(); ++level) {
        std::vector<std::uint32_t> outer(nodes_, kNone);
        for (Node n = 0; n < nodes_; ++n) {
            const std::uint32_t own = group(level, n);
            const std::uint32_t around = level + 1 < levels() ? group(level + 1, n) : row(n);
            expect(own < nodes_ && (outer[own] == kNone || outer[own] == around),
                   "level_group " + std::to_string(own) + " of level " + std::to_string(level) +
                       " is not inside one group of the next level");
            outer[own] = around;
        }
    }
}

void Factors::collect_members() {
    if (is_matrix()) return;
    const auto place = [&](std::size_t level, Node n) {
        return level * nodes_ + (level < levels() ? group(level, n) : row(n));
    };
    first_member_.assign(levels() * nodes_ + rows_ + 1, 0);
    for (std::size_t level = 0; level <= levels(); ++level) {
        for (Node n = 0; n < nodes_; ++n) ++first_member_[place(level, n) + 1];
    }
    for (std::size_t i = 1; i < first_member_.size(); ++i) first_member_[i] += first_member_[i - 1];
    members_.resize((levels() + 1) * nodes_);
    std::vector<std::size_t> next(first_member_.begin(), first_member_.end() - 1);
    for (std::size_t level = 0; level <= levels(); ++level) {
        for (Node n = 0; n < nodes_; ++n) members_[next[place(level, n)]++] = n;
    }
}

std::span<const Node> Factors::members(std::size_t level, std::uint32_t group) const {
    const std::size_t at = level * nodes_ + group;
    return {members_.data() + first_member_[at], members_.data() + first_member_[at + 1]};
}

double Factors::smallest() const {
    double least = *std::min_element(arrays_.matrix.begin(), arrays_.matrix.end());
    for (double cost : arrays_.cost) least = std::min(least, cost);
    return least;
}

double Factors::between_any() const {
    if (nodes_ < 2 || !is_matrix()) return -1.0;
    const std::span<const double> m = arrays_.matrix;
    for (std::size_t i = 0; i < nodes_; ++i) {
        for (std::size_t j = 0; j < nodes_; ++j) {
            if (m[i * nodes_ + j] != m[i == j ? 0 : 1]) return -1.0;
        }
    }
    return m[1];
}

std::uint64_t Factors::neighbourhood(Node n) const {
    for (std::size_t level = 0; level < levels(); ++level) {
        const double around =
            level + 1 < levels() ? arrays_.cost[level + 1] : arrays_.matrix[pair(n, n)];
        if (members(level, group(level, n)).size() > 1 && arrays_.cost[level] < around) {
            return (std::uint64_t{level + 1} << 32) | group(level, n);
        }
    }
    return 0;
}

FactorSums::FactorSums(const Factors& factors) : factors_(factors) {
    if (factors.is_matrix()) return;
    of_row_.assign(factors.rows(), 0.0);
    sent_.assign(factors.rows(), 0.0);
    received_.assign(factors.rows(), 0.0);
    weight_.assign(factors.nodes(), 0.0);
    is_touched_.assign(std::max(factors.nodes(), factors.rows()), 0);
}

void FactorSums::add_rows(std::span<const std::uint32_t> rows, const std::vector<double>& sent,
                          const std::vector<double>& received, std::vector<double>& costs) const {
    const std::size_t size = factors_.rows();
    std::fill(costs.begin(), costs.end(), 0.0);
    for (std::uint32_t m : rows) {
        const double *to = &factors_.transposed()[m * size], *from = &factors_.matrix()[m * size];
        const double out = sent[m], in = received[m];
        if (in == 0.0) {
            for (std::size_t n = 0; n < size; ++n) costs[n] += out * to[n];
        } else {
            for (std::size_t n = 0; n < size; ++n) costs[n] += out * to[n] + in * from[n];
        }
    }
}

// On the nodes of a group, messages with its members cost less than on the next coarser level.
void FactorSums::add_level(std::size_t level, std::span<const Node> touched,
                           const std::vector<double>& sent, const std::vector<double>& received,
                           std::vector<double>& costs) {
    const FactorArrays& arrays = factors_.arrays();
    groups_.clear();
    for (Node m : touched) {
        const std::uint32_t g = factors_.group(level, m);
        if (!is_touched_[g]) is_touched_[g] = 1, groups_.push_back(g);
        weight_[g] += sent[m] + received[m];
    }
    for (std::uint32_t g : groups_) {
        const std::span<const Node> members = factors_.members(level, g);
        const double around = level + 1 < factors_.levels()
                                  ? arrays.cost[level + 1]
                                  : arrays.matrix[factors_.pair(members[0], members[0])];
        const double less = weight_[g] * (arrays.cost[level] - around);
        for (Node n : members) costs[n] += less;
        weight_[g] = 0.0, is_touched_[g] = 0;
    }
}

void FactorSums::add_up(std::span<const Node> touched, const std::vector<double>& sent,
                        const std::vector<double>& received, std::vector<double>& costs) {
    if (factors_.is_matrix()) {
        add_rows(touched, sent, received, costs);
        return;
    }
    rows_.clear();
    for (Node m : touched) {
        const std::uint32_t row = factors_.row(m);
        if (!is_touched_[row]) is_touched_[row] = 1, rows_.push_back(row);
        sent_[row] += sent[m];
        received_[row] += received[m];
    }
    add_rows(rows_, sent_, received_, of_row_);
    for (std::uint32_t row : rows_) sent_[row] = received_[row] = 0.0, is_touched_[row] = 0;
    for (Node n = 0; n < factors_.nodes(); ++n) costs[n] = of_row_[factors_.row(n)];
    for (std::size_t level = factors_.levels(); level-- > 0;) {
        add_level(level, touched, sent, received, costs);
    }
}

}  // namespace numascape::balance
