// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "arrow.h"

namespace numascape {

// A table of numbers that Python's data frame libraries read without a copy, by Arrow's capsules.
// NumPy could do this too, but loading it takes longer than the conversion of a small recording.
class Table {
  public:
    // Columns have equal lengths; their memory is the vector's.
    template <typename T>
    void add(const char* name, std::vector<T>&& values) {
        auto kept = std::make_shared<std::vector<T>>(std::move(values));
        rows_ = kept->size();
        columns_.push_back({name, arrow_format<T>(), kept->data(), kept});
    }

    size_t rows() const { return rows_; }

    // The capsules `arrow_schema` and `arrow_array` of a structure whose fields are the columns.
    nanobind::tuple capsules() const;

  private:
    struct Column {
        std::string name;
        const char* format;
        const void* data;
        std::shared_ptr<void> memory;
    };
    std::vector<Column> columns_;
    size_t rows_ = 0;
};

}  // namespace numascape
