// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "page_shares.h"
#include "replay.h"

namespace numascape {

// The code of OpenMP runtimes. It accesses only memory that it allocated itself, and no other code
// accesses this memory. Threads that wait at a barrier read it billions of times. So on a page that
// it shares with blocks of the program, samples tell whose the accesses are; bytes do not.
class RuntimeCode {
  public:
    explicit RuntimeCode(const std::unordered_map<uint64_t, CallStack>& call_stacks)
        : call_stacks_(call_stacks) {}

    void load_module(uint64_t start, uint64_t end, std::string_view path);
    void unload_module(uint64_t start);

    bool is_used() const { return !modules_.empty(); }
    bool contains(uint64_t pc) const;
    // Whether it allocated the memory with this call stack for itself.
    bool owns(uint64_t stack_id);

    // Executions of the instruction at `pc` accessed the page about this often in a phase.
    struct Accesses {
        double reads = 0;
        double writes = 0;
    };
    void add_sample(uint32_t page, uint32_t phase, uint64_t pc, Accesses accesses);
    void forget_samples(uint32_t page) { samples_.erase(page); }

    // The part of the page's reads and of its writes, 0 to 1, that is the runtime's, as samples of
    // the phase tell; none if there are no samples.
    std::optional<Accesses> part(uint32_t page, uint32_t phase) const;
    // Gives `part` of the whole weight to what the runtime owns, and the rest to the others.
    // Nothing changes if all shares are of one kind.
    void give(double part, std::vector<PageShares::Share>& shares, const Owners& owners);
    // Leaves the shares that code of this kind accesses.
    void keep(bool runtime, std::vector<PageShares::Share>& shares, const Owners& owners);

  private:
    struct Module {
        uint64_t start;
        uint64_t end;
    };
    struct Sums {
        Accesses runtime;
        Accesses all;
    };

    const std::unordered_map<uint64_t, CallStack>& call_stacks_;
    std::vector<Module> modules_;
    std::unordered_map<uint64_t, bool> owns_;                                   // by call stack
    std::unordered_map<uint32_t, std::unordered_map<uint32_t, Sums>> samples_;  // by page, phase
};

}  // namespace numascape
