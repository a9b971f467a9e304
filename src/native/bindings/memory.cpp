// SPDX-License-Identifier: Apache-2.0
//
// numascape._native.memory: the marks of include/numascape/region.h for arrays of Python.
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "numascape/region.h"
#include "python_buffer.h"

namespace nb = nanobind;

namespace {

// The memory of an object, while this one lives.
class Memory {
  public:
    explicit Memory(nb::handle object) {
        if (PyObject_CheckBuffer(object.ptr()) != 0) {
            if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ANY_CONTIGUOUS) != 0) {
                throw nb::python_error();
            }
            address_ = view_.buf;
            bytes_ = static_cast<size_t>(view_.len);
            return;
        }
        tensor_ = nb::cast<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>>(object);
        address_ = tensor_.data();
        bytes_ = tensor_.nbytes();
    }
    ~Memory() {
        PyBuffer_Release(&view_);  // does nothing if the object gave none
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    const void* address() const { return address_; }
    size_t bytes() const { return bytes_; }

  private:
    Py_buffer view_{};
    nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig> tensor_;
    const void* address_ = nullptr;
    size_t bytes_ = 0;
};

void begin_region(const std::string& name, nb::handle array) {
    const Memory memory(array);
    if (memory.bytes() != 0) {
        numascape_region(name.c_str(), memory.address(), memory.bytes());
    }
}

void end_region(nb::handle array) {
    const Memory memory(array);
    numascape_region_end(memory.address());
}

}  // namespace

void bind_memory(nb::module_& module) {
    nb::module_ memory = module.def_submodule("memory", "Marks of memory for the recorder");
    memory.def("begin_region", &begin_region, nb::arg("name"), nb::arg("array"),
               "Names the memory of an array; see include/numascape/region.h.");
    memory.def("end_region", &end_region, nb::arg("array"),
               "Ends the last region that began where the array does.");
}
