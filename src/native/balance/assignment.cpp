// SPDX-License-Identifier: Apache-2.0
#include "assignment.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace numascape::balance {

std::vector<std::uint32_t> best_assignment(const std::vector<double>& values, std::size_t size) {
    // Rows and columns count from 1; column 0 is the row that looks for a column. Each round finds
    // the cheapest augmenting path from one more row, with prices kept non-negative by potentials.
    std::vector<double> row_potential(size + 1, 0.0), column_potential(size + 1, 0.0);
    std::vector<std::size_t> row_of(size + 1, 0), came_from(size + 1, 0);
    for (std::size_t row = 1; row <= size; ++row) {
        row_of[0] = row;
        std::size_t column = 0;
        std::vector<double> least(size + 1, std::numeric_limits<double>::infinity());
        std::vector<bool> reached(size + 1, false);
        do {
            reached[column] = true;
            const std::size_t current = row_of[column];
            double step = std::numeric_limits<double>::infinity();
            std::size_t next = 0;
            for (std::size_t j = 1; j <= size; ++j) {
                if (reached[j]) continue;
                const double price = -values[(current - 1) * size + (j - 1)] -
                                     row_potential[current] - column_potential[j];
                if (price < least[j]) least[j] = price, came_from[j] = column;
                if (least[j] < step) step = least[j], next = j;
            }
            for (std::size_t j = 0; j <= size; ++j) {
                if (reached[j]) {
                    row_potential[row_of[j]] += step;
                    column_potential[j] -= step;
                } else {
                    least[j] -= step;
                }
            }
            column = next;
        } while (row_of[column] != 0);
        for (; column != 0; column = came_from[column]) row_of[column] = row_of[came_from[column]];
    }
    std::vector<std::uint32_t> result(size, 0);
    for (std::size_t j = 1; j <= size; ++j) result[row_of[j] - 1] = std::uint32_t(j - 1);
    return result;
}

std::vector<std::uint32_t> greedy_assignment(const std::vector<double>& values, std::size_t size) {
    std::vector<std::uint32_t> result(size);
    std::iota(result.begin(), result.end(), 0U);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > 0.0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    std::vector<bool> row_done(size, false), column_done(size, false);
    for (std::size_t i : order) {
        const std::size_t row = i / size, column = i % size;
        if (row_done[row] || column_done[column]) continue;
        row_done[row] = column_done[column] = true;
        result[row] = std::uint32_t(column);
    }
    std::size_t column = 0;
    for (std::size_t row = 0; row < size; ++row) {
        if (row_done[row]) continue;
        // Stay in the same column, if it is free.
        if (!column_done[row]) {
            result[row] = std::uint32_t(row);
            column_done[row] = true;
            row_done[row] = true;
        }
    }
    for (std::size_t row = 0; row < size; ++row) {
        if (row_done[row]) continue;
        while (column_done[column]) ++column;
        column_done[column] = true;
        result[row] = std::uint32_t(column);
    }
    return result;
}

}  // namespace numascape::balance
