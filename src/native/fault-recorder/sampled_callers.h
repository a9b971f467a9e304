// SPDX-License-Identifier: Apache-2.0
//
// Finds the callers of sampled code, from the registers and the stack of a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "call_frame_rule.h"
#include "code_files.h"
#include "fault_log.h"
#include "memory_of_processes.h"
#include "sampled_registers.h"

namespace numascape {

// The part of a stack that the kernel copied into a sample: from the stack pointer upwards.
struct StackCopy {
    uint64_t start = 0;
    std::span<const char> bytes;
};

// The rules are the call frame information of the program's files: code needs no frame pointers.
// Where there is none, as in code that a program made at run time, the frame pointer is tried. If
// it leads to no return address, this is searched near the stack pointer, and near other registers
// that point up the stack: some assembly keeps the stack pointer of its caller there.
//
// What lies above the copy of the stack is read from the process's memory now: some milliseconds
// later. It belongs to outer functions, which usually are still active.
class SampledCallers {
  public:
    explicit SampledCallers(MemoryOfProcesses& memory) : memory_(memory) {}

    // The call of the function that is executed, as in FaultEntry::callers. Appends calls that are
    // new. `in_kernel`: the kernel is executed for the code of the registers, which is a caller,
    // too.
    uint32_t of(const FaultEntry& entry, const SampledRegisters& registers, const StackCopy& stack,
                bool in_kernel, std::vector<FaultEntry>& out);
    // The process executes another program.
    void forget(uint32_t process) { processes_.erase(process); }
    // Call it before the samples of each round: new mappings are looked for once in a round.
    void begin_round() { ++round_; }

  private:
    // A deeper recursion is cut: its outermost callers are unknown.
    static constexpr size_t kMaxFrames = 128;
    static constexpr uint32_t kMaxCalls = 1 << 20;
    static constexpr size_t kMaxRules = 1 << 16;
    static constexpr unsigned kMaxShift = 8;
    // How far up the stack a register may point, and how many words are searched from there on.
    static constexpr uint64_t kMaxDistance = 1 << 20;
    static constexpr uint64_t kSearched = 32;

    struct Code {
        uint64_t start, end;
        const CodeFile* file;  // null: none, or not readable
        uint64_t shift;        // address in this process - address in the other one
    };
    struct Process {
        std::vector<Code> code;  // executable mappings, in order of their addresses
        std::unordered_map<uint64_t, CallFrameRule> rules;  // by code address
        uint64_t next_look = 0;                             // round
        unsigned looks = 0;
    };
    struct Call {
        uint32_t process, callers;
        uint64_t pc;
        bool operator==(const Call&) const = default;
    };
    struct Hash {
        size_t operator()(const Call& call) const {
            return std::hash<uint64_t>()((call.pc * 31 + call.callers) * 31 + call.process);
        }
    };

    const Code* code_at(uint32_t number, Process& process, uint64_t pc);
    void look(uint32_t number, Process& process);
    CallFrameRule rule_at(uint32_t number, Process& process, uint64_t pc);
    bool is_return_address(uint32_t number, Process& process, uint64_t address);
    bool read_word(uint32_t number, const StackCopy& stack, uint64_t address, uint64_t& word);
    // Appends to callers_, innermost first. True if the last one is the outermost function.
    bool walk(uint32_t number, const SampledRegisters& registers, const StackCopy& stack);
    // A step from code without call frame information. `registers`: of the innermost code, else
    // null.
    Step guess_caller(uint32_t number, Process& process, const SampledRegisters* registers,
                      const StackCopy& stack, CallFrame& frame);
    uint32_t number_of(const FaultEntry& entry, const Call& call, std::vector<FaultEntry>& out);

    MemoryOfProcesses& memory_;
    CodeFiles files_;
    std::unordered_map<uint32_t, Process> processes_;
    std::unordered_map<Call, uint32_t, Hash> calls_;
    std::vector<uint64_t> callers_;
    uint32_t next_ = kFirstCall;
    uint64_t round_ = 1;
};

}  // namespace numascape
