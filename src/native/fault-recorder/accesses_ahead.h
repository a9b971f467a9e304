// SPDX-License-Identifier: Apache-2.0
//
// Finds the accesses that a thread makes next, from the registers of a sample and the program's
// code.
//
// A sample of the clock says where a thread is, not what it accesses. But the addresses of the next
// instructions follow from the registers, until an instruction needs a value from memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "dr_api.h"
#include "memory_of_processes.h"
#include "sampled_registers.h"

namespace numascape {

struct AccessAhead {
    uint64_t pc;
    std::optional<uint64_t> address;  // nothing if it cannot be known
    bool writes;
    bool is_assumed;  // after a branch that the thread may not take
};

class AccessesAhead {
  public:
    explicit AccessesAhead(MemoryOfProcesses& memory) : memory_(memory) {}

    // The accesses until the code returns to the instruction of the sample, or until the next
    // instruction is unknown. In the first case, the code is a loop, and these are the accesses of
    // one iteration. Valid until the next call.
    //
    // With `with_memory`, the values that are loaded are those that are in memory now.
    const std::vector<AccessAhead>& of(pid_t process, const SampledRegisters& sampled,
                                       bool with_memory = false);

  private:
    // There is a limit, because the loop may contain another loop.
    static constexpr int kMaxInstructions = 256;
    static constexpr size_t kMaxDecoded = 1 << 16;
    struct Decoded {
        std::array<std::byte, MemoryOfProcesses::kMaxBytes> bytes{};
        size_t length = 0;  // 0 if it is no instruction
        instr_noalloc_t room;
        instr_t* instruction = nullptr;
    };
    Decoded* decode(pid_t process, uint64_t pc);
    void add_accesses(Decoded& decoded, uint64_t pc, const class KnownRegisters& registers,
                      bool is_assumed);

    MemoryOfProcesses& memory_;
    std::unordered_map<uint64_t, Decoded> decoded_;
    std::vector<AccessAhead> found_;
};

}  // namespace numascape
