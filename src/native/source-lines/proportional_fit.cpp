// SPDX-License-Identifier: Apache-2.0
#include "proportional_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace numascape {
namespace {

constexpr int kRounds = 30;

class Fit {
  public:
    Fit(const SparseTable& table, const std::vector<double>& row_sums,
        const std::vector<double>& column_sums)
        : table_(table), row_sums_(row_sums), column_sums_(column_sums) {
        values_.resize(table.shares.size());
        now_.resize(column_sums.size());
        exponents_.resize(column_sums.size());
        start();
    }

    std::vector<double> run() {
        for (int round = 0; round < kRounds; ++round) {
            compute_exponents();
            for (const Row& row : rows_) {
                scale(row);
            }
        }
        return std::move(values_);
    }

  private:
    struct Row {
        size_t first, end;
        double sum, uncertainty;
    };

    void start();
    void compute_exponents();
    void scale(const Row& row);

    const SparseTable& table_;
    const std::vector<double>& row_sums_;
    const std::vector<double>& column_sums_;
    std::vector<Row> rows_;  // those that can change
    std::vector<double> values_;
    std::vector<double> fixed_;      // by column: the sum of the values that cannot change
    std::vector<double> largest_;    // by column: the largest uncertainty
    std::vector<double> now_;        // by column: the sum of the values that can change
    std::vector<double> exponents_;  // by column: see compute_exponents
};

void Fit::start() {
    fixed_.resize(column_sums_.size());
    largest_.resize(column_sums_.size());
    size_t first = 0;
    for (size_t row = 0; row < table_.row_end.size(); ++row) {
        const size_t end = table_.row_end[row];
        const double sum = row_sums_[row];
        const double uncertainty = sum / std::log2(2 + sum);
        for (size_t i = first; i < end; ++i) {
            const uint32_t column = table_.columns[i];
            largest_[column] = std::max(largest_[column], uncertainty);
            values_[i] = sum * table_.shares[i];
            // A row of one value has its sum after each round, unless its column must be empty.
            const bool is_fixed = end - first == 1;
            if (is_fixed && column_sums_[column] == 0) {
                values_[i] = 0;
            }
            (is_fixed ? fixed_ : now_)[column] += values_[i];
        }
        if (end - first > 1 && sum > 0) {
            rows_.push_back({first, end, sum, uncertainty});
        }
        first = end;
    }
}

// The factor of a value is (wanted / present sum of its column) ** (its uncertainty / largest). The
// exponent is the logarithm of that, without the value's own uncertainty.
void Fit::compute_exponents() {
    for (size_t column = 0; column < now_.size(); ++column) {
        const double now = now_[column] + fixed_[column];
        const double factor = now > 0 ? column_sums_[column] / now : 0;
        exponents_[column] = largest_[column] > 0 ? std::log(factor) / largest_[column] : 0;
        now_[column] = 0;
    }
}

void Fit::scale(const Row& row) {
    double sum = 0;
    for (size_t i = row.first; i < row.end; ++i) {
        values_[i] *= std::exp(row.uncertainty * exponents_[table_.columns[i]]);
        sum += values_[i];
    }
    const double factor = sum > 0 ? row.sum / sum : 0;
    for (size_t i = row.first; i < row.end; ++i) {
        values_[i] *= factor;
        now_[table_.columns[i]] += values_[i];
    }
}

}  // namespace

std::vector<double> fit(const SparseTable& table, const std::vector<double>& row_sums,
                        const std::vector<double>& column_sums) {
    return Fit(table, row_sums, column_sums).run();
}

}  // namespace numascape
