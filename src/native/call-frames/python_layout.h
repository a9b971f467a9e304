// SPDX-License-Identifier: Apache-2.0
//
// Where the fields of CPython's structures are, in bytes from their start: of its builds for 64-bit
// Linux with a GIL. The numbers are from CPython's headers (Include/internal), by offsetof.
#pragma once

#include <cstdint>

namespace numascape {

struct PythonLayout {
    uint16_t version = 0;  // 0x30b is 3.11
    // _PyRuntimeState, PyInterpreterState
    uint64_t interpreters = 0;
    uint64_t next_interpreter = 0;
    uint64_t threads = 0;
    // PyThreadState
    uint16_t next_thread = 0;
    uint16_t thread = 0;         // pthread_t
    uint16_t native_thread = 0;  // the kernel's number; 0: not known
    uint16_t frame = 0;          // the innermost frame, or the structure that points to it
    int16_t frame_in_structure = -1;
    // A frame: _PyInterpreterFrame, or PyFrameObject
    uint16_t code = 0;
    uint16_t previous = 0;
    uint16_t instruction = 0;  // a pointer; before 3.11 the number of the instruction
    // PyCodeObject
    uint16_t first_line = 0;
    uint16_t file = 0;
    uint16_t function = 0;
    uint16_t lines = 0;
    uint16_t instructions = 0;  // where they begin, from 3.11
    // PyASCIIObject, PyCompactUnicodeObject
    uint16_t ascii_text = 0;
    uint16_t text = 0;
};

inline constexpr PythonLayout kPythonLayouts[] = {
    {0x30a, 32, 0, 8, 8, 176, 0, 24, -1, 32, 24, 96, 40, 104, 112, 120, 0, 48, 72},
    {0x30b, 40, 0, 16, 8, 152, 160, 56, 8, 32, 48, 56, 72, 112, 128, 136, 184, 48, 72},
    {0x30c, 40, 0, 72, 8, 136, 144, 56, 0, 0, 8, 56, 68, 112, 128, 136, 192, 40, 56},
    {0x30d, 632, 7264, 7344, 8, 152, 160, 72, -1, 0, 8, 56, 68, 112, 128, 136, 200, 40, 56},
};

// All versions: PyUnicodeObject, PyVarObject, PyBytesObject, PyObject.
inline constexpr uint16_t kPythonTextLength = 16;
inline constexpr uint16_t kPythonTextState = 32;
inline constexpr uint16_t kPythonBytesLength = 16;
inline constexpr uint16_t kPythonBytes = 32;
inline constexpr uint16_t kPythonType = 8;

}  // namespace numascape
