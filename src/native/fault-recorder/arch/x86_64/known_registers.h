// SPDX-License-Identifier: Apache-2.0
//
// The values that are known of a thread's registers some instructions after a sample.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "dr_api.h"
#include "sampled_registers.h"

namespace numascape {

// Executes arithmetic on registers. The results of other instructions are unknown. Values from
// memory are unknown, too, unless `loads` reads them.
class KnownRegisters {
  public:
    // Reads a number of `bytes` bytes at an address.
    using Loads = std::function<std::optional<uint64_t>(uint64_t address, size_t bytes)>;

    explicit KnownRegisters(const SampledRegisters& sampled, Loads loads = nullptr);

    // The address of a memory operand. Nothing if one of its registers is unknown, if it has
    // several addresses (gathers), or if it is relative to fs or gs, because samples do not have
    // the bases of these.
    std::optional<uint64_t> address(opnd_t operand) const;
    // Whether this conditional branch is taken.
    std::optional<bool> takes(int opcode) const;
    // Changes the registers as the instruction does.
    void execute(instr_t* instruction);

  private:
    using Value = std::optional<uint64_t>;
    using Flag = std::optional<bool>;
    struct Flags {
        Flag carry, zero, sign, overflow;
    };

    struct Stored {
        uint64_t address;
        size_t bytes;
        Value value;
    };

    Value value(opnd_t operand) const;
    Value load(uint64_t address, size_t bytes) const;
    void store(opnd_t operand, Value value);
    void push(Value value);
    Value pop();
    Value read(reg_id_t name) const;
    void write(reg_id_t name, Value value);
    bool execute_on_stack(instr_t* instruction);
    Value result_of(instr_t* instruction);
    Value computed(instr_t* instruction);
    // The result of an instruction with two operands, and its flags.
    Value combine(instr_t* instruction, Value a, Value b, unsigned bits);
    void set_result_flags(Value result, unsigned bits);
    Value shift(instr_t* instruction);
    Value product(instr_t* instruction) const;
    Value conditional(instr_t* instruction) const;
    Flag holds(int condition) const;
    // Writes `result` to the destinations. Their addresses depend on the registers before the
    // instruction.
    void write_results(instr_t* instruction, Value result);

    std::array<Value, kGeneralRegisters> general_;
    Flags flags_;
    Loads loads_;
    std::vector<Stored> stored_;  // stores since the sample, the latest one last
};

}  // namespace numascape
