// SPDX-License-Identifier: Apache-2.0
#include "given_table.h"

namespace nb = nanobind;

namespace numascape {

namespace {

void expect(int status) {
    if (status != 0) throw std::invalid_argument("a table cannot be read");
}

}  // namespace

// Delegates to the default constructor, so that the destructor runs if reading fails.
GivenTable::GivenTable(const nb::object& frame) : GivenTable() {
    const nb::object capsule = frame.attr("__arrow_c_stream__")();
    auto* stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    expect(stream->get_schema(stream, &schema_));
    while (true) {
        ArrowArray part{};
        expect(stream->get_next(stream, &part));
        if (part.release == nullptr) break;
        rows_ += static_cast<size_t>(part.length);
        parts_.push_back(part);
    }
}

GivenTable::~GivenTable() {
    for (ArrowArray& part : parts_) part.release(&part);
    if (schema_.release != nullptr) schema_.release(&schema_);
}

size_t GivenTable::find(const char* name, const char* format) const {
    for (int64_t i = 0; i < schema_.n_children; ++i) {
        const ArrowSchema& field = *schema_.children[i];
        if (std::strcmp(field.name, name) != 0) continue;
        if (std::strcmp(field.format, format) != 0) break;
        return static_cast<size_t>(i);
    }
    throw std::invalid_argument(std::string("no column ") + name + " of the expected type");
}

}  // namespace numascape
