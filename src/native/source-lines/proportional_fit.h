// SPDX-License-Identifier: Apache-2.0
//
// Iterative proportional fitting (W. E. Deming and F. F. Stephan, 1940): scales the values of a
// table to the sums of its columns and then of its rows, again and again. Less certain values
// change more (the scale factors of J.-C. Deville and C.-E. Särndal's generalised raking, 1992).
#pragma once

#include <cstdint>
#include <vector>

namespace numascape {

// A sparse table, row by row: `row_end` has the end of each row in `columns` and `shares`. The
// shares of a row add up to 1.
struct SparseTable {
    std::vector<uint64_t> row_end;
    std::vector<uint32_t> columns;
    std::vector<double> shares;
};

// The values of the table whose rows add up exactly to `row_sums`, and its columns as far as
// possible to `column_sums`. They start as the shares of their row.
//
// If a value is the share p of a row's n samples, its variance is sum ** 2 * p * (1 - p) / n.
// Relative to the value, this is about sum / n, where n grows like the logarithm of the sum.
std::vector<double> fit(const SparseTable& table, const std::vector<double>& row_sums,
                        const std::vector<double>& column_sums);

}  // namespace numascape
