// SPDX-License-Identifier: Apache-2.0
//
// The code of the program's modules: where it is, and how callers of functions are found.
#pragma once

#include <atomic>
#include <cstdint>

#include "call_frame_rules.h"

namespace numascape {

class ProgramCode {
  public:
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();
    void add_code(uint64_t start, uint64_t end, bool present);
    // A module with its ELF header at `start`, whose code is added with add_code.
    void add_module(uint64_t start, uint64_t end) { rules_.add_module(start, end); }
    void remove_module(uint64_t start) { rules_.remove_module(start); }

    bool contains(uint64_t address) const {
        const bool within = address - spans_[0].start < spans_[0].bytes ||
                            address - spans_[1].start < spans_[1].bytes;
        return within && (flags_of(address) & 1) != 0;
    }
    // Another module may be loaded at the addresses of an unloaded one, with other code.
    uint64_t told_apart(uint64_t code) const { return code ^ uint64_t{flags_of(code)} >> 1 << 56; }
    // How often code was added or removed.
    uint32_t changes() const { return changes_.load(std::memory_order_acquire); }

    // The rule for the code at `pc`.
    CallFrameRule rule_at(uint64_t pc) { return rules_.at(pc, told_apart(pc) | kItself); }
    // The rule for the code that made the call with this return address.
    CallFrameRule rule_of_call(uint64_t return_address) {
        // -1: the call instruction, not the next one
        return rules_.at(return_address - 1, told_apart(return_address));
    }
    // The code [start, end) that the frame description of `pc` covers; false if there is none.
    bool find_function(uint64_t pc, uint64_t& start, uint64_t& end) const {
        return rules_.find_function(pc, start, end);
    }

  private:
    // Set in the key of a rule for the address itself. The same address may also be a return
    // address: that of a call that is the last instruction of the previous function.
    static constexpr uint64_t kItself = uint64_t{1} << 63;

    uint8_t flags_of(uint64_t address) const;

    // All code lies in two spans: that of the executable and that of the libraries. Most words on a
    // stack lie in neither, so this check comes first.
    struct Span {
        uint64_t start = ~uint64_t{0};
        uint64_t bytes = 0;
    };
    static constexpr uint64_t kLibraries = uint64_t{1} << 46;  // they lie from this address upwards

    CallFrameRules rules_;
    Span spans_[2];
    std::atomic<uint8_t>* pages_ = nullptr;  // by window page: 2 x unloads, + 1 if it has code
    std::atomic<uint32_t> changes_ = 0;
};

}  // namespace numascape
