// SPDX-License-Identifier: Apache-2.0
//
// The rules of all code from which functions were called, each read once.
#pragma once

#include <atomic>
#include <cstdint>

#include "call_frame_rule.h"
#include "frame_information.h"

namespace numascape {

class CallFrameRules {
  public:
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();
    void add_module(uint64_t start, uint64_t end);
    void remove_module(uint64_t start);
    // The rule for the code at `pc`. `key` stands for it: it is not 0, and differs between two
    // modules that were loaded at the same addresses one after the other.
    CallFrameRule at(uint64_t pc, uint64_t key);
    // The function that contains `pc`, as far as one frame description covers it; false if none
    // does.
    bool find_function(uint64_t pc, uint64_t& start, uint64_t& end) const;

  private:
    struct Entry {
        std::atomic<uint64_t> key;   // 0 = free
        std::atomic<uint64_t> rule;  // 0 = being read
    };
    struct Module {
        std::atomic<uint64_t> start;  // 0 = none
        std::atomic<uint64_t> end;
        std::atomic<uint64_t> table;
    };
    static constexpr uint32_t kEntries = 1 << 17;
    static constexpr uint32_t kModules = 4096;

    ModuleFrames module_of(uint64_t pc) const;
    CallFrameRule read(uint64_t pc) const;

    Entry* entries_ = nullptr;
    Module* modules_ = nullptr;
    std::atomic<uint32_t> modules_used_ = 0;  // later entries are free
};

}  // namespace numascape
