// SPDX-License-Identifier: Apache-2.0
//
// The offsets of the fields of CPython's structures, in bytes, for builds with a GIL for 64-bit
// Linux. The numbers are from CPython's headers (Include/internal), by offsetof.
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
    {.version = 0x30a,
     .interpreters = 32,
     .next_interpreter = 0,
     .threads = 8,
     .next_thread = 8,
     .thread = 176,
     .native_thread = 0,
     .frame = 24,
     .frame_in_structure = -1,
     .code = 32,
     .previous = 24,
     .instruction = 96,
     .first_line = 40,
     .file = 104,
     .function = 112,
     .lines = 120,
     .instructions = 0,
     .ascii_text = 48,
     .text = 72},
    {.version = 0x30b,
     .interpreters = 40,
     .next_interpreter = 0,
     .threads = 16,
     .next_thread = 8,
     .thread = 152,
     .native_thread = 160,
     .frame = 56,
     .frame_in_structure = 8,
     .code = 32,
     .previous = 48,
     .instruction = 56,
     .first_line = 72,
     .file = 112,
     .function = 128,
     .lines = 136,
     .instructions = 184,
     .ascii_text = 48,
     .text = 72},
    {.version = 0x30c,
     .interpreters = 40,
     .next_interpreter = 0,
     .threads = 72,
     .next_thread = 8,
     .thread = 136,
     .native_thread = 144,
     .frame = 56,
     .frame_in_structure = 0,
     .code = 0,
     .previous = 8,
     .instruction = 56,
     .first_line = 68,
     .file = 112,
     .function = 128,
     .lines = 136,
     .instructions = 192,
     .ascii_text = 40,
     .text = 56},
    {.version = 0x30d,
     .interpreters = 632,
     .next_interpreter = 7264,
     .threads = 7344,
     .next_thread = 8,
     .thread = 152,
     .native_thread = 160,
     .frame = 72,
     .frame_in_structure = -1,
     .code = 0,
     .previous = 8,
     .instruction = 56,
     .first_line = 68,
     .file = 112,
     .function = 128,
     .lines = 136,
     .instructions = 200,
     .ascii_text = 40,
     .text = 56},
};

// All versions: PyUnicodeObject, PyVarObject, PyBytesObject, PyObject.
inline constexpr uint16_t kPythonTextLength = 16;
inline constexpr uint16_t kPythonTextState = 32;
inline constexpr uint16_t kPythonBytesLength = 16;
inline constexpr uint16_t kPythonBytes = 32;
inline constexpr uint16_t kPythonType = 8;

}  // namespace numascape
