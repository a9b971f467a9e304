// SPDX-License-Identifier: Apache-2.0
//
// Call stacks of allocations. Nothing is unwound here: the registers and the top of the stack are
// copied once per distinct stack, and unwound with the modules' call frame information when the
// shard is converted. Two stacks are taken for the same when the code addresses found in their
// innermost words are the same; stale words only make one stack appear under several identifiers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shard_writer.h"

namespace numascape {

// All general registers as hooks push them, lowest address first; rsp is apart.
struct ProgramRegisters {
    uint64_t flags;
    uint64_t r15, r14, r13, r12, rbp, rbx;
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
};

class CallStackLog {
  public:
    constexpr explicit CallStackLog(ShardWriter& shard) : shard_(shard) {}
    // Takes its memory; false when there is none.
    bool open();
    void add_code(uint64_t start, uint64_t end, bool present);
    // Identifies the call stack of code at `pc`; writes it to the shard when it is new. Where the
    // stack holds `exchanged`, the program would have `original`.
    uint64_t identify(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                      uint64_t stack_pointer, uint64_t exchanged = 0, uint64_t original = 0);

  private:
    bool is_code(uint64_t value) const;
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
    std::atomic<uint8_t>* code_pages_ = nullptr;      // by window page: holds code
    std::atomic<uint64_t>* seen_ = nullptr;           // identifiers written; open addressing
    std::atomic<uint16_t>* caller_stacks_ = nullptr;  // distinct stacks by return address's hash
};

}  // namespace numascape
