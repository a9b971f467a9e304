// SPDX-License-Identifier: Apache-2.0
//
// Python's buffer protocol in a module for Python 3.10's stable ABI. Python.h declares the protocol
// for that ABI only since 3.11. Python 3.10 exports the same functions, and its Py_buffer has the
// same fields (https://docs.python.org/3/c-api/buffer.html).
#pragma once

#include <Python.h>

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030B0000
extern "C" {
struct Py_buffer {
    void* buf;
    PyObject* obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char* format;
    Py_ssize_t* shape;
    Py_ssize_t* strides;
    Py_ssize_t* suboffsets;
    void* internal;
};
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject* object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject* exporter, Py_buffer* view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer* view);
}
// PyBUF_STRIDES, and either order of dimensions.
#define PyBUF_ANY_CONTIGUOUS (0x0080 | 0x0010 | 0x0008)
#endif
