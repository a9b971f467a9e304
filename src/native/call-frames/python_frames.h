// SPDX-License-Identifier: Apache-2.0
//
// The Python functions that a thread executes, read from the structures of CPython 3.10 to 3.13 in
// the program's memory. The memory may hold anything: nothing is read before the kernel has
// confirmed that it can be read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "python_layout.h"

namespace numascape {

// An instruction of a Python function.
struct PythonFrame {
    uint64_t code;    // address of the code object
    uint64_t offset;  // of the instruction, in bytes
};

// The characters of a Python string: of 1, 2 or 4 bytes each, as Unicode code points.
struct PythonText {
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint32_t width = 1;
};

// The information of a code object about its function.
struct PythonCode {
    uint16_t version = 0;  // of Python: 0x30b is 3.11
    uint32_t first_line = 0;
    PythonText file;
    PythonText function;  // before 3.11 without its class
    PythonText lines;     // CPython's table of source places (its width is 1)

    uint32_t bytes() const { return file.bytes + function.bytes + lines.bytes; }
    // Copies the file, the function and the table.
    void copy(void* into) const;
};

class PythonFrames {
  public:
    static constexpr uint32_t kMax = 12;

    // A module with its ELF header at `start`, which may contain CPython.
    void add_module(uint64_t start, uint64_t end);
    void remove_module(uint64_t start);
    bool is_loaded() const { return runtime_.load(std::memory_order_acquire) != 0; }
    // Fills `found` with the functions that the thread `os_tid` executes, innermost first, at most
    // `wanted`. Returns how many; 0 if it executes none. `state` belongs to this thread; it begins
    // as 0.
    uint32_t walk(uint32_t os_tid, uint64_t& state, uint32_t wanted,
                  PythonFrame (&found)[kMax]) const;
    // False if there is no code object at this address.
    bool describe(uint64_t code, PythonCode& found) const;

  private:
    template <typename Words>
    bool is_of_thread(uint64_t state, uint32_t os_tid, Words& words) const;
    uint64_t find_state(uint32_t os_tid) const;
    bool read_text(uint64_t address, PythonText& found) const;

    // Set once, when CPython is loaded: `runtime_` last.
    std::atomic<uint64_t> runtime_ = 0;  // _PyRuntime; 0: none
    uint64_t module_ = 0;
    uint64_t code_type_ = 0;
    PythonLayout layout_;
};

}  // namespace numascape
