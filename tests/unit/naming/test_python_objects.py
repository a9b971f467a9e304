# SPDX-License-Identifier: Apache-2.0
"""Call stacks of CPython and NumPy, as symbols give them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from numascape.naming import name_allocation

NUMPY = "/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.cpython-311-x86_64.so"
PYTHON = "/usr/bin/python3.11"


@dataclass(frozen=True)
class SymbolFrame:
    function: str
    module: str
    file: str = ""
    line: int = 0
    offset: int = 0x10


@pytest.mark.parametrize(
    ("numpy", "python", "name"),
    [
        (
            ["default_malloc", "PyArray_NewFromDescr_int", "array_empty"],
            "cfunction_",
            "numpy.empty",
        ),
        (["PyArray_NewFromDescr_int", "array_copy"], "method_vectorcall", "numpy.ndarray.copy"),
        (["PyArray_NewFromDescr", "ufunc_generic_fastcall"], "_PyObject_V", "numpy.ufunc"),
        (["npyiter_new_temp_array", "PyUFunc_Reduce"], "_PyObject_V", "numpy.ufunc"),
        (["0x1234", "0x5678"], "cfunction_", "numpy"),
    ],
)
def test_arrays_of_numpy(numpy, python, name):
    frames = [SymbolFrame(function, NUMPY) for function in numpy]
    assert name_allocation([*frames, SymbolFrame(python, PYTHON)]).name == name


@pytest.mark.parametrize(
    ("functions", "name"),
    [
        (["_PyObject_ArenaMmap", "new_arena"], "Python objects"),
        (["_PyObject_Malloc", "list_resize", "list_extend"], "Python lists"),
        (["PyMem_RawMalloc", "new_keys_object"], "Python dictionaries"),
        (["_PyObject_Malloc", "_PyBytes_FromSize"], "Python bytes"),
        (["PyArena_New", "block_new"], "Python objects"),
        (["newarrayobject", "array_new"], "newarrayobject+0x10"),
        (["0x5064f3", "_PyObject_MakeTpCall"], "_PyObject_MakeTpCall+0x10"),
        (["0x5064f3"], "MODULE+0x5064f3"),
    ],
)
def test_objects_of_the_interpreter(functions, name):
    for module in (PYTHON, "/usr/lib/libpython3.11.so.1.0"):
        wanted = name.replace("MODULE", module.rpartition("/")[2])
        assert name_allocation([SymbolFrame(f, module) for f in functions]).name == wanted


def test_functions_of_other_programs_are_not_python_s():
    assert name_allocation([SymbolFrame("list_resize", "/opt/solver")]).name == "list_resize+0x10"
