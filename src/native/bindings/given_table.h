// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "arrow.h"

namespace numascape {

// The columns of a data frame of Python, which must have no nulls.
class GivenTable {
  public:
    // Reads any object with `__arrow_c_stream__`. Throws std::invalid_argument if it is no table.
    explicit GivenTable(const nanobind::object& frame);
    ~GivenTable();
    GivenTable(const GivenTable&) = delete;
    GivenTable& operator=(const GivenTable&) = delete;

    size_t rows() const { return rows_; }

    // The values of a column; they live as long as this object. Throws std::invalid_argument if
    // there is no such column, or if it has another type.
    template <typename T>
    const T* column(const char* name) {
        const size_t index = find(name, arrow_format<T>());
        if (parts_.size() == 1) return values<T>(parts_[0], index);
        auto joined = std::make_shared<std::vector<T>>();
        joined->reserve(rows_);
        for (const ArrowArray& part : parts_) {
            const T* first = values<T>(part, index);
            joined->insert(joined->end(), first, first + part.length);
        }
        joined_.push_back(joined);
        return joined->data();
    }

  private:
    GivenTable() = default;
    size_t find(const char* name, const char* format) const;

    template <typename T>
    static const T* values(const ArrowArray& part, size_t index) {
        const ArrowArray& column = *part.children[index];
        if (column.null_count != 0 && column.buffers[0] != nullptr)
            throw std::invalid_argument("a column has nulls");
        return static_cast<const T*>(column.buffers[1]) + part.offset + column.offset;
    }

    ArrowSchema schema_{};
    std::vector<ArrowArray> parts_;
    std::vector<std::shared_ptr<void>> joined_;
    size_t rows_ = 0;
};

}  // namespace numascape
