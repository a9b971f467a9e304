// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <array>

namespace nb = nanobind;

namespace numascape {

namespace {

// The memory to which an ArrowSchema or ArrowArray points. Each child has memory of its own,
// because its receiver may move it away from its parent.
struct SchemaMemory {
    std::string name;
    std::vector<ArrowSchema> fields;
    std::vector<ArrowSchema*> children;
};

struct ArrayMemory {
    std::shared_ptr<void> values;
    std::array<const void*, 2> buffers{};  // no validity bitmap; the values
    std::vector<ArrowArray> fields;
    std::vector<ArrowArray*> children;
};

template <typename Exported, typename Memory>
void release(Exported* exported) {
    auto* memory = static_cast<Memory*>(exported->private_data);
    for (Exported* child : memory->children) {
        if (child->release != nullptr) child->release(child);
    }
    exported->release = nullptr;
    delete memory;
}

template <typename Exported, typename Memory>
void set_children(Exported& exported, Memory& memory) {
    for (Exported& field : memory.fields) memory.children.push_back(&field);
    exported.n_children = static_cast<int64_t>(memory.children.size());
    exported.children = memory.children.data();
    exported.release = release<Exported, Memory>;
    exported.private_data = &memory;
}

ArrowSchema new_schema(const std::string& name, const char* format,
                       std::vector<ArrowSchema> fields) {
    auto* memory = new SchemaMemory{name, std::move(fields), {}};
    ArrowSchema schema{};
    schema.format = format;
    schema.name = memory->name.c_str();
    set_children(schema, *memory);
    return schema;
}

ArrowArray new_array(size_t rows, std::shared_ptr<void> values, const void* data,
                     std::vector<ArrowArray> fields) {
    auto* memory = new ArrayMemory{std::move(values), {nullptr, data}, std::move(fields), {}};
    ArrowArray array{};
    array.length = static_cast<int64_t>(rows);
    array.n_buffers = memory->fields.empty() ? 2 : 1;
    array.buffers = memory->buffers.data();
    set_children(array, *memory);
    return array;
}

// A capsule that releases its content, unless a receiver has taken it over.
template <typename Exported>
nb::object capsule(const Exported& exported, const char* name) {
    PyObject* made = PyCapsule_New(new Exported(exported), name, [](PyObject* object) {
        auto* content =
            static_cast<Exported*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
        if (content->release != nullptr) content->release(content);
        delete content;
    });
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

}  // namespace

nb::tuple Table::capsules() const {
    std::vector<ArrowSchema> schemas;
    std::vector<ArrowArray> arrays;
    for (const Column& column : columns_) {
        schemas.push_back(new_schema(column.name, column.format, {}));
        arrays.push_back(new_array(rows_, column.memory, column.data, {}));
    }
    return nb::make_tuple(
        capsule(new_schema("", "+s", std::move(schemas)), "arrow_schema"),
        capsule(new_array(rows_, nullptr, nullptr, std::move(arrays)), "arrow_array"));
}

}  // namespace numascape

void bind_table(nb::module_& module) {
    nb::class_<numascape::Table>(module, "Table", "A table of numbers, for pl.DataFrame(...)")
        .def("__len__", &numascape::Table::rows)
        .def(
            "__arrow_c_array__",
            [](const numascape::Table& self, const nb::object&) { return self.capsules(); },
            nb::arg("requested_schema") = nb::none(),
            "Arrow's capsules of the table, which keep its memory");
}
