// SPDX-License-Identifier: Apache-2.0
//
// Call stacks of allocations. They are not unwound here. The registers and the top of the stack are
// copied once per distinct stack, and unwound during conversion, with the call frame information of
// the modules. Two stacks count as equal if the code addresses in their innermost words are equal.
// Stale words only make one stack appear under several identifiers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "program_registers.h"
#include "shard_writer.h"

namespace numascape {

class CallStackLog {
  public:
    constexpr explicit CallStackLog(ShardWriter& shard) : shard_(shard) {}
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();
    void add_code(uint64_t start, uint64_t end, bool present);
    // Identifies the call stack of code at `pc`, and writes it to the shard if it is new.
    // `exchanged` on the stack stands for the program's own value `original`.
    uint64_t identify(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                      uint64_t stack_pointer, uint64_t exchanged = 0, uint64_t original = 0);

  private:
    bool is_code(uint64_t value) const;
    uint64_t told_apart(uint64_t code) const;
    bool remember(uint64_t id);
    void write(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
               uint64_t stack_pointer, uint64_t id, uint64_t exchanged, uint64_t original);

    // All code lies in these: the executable's, and the libraries'. Most words on a stack do not.
    struct Span {
        uint64_t start = ~uint64_t{0};
        uint64_t bytes = 0;
    };
    static constexpr uint64_t kLibraries = uint64_t{1} << 46;  // from here upwards

    ShardWriter& shard_;
    Span spans_[2];
    std::atomic<uint8_t>* code_pages_ = nullptr;      // by window page: 2 x unloads, + 1 with code
    std::atomic<uint64_t>* seen_ = nullptr;           // identifiers written; open addressing
    std::atomic<uint16_t>* caller_stacks_ = nullptr;  // distinct stacks by return address's hash
};

}  // namespace numascape
