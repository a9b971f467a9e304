// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "symbols.h"

namespace numascape::symbols {

// Unwinds copies of stacks with libdwfl, as if each were a thread of an attached process. If there
// is no call frame information for the first function, its return address is the first word of the
// stack: recorders copy stacks where a function begins.
class Unwinder {
  public:
    explicit Unwinder(Dwfl* session) : session_(session) {}

    // See Symbols::unwind.
    std::vector<std::uint64_t> unwind(const Registers& registers, std::uint64_t stack_address,
                                      std::span<const std::byte> stack, std::size_t limit);

  private:
    static pid_t next_thread(Dwfl*, void* self, void** thread);
    static bool get_thread(Dwfl*, pid_t, void* self, void** thread);
    static bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self);
    static bool set_registers(Dwfl_Thread* thread, void* self);
    static int add_frame(Dwfl_Frame* frame, void* self);
    static const Dwfl_Thread_Callbacks kCallbacks;

    bool is_described(Dwarf_Addr pc) const;
    bool step_to_caller();

    Dwfl* session_;
    bool attached_ = false;
    // The stack being unwound.
    Registers registers_{};
    std::uint64_t stack_address_ = 0;
    std::span<const std::byte> stack_;
    std::size_t limit_ = 0;
    std::vector<std::uint64_t> pcs_;
};

}  // namespace numascape::symbols
